/* Reading the section table of a cubin. */
#include "cubin.h"
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct cubin {
	const unsigned char *image;
	size_t n;
	Elf64_Ehdr head;
};

/* What libdevice keeps among its variables, by name and bytes; kernels only read it. */
static const struct { const char *name; size_t bytes; } tables[] = {
	{ "__cudart_i2opi_f", 24 }, { "__cudart_i2opi_d", 144 }, { "__cudart_sin_cos_coeffs", 128 },
};
#define MERC ".nv.merc"	/* the name of a section in its form for later GPUs begins with this */
enum {
	TABLES = sizeof(tables) / sizeof(*tables),
	PADDING = 15,		/* bytes between two, at most */
	MAX_SECTIONS = 8192,
	MAX_NAME = 64,		/* bytes of a name that is compared */
};

static bool inside(const struct cubin *c, uint64_t offset, uint64_t bytes)
{
	return offset <= c->n && bytes <= c->n - offset;
}

static int section(const struct cubin *c, unsigned i, Elf64_Shdr *s)
{
	uint64_t at = c->head.e_shoff + (uint64_t)i * sizeof(*s);

	if (i >= c->head.e_shnum || c->head.e_shoff > c->n || !inside(c, at, sizeof(*s)))
		return -1;
	memcpy(s, c->image + at, sizeof(*s));
	return 0;
}

/* The name at `offset` of a section of strings; "" for a long one, or where there is none that ends. */
static const char *name_at(const struct cubin *c, unsigned strings, uint64_t offset)
{
	Elf64_Shdr s;
	uint64_t room;

	if (section(c, strings, &s) || !inside(c, s.sh_offset, s.sh_size) || offset >= s.sh_size)
		return "";
	room = s.sh_size - offset < MAX_NAME ? s.sh_size - offset : MAX_NAME;
	if (!memchr(c->image + s.sh_offset + offset, 0, (size_t)room))
		return "";
	return (const char *)c->image + s.sh_offset + offset;
}

/* Sets a bit for each table that a symbol table says lies in a section; -1 when anything else does. */
static int find_tables(const struct cubin *c, const Elf64_Shdr *symbols, unsigned of, unsigned *seen)
{
	if (!inside(c, symbols->sh_offset, symbols->sh_size))
		return -1;
	for (uint64_t i = 0; i + sizeof(Elf64_Sym) <= symbols->sh_size; i += sizeof(Elf64_Sym)) {
		Elf64_Sym s;
		int t;

		memcpy(&s, c->image + symbols->sh_offset + i, sizeof(s));
		if (s.st_shndx != of || ELF64_ST_TYPE(s.st_info) == STT_SECTION)
			continue;
		for (t = 0; t < TABLES; t++)
			if (s.st_size == tables[t].bytes &&
			    !strcmp(name_at(c, symbols->sh_link, s.st_name), tables[t].name))
				break;
		if (t == TABLES || *seen & 1U << t)
			return -1;
		*seen |= 1U << t;
	}
	return 0;
}

/* Whether a section of variables with values holds libdevice's tables and nothing else. */
static bool only_tables(const struct cubin *c, unsigned of, const Elf64_Shdr *s)
{
	uint64_t bytes = 0, padding = 0;
	unsigned seen = 0;
	Elf64_Shdr symbols;
	int found = 0;

	for (unsigned i = 0; i < c->head.e_shnum; i++)
		if (section(c, i, &symbols) ||
		    (symbols.sh_type == SHT_SYMTAB && (found++ || find_tables(c, &symbols, of, &seen))))
			return false;
	for (int t = 0; t < TABLES; t++)
		if (seen & 1U << t) {
			padding += bytes ? PADDING : 0;
			bytes += tables[t].bytes;
		}
	return s->sh_size >= bytes && s->sh_size <= bytes + padding;
}

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* Whether one section holds nothing that a kernel could write and find again in its next launch. `known` is the first
 * section of variables, once it was seen to hold tables only: newer cubins name the same bytes a second time. */
static bool forgets(const struct cubin *c, unsigned i, const Elf64_Shdr *s, Elf64_Shdr *known)
{
	const char *name = name_at(c, c->head.e_shstrndx, s->sh_name);

	if (starts(name, MERC))
		name += strlen(MERC);
	if ((!(s->sh_flags & SHF_WRITE) && !starts(name, ".nv.global")) || !s->sh_size ||
	    starts(name, ".nv.shared.") || starts(name, ".nv.local."))
		return true;
	if (strcmp(name, ".nv.global.init"))
		return false;
	if (known->sh_size)
		return s->sh_offset == known->sh_offset && s->sh_size == known->sh_size;
	*known = *s;
	return only_tables(c, i, s);
}

int cubin_remembers(const unsigned char *image, size_t n, struct err *e)
{
	struct cubin c = { .image = image, .n = n };
	Elf64_Shdr s, known = { 0 };

	if (n < sizeof(c.head))
		return err_set(e, "the cubin is cut off");
	memcpy(&c.head, image, sizeof(c.head));
	if (memcmp(c.head.e_ident, ELFMAG, SELFMAG) || c.head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    c.head.e_ident[EI_DATA] != ELFDATA2LSB || c.head.e_shentsize != sizeof(s) || !c.head.e_shnum ||
	    c.head.e_shnum > MAX_SECTIONS)
		return err_set(e, "the cubin is no ELF file of 64 bits with sections");
	if (c.head.e_machine != EM_CUDA)
		return 0;	/* no driver runs it on a GPU */
	for (unsigned i = 0; i < c.head.e_shnum; i++) {
		if (section(&c, i, &s))
			return err_set(e, "the cubin's sections lie outside of it");
		if (forgets(&c, i, &s, &known))
			continue;
		err_set(e, "%llu bytes of static device memory (%s), which would outlive a launch",
			(unsigned long long)s.sh_size, name_at(&c, c.head.e_shstrndx, s.sh_name));
		return 1;
	}
	return 0;
}
