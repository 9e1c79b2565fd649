/* Counting instructions. */
#include "sass.h"
#include "child.h"
#include "emit.h"
#include "file.h"
#include "json.h"
#include "nvtool.h"
#include "sandbox.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *const sass_name[SASS_KINDS] = {
	[SASS_TENSOR] = "tensor", [SASS_TENSOR_MEMORY] = "tensor_memory", [SASS_ASYNC_COPY] = "async_copy",
	[SASS_BULK_COPY] = "bulk_copy",
	[SASS_LOAD_256] = "global_load_256", [SASS_LOAD_128] = "global_load_128", [SASS_LOAD_64] = "global_load_64",
	[SASS_LOAD_32] = "global_load_32", [SASS_LOAD_16] = "global_load_16", [SASS_LOAD_8] = "global_load_8",
	[SASS_STORE_256] = "global_store_256", [SASS_STORE_128] = "global_store_128",
	[SASS_STORE_64] = "global_store_64", [SASS_STORE_32] = "global_store_32", [SASS_STORE_16] = "global_store_16",
	[SASS_STORE_8] = "global_store_8",
	[SASS_ATOMIC] = "atomic", [SASS_SHARED_LOAD] = "shared_load", [SASS_SHARED_STORE] = "shared_store",
	[SASS_MATRIX_LOAD] = "matrix_load", [SASS_MATRIX_STORE] = "matrix_store", [SASS_LOCAL_LOAD] = "local_load",
	[SASS_LOCAL_STORE] = "local_store", [SASS_BARRIER] = "barrier", [SASS_MBARRIER] = "mbarrier",
	[SASS_SHUFFLE] = "shuffle", [SASS_SPECIAL] = "special", [SASS_FP64] = "fp64", [SASS_FP32] = "fp32",
	[SASS_FP16] = "fp16", [SASS_INTEGER] = "integer", [SASS_CONVERSION] = "conversion", [SASS_BRANCH] = "branch",
	[SASS_CALL] = "call", [SASS_TOTAL] = "total",
};

/* ---- one instruction */

/* Base opcodes. A leading U (the uniform datapath's twin) is tried without it too. */
static const struct {
	const char *base;
	enum sass_kind kind;
} bases[] = {
	{ "LDTM", SASS_TENSOR_MEMORY }, { "STTM", SASS_TENSOR_MEMORY }, { "UTCCP", SASS_TENSOR_MEMORY },
	{ "LDGSTS", SASS_ASYNC_COPY },
	{ "UTMALDG", SASS_BULK_COPY }, { "UTMASTG", SASS_BULK_COPY }, { "UTMAREDG", SASS_BULK_COPY },
	{ "UBLKCP", SASS_BULK_COPY }, { "UBLKRED", SASS_BULK_COPY },
	{ "ATOM", SASS_ATOMIC }, { "ATOMG", SASS_ATOMIC }, { "RED", SASS_ATOMIC }, { "REDG", SASS_ATOMIC },
	{ "LDS", SASS_SHARED_LOAD }, { "LDSM", SASS_SHARED_LOAD }, { "LDSM", SASS_MATRIX_LOAD },
	{ "STS", SASS_SHARED_STORE }, { "STAS", SASS_SHARED_STORE }, { "STSM", SASS_SHARED_STORE },
	{ "STSM", SASS_MATRIX_STORE },
	{ "LDL", SASS_LOCAL_LOAD }, { "STL", SASS_LOCAL_STORE },
	{ "BAR", SASS_BARRIER }, { "SYNCS", SASS_MBARRIER },
	{ "SHFL", SASS_SHUFFLE }, { "REDUX", SASS_SHUFFLE }, { "CREDUX", SASS_SHUFFLE },
	{ "MUFU", SASS_SPECIAL },
	{ "DADD", SASS_FP64 }, { "DMUL", SASS_FP64 }, { "DFMA", SASS_FP64 }, { "DMMA", SASS_FP64 },
	{ "DSETP", SASS_FP64 }, { "DMNMX", SASS_FP64 },
	{ "FADD", SASS_FP32 }, { "FMUL", SASS_FP32 }, { "FFMA", SASS_FP32 }, { "FADD2", SASS_FP32 },
	{ "FMUL2", SASS_FP32 }, { "FFMA2", SASS_FP32 }, { "FMNMX", SASS_FP32 }, { "FMNMX3", SASS_FP32 },
	{ "FSETP", SASS_FP32 }, { "FSEL", SASS_FP32 },
	{ "HADD2", SASS_FP16 }, { "HMUL2", SASS_FP16 }, { "HFMA2", SASS_FP16 }, { "HMNMX2", SASS_FP16 },
	{ "HSETP2", SASS_FP16 },
	{ "IMAD", SASS_INTEGER }, { "IADD", SASS_INTEGER }, { "IADD3", SASS_INTEGER }, { "VIADD", SASS_INTEGER },
	{ "LEA", SASS_INTEGER }, { "LOP3", SASS_INTEGER }, { "SHF", SASS_INTEGER }, { "PRMT", SASS_INTEGER },
	{ "ISETP", SASS_INTEGER }, { "IABS", SASS_INTEGER }, { "IMNMX", SASS_INTEGER }, { "VIMNMX", SASS_INTEGER },
	{ "SGXT", SASS_INTEGER }, { "BMSK", SASS_INTEGER }, { "IDP", SASS_INTEGER }, { "POPC", SASS_INTEGER },
	{ "F2F", SASS_CONVERSION }, { "F2FP", SASS_CONVERSION }, { "F2I", SASS_CONVERSION }, { "I2F", SASS_CONVERSION },
	{ "I2FP", SASS_CONVERSION }, { "I2I", SASS_CONVERSION }, { "I2IP", SASS_CONVERSION }, { "F2IP", SASS_CONVERSION },
	{ "BRA", SASS_BRANCH }, { "BRX", SASS_BRANCH }, { "JMP", SASS_BRANCH }, { "JMX", SASS_BRANCH },
	{ "BRXU", SASS_BRANCH }, { "JMXU", SASS_BRANCH },
	{ "CALL", SASS_CALL },
};

