/* cubin_remembers(): files put together by hand, and files that lie about themselves. */
#include "../tap/tap.h"
#include "cubin.h"
#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4096, NAMES = 2048 };

/* A file of header, data, names, and section headers at the end; section 1 holds the names. */
struct file {
	unsigned char image[ROOM];
	size_t n, data, names;
	Elf64_Shdr section[16];
	int sections;
};

static uint32_t put_name(struct file *f, const char *name)
{
	size_t at = f->names;

	memcpy(f->image + NAMES + at, name, strlen(name) + 1);
	f->names += strlen(name) + 1;
	return (uint32_t)at;
}

static void start(struct file *f)
{
	*f = (struct file){ .data = sizeof(Elf64_Ehdr), .names = 1, .sections = 2 };
	f->section[1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = NAMES };
	f->section[1].sh_name = put_name(f, ".strtab");
}

static int add(struct file *f, const char *name, uint32_t type, uint64_t flags, size_t bytes)
{
	f->section[f->sections] = (Elf64_Shdr){ .sh_name = put_name(f, name), .sh_type = type, .sh_flags = flags,
						.sh_offset = f->data, .sh_size = bytes, .sh_link = 1 };
	if (type != SHT_NOBITS)
		f->data += bytes;
	return f->sections++;
}

static int variables(struct file *f, size_t bytes)
{
	return add(f, ".nv.global.init", SHT_PROGBITS, SHF_WRITE | SHF_ALLOC, bytes);
}

/* A symbol table with one object of a section. */
static void object(struct file *f, const char *name, int section, size_t bytes)
{
	Elf64_Sym s = { .st_name = put_name(f, name), .st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT),
			.st_shndx = (uint16_t)section, .st_size = bytes };
	size_t at = f->data;

	add(f, ".symtab", SHT_SYMTAB, 0, sizeof(s));
	memcpy(f->image + at, &s, sizeof(s));
}

static int finish(struct file *f, struct err *e)
{
	Elf64_Ehdr head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 }, .e_machine = EM_CUDA,
			    .e_shentsize = sizeof(Elf64_Shdr), .e_shstrndx = 1, .e_shoff = 3072 };

	head.e_shnum = (uint16_t)f->sections;
	f->section[1].sh_size = f->names;
	memcpy(f->image, &head, sizeof(head));
	memcpy(f->image + 3072, f->section, sizeof(Elf64_Shdr) * (size_t)f->sections);
	f->n = 3072 + sizeof(Elf64_Shdr) * (size_t)f->sections;
	return cubin_remembers(f->image, f->n, e);
}

static void test_kinds(void)
{
	struct file f;
	struct err e = { "" };
	int at;

	start(&f);
	add(&f, ".text.k", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 128);
	add(&f, ".nv.shared.k", SHT_NOBITS, SHF_WRITE | SHF_ALLOC, 1024);
	add(&f, ".nv.merc.nv.shared.reserved.0", SHT_NOBITS, SHF_WRITE | SHF_ALLOC, 64);
	add(&f, ".nv.constant0.k", SHT_PROGBITS, SHF_ALLOC, 64);
	is_int(finish(&f, &e), 0, "code, shared memory and constants");

	start(&f);
	add(&f, ".nv.global", SHT_NOBITS, SHF_WRITE | SHF_ALLOC, 4);
	is_int(finish(&f, &e), 1, "variables without values");
	is_str(e.text, "4 bytes of static device memory (.nv.global), which would outlive a launch", "are named");
	start(&f);
	add(&f, ".nv.global", SHT_NOBITS, SHF_ALLOC, 4);
	is_int(finish(&f, &e), 1, "whatever their flags say");
	start(&f);
	add(&f, ".data", SHT_PROGBITS, SHF_WRITE | SHF_ALLOC, 4);
	is_int(finish(&f, &e), 1, "variables under another name");

	start(&f);
	variables(&f, 24);
	is_int(finish(&f, &e), 1, "variables with values");
	start(&f);
	at = variables(&f, 24);
	object(&f, "__cudart_i2opi_f", at, 24);
	is_int(finish(&f, &e), 0, "a table of libdevice");
	add(&f, ".nv.merc.nv.global.init", SHT_PROGBITS, SHF_WRITE | SHF_ALLOC, 24);
	f.section[f.sections - 1].sh_offset = f.section[at].sh_offset;
	is_int(finish(&f, &e), 0, "the same bytes in another form");
	f.section[f.sections - 1].sh_offset += 8;
	is_int(finish(&f, &e), 1, "other bytes in that form");
}

static void test_tables(void)
{
	struct file f;
	struct err e;
	int at;

	start(&f);
	at = variables(&f, 1024);
	object(&f, "__cudart_i2opi_f", at, 24);
	is_int(finish(&f, &e), 1, "a table with room behind it");
	start(&f);
	at = variables(&f, 1024);
	object(&f, "__cudart_i2opi_f", at, 1024);
	is_int(finish(&f, &e), 1, "a table larger than libdevice's");
	start(&f);
	at = variables(&f, 24);
	object(&f, "calls", at, 24);
	is_int(finish(&f, &e), 1, "a variable of the size of a table");
	start(&f);
	at = variables(&f, 240);
	for (int i = 0; i < 10; i++)
		object(&f, "__cudart_i2opi_f", at, 24);
	is_int(finish(&f, &e), 1, "one table in ten symbol tables");
	start(&f);
	at = variables(&f, 48);
	object(&f, "__cudart_i2opi_f", at, 24);
	memcpy(f.image + f.data, f.image + f.section[f.sections - 1].sh_offset, sizeof(Elf64_Sym));
	f.section[f.sections - 1].sh_size *= 2;
	is_int(finish(&f, &e), 1, "one table twice");
	start(&f);
	at = variables(&f, 24);
	object(&f, "__cudart_i2opi_f", at, 24);
	variables(&f, 24);
	is_int(finish(&f, &e), 1, "two sections of variables");
}

static void test_lies(void)
{
	struct file f;
	struct err e;
	unsigned char *copy;
	int at, bad = 0;

	start(&f);
	at = variables(&f, 24);
	object(&f, "__cudart_i2opi_f", at, 24);
	finish(&f, &e);
	for (size_t n = 0; n < f.n; n++) {	/* copies, so that a read outside is seen under a sanitizer */
		copy = malloc(n ? n : 1);
		memcpy(copy, f.image, n);
		bad += cubin_remembers(copy, n, &e) == 0;
		free(copy);
	}
	is_int(bad, 0, "no file that is cut off is taken");
	copy = malloc(f.n);
	for (size_t i = 0; i < f.n; i++)
		for (int bit = 0; bit < 256; bit += 51) {
			memcpy(copy, f.image, f.n);
			copy[i] = (unsigned char)bit;
			cubin_remembers(copy, f.n, &e);
		}
	free(copy);
	ok(true, "no byte of it leads outside");
	f.image[0] = 'x';
	is_int(cubin_remembers(f.image, f.n, &e), -1, "another kind of file");
}

int main(void)
{
	test_kinds();
	test_tables();
	test_lies();
	return done_testing();
}