static bool is(const char *word, size_t n, const char *name)
{
	return strlen(name) == n && !memcmp(word, name, n);
}

static bool has(const char *op, size_t n, const char *modifier)
{
	size_t m = strlen(modifier);

	for (size_t i = 0; i + m < n; i++)
		if (op[i] == '.' && !memcmp(op + i + 1, modifier, m) && (i + 1 + m == n || op[i + 1 + m] == '.'))
			return true;
	return false;
}

/* Which of the six widths, widest first, an access of the given modifiers has. */
static int width(const char *op, size_t n)
{
	static const char *const modifiers[][3] = { { "256" }, { "128" }, { "64" }, { NULL }, { "U16", "S16", "16" },
						    { "U8", "S8", "8" } };

	for (int w = 0; w < 6; w++)
		for (int i = 0; i < 3 && modifiers[w][i]; i++)
			if (has(op, n, modifiers[w][i]))
				return w;
	return SASS_LOAD_32 - SASS_LOAD_256;
}

static void count_base(struct sass *s, const char *base, size_t n)
{
	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++)
		if (is(base, n, bases[i].base))
			s->count[bases[i].kind]++;
}

/* op is a whole opcode with its modifiers, such as LDG.E.128. */
static void count(struct sass *s, const char *op, size_t n)
{
	const char *dot = memchr(op, '.', n);
	size_t base = dot ? (size_t)(dot - op) : n;

	if (is(op, base, "NOP"))
		return;
	s->count[SASS_TOTAL]++;
	if (base >= 4 && !memcmp(op + base - 3, "MMA", 3))
		s->count[SASS_TENSOR]++;
	if (is(op, base, "LDG") || is(op, base, "LD"))
		s->count[SASS_LOAD_256 + width(op, n)]++;
	else if (is(op, base, "STG") || is(op, base, "ST"))
		s->count[SASS_STORE_256 + width(op, n)]++;
	else if (is(op, base, "HADD2") && has(op, n, "F32"))
		s->count[SASS_CONVERSION]++;	/* how half becomes float */
	else
		count_base(s, op, base);
	if (*op == 'U' && base > 3)
		count_base(s, op + 1, base - 1);
}

/* ---- the text */

/* An instruction's line is its offset in four or more hex digits inside a comment, perhaps a predicate (@!P1), the
 * opcode, operands. Comments of other lines begin with 0x, or there is none. NULL when the line is no instruction. */
static const char *opcode(const char *p, const char *end, size_t *n)
{
	const char *digits;

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (end - p < 8 || p[0] != '/' || p[1] != '*')
		return NULL;
	for (digits = p += 2; p < end && isxdigit((unsigned char)*p); p++)
		;
	if (p - digits < 4 || end - p < 3 || p[0] != '*' || p[1] != '/')
		return NULL;
	for (p += 2; p < end && strchr(" \t{}", *p) && *p; p++)
		;
	if (p < end && *p == '@') {
		while (p < end && *p != ' ')
			p++;
		while (p < end && *p == ' ')
			p++;
	}
	for (*n = 0; p + *n < end && (isupper((unsigned char)p[*n]) || isdigit((unsigned char)p[*n]) ||
				      strchr("._x", p[*n])) && p[*n]; ++*n)
		;
	return *n && isupper((unsigned char)*p) ? p : NULL;
}

int sass_parse(const char *text, size_t n, struct sass *s, struct err *e)
{
	const char *end = text + n, *nl, *op;
	size_t len;

	*s = (struct sass){ 0 };
	for (; text < end; text = nl + 1) {
		nl = memchr(text, '\n', (size_t)(end - text));
		if (!nl)
			nl = end;
		op = opcode(text, nl, &len);
		if (op)
			count(s, op, len);
	}
	return s->count[SASS_TOTAL] ? 0 : err_set(e, "the disassembly has no instructions");
}

/* ---- the disassembler */

enum { SECONDS = 20, OUTPUT = 64 << 20 };
#define CUBIN "/proc/self/fd/4"		/* where a child finds the descriptor it was passed */

/* In a sandbox where that works; on a machine for timing only there need be none. */
static int command(const char *tool, struct argv *argv, struct err *e)
{
	const char *slash = strrchr(tool, '/'), *name = slash ? slash + 1 : tool;
	struct sandbox box = { .cwd = "/tmp", .memory = 4ULL << 30, .processes = 16, .file_size = 64 << 20,
			       .cpu = SECONDS };
	char *folder = xstrndup(tool, slash ? (size_t)(slash - tool) : 0);
	int rc = 0;

	if (!sandbox_works(NULL)) {
		if (strncmp(folder, "/usr/", 5))
			sandbox_ro(&box, folder, folder);
		rc = sandbox_command(&box, argv, e);
	}
	argv_add(argv, tool);
	argv_add(argv, strstr(name, "cuobjdump") ? "-sass" : "-c");
	argv_add(argv, CUBIN);
	sandbox_release(&box);
	free(folder);
	return rc;
}

static int read_answer(const struct child_result *r, struct sass *s, struct err *e)
{
	if (r->end == CHILD_EXITED && !r->code && !r->truncated)
		return sass_parse(r->out.data ? r->out.data : "", r->out.len, s, e);
	if (r->truncated)
		return err_set(e, "the disassembly is too long");
	return err_set(e, "the disassembler failed (%s %d): %.*s", child_end_name[r->end], r->code,
		       r->err.len ? (int)strcspn(r->err.data, "\n") : 0, r->err.len ? r->err.data : "");
}

static int run(const char *tool, int cubin, struct sass *s, struct err *e)
{
	struct argv argv = { 0 };
	struct child c = { .timeout = SECONDS, .max_output = OUTPUT, .pass_fd = cubin };
	struct child_result r = { .end = CHILD_NOT_STARTED };
	int rc = command(tool, &argv, e);

	c.argv = argv.v;
	if (!rc)
		rc = child_run(&c, &r, e);
	if (!rc)
		rc = read_answer(&r, s, e);
	child_result_release(&r);
	argv_release(&argv);
	return rc;
}

int sass_disassemble(const void *cubin, size_t n, struct sass *s, struct err *e)
{
	char *tool = nvtool_find(NVTOOL_NVDISASM, e);
	int fd, rc = -1;

	if (!tool)
		return -1;
	fd = memfd_create("d2k-cubin", MFD_CLOEXEC);
	if (fd < 0 || file_write_all(fd, cubin, n))
		err_set(e, "cannot keep a cubin in memory:");
	else
		rc = run(tool, fd, s, e);
	if (fd >= 0)
		close(fd);
	free(tool);
	return rc;
}

/* ---- records */

void sass_emit(struct buf *out, const struct sass *s)
{
	emit_open(out, '{');
	for (int k = 0; k < SASS_KINDS; k++)
		emit_kint(out, sass_name[k], s->count[k]);
	emit_close(out, '}');
}

int sass_read(const struct json *j, struct sass *s)
{
	for (int k = 0; k < SASS_KINDS; k++) {
		s->count[k] = json_get_int(j, sass_name[k], 0);
		if (s->count[k] < 0)
			s->count[k] = 0;
	}
	return s->count[SASS_TOTAL] > 0 ? 0 : -1;
}
