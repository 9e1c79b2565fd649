/* sass: counting instructions in real disassemblies (tests/fixtures/sass: one small kernel whole, from both
 * disassemblers, and one line for each opcode seen in the experts' kernels), hostile text, the disassembler itself. */
#include "file.h"
#include "json.h"
#include "nvtool.h"
#include "sass.h"
#include "tap.h"
#include <stdlib.h>
#include <string.h>

static struct sass s;
static struct err e;

static void parse(const char *name)
{
	char *path = file_in_root("tests/fixtures/sass/%s", name);
	struct buf b = BUF_INIT;

	ok(!file_read(path, &b, &e) && !sass_parse(b.data, b.len, &s, &e), "%s is read", name);
	buf_release(&b);
	free(path);
}

struct expected {
	enum sass_kind kind;
	int count;
};

/* What is not named is 0. */
static void check(const struct expected *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		is_int(s.count[x[i].kind], x[i].count, "%s", sass_name[x[i].kind]);
		s.count[x[i].kind] = 0;
	}
	for (int k = 0; k < SASS_KINDS; k++)
		if (s.count[k])
			is_int(s.count[k], 0, "%s", sass_name[k]);
}
#define CHECK(...) check((const struct expected[]){ __VA_ARGS__ }, \
			 sizeof((const struct expected[]){ __VA_ARGS__ }) / sizeof(struct expected))

static void test_real(void)
{
	static const char *const whole[] = { "whole-sm_90.txt", "whole-sm_90-cuobjdump.txt" };

	for (int i = 0; i < 2; i++) {
		parse(whole[i]);
		CHECK({ SASS_TOTAL, 155 }, { SASS_LOAD_128, 2 }, { SASS_STORE_32, 1 }, { SASS_SHARED_LOAD, 1 },
		      { SASS_SHARED_STORE, 1 }, { SASS_BARRIER, 1 }, { SASS_SHUFFLE, 8 }, { SASS_FP32, 41 },
		      { SASS_FP16, 1 }, { SASS_INTEGER, 68 }, { SASS_BRANCH, 2 });
	}
	parse("each-sm_90.txt");
	CHECK({ SASS_TOTAL, 187 }, { SASS_TENSOR, 8 }, { SASS_ASYNC_COPY, 2 }, { SASS_BULK_COPY, 4 },
	      { SASS_LOAD_128, 1 }, { SASS_LOAD_64, 1 }, { SASS_LOAD_32, 1 }, { SASS_LOAD_16, 1 },
	      { SASS_STORE_128, 1 }, { SASS_STORE_64, 1 }, { SASS_STORE_32, 1 }, { SASS_STORE_16, 1 },
	      { SASS_ATOMIC, 2 }, { SASS_SHARED_LOAD, 9 }, { SASS_SHARED_STORE, 9 }, { SASS_MATRIX_LOAD, 4 },
	      { SASS_MATRIX_STORE, 4 }, { SASS_LOCAL_LOAD, 1 }, { SASS_LOCAL_STORE, 1 }, { SASS_BARRIER, 1 },
	      { SASS_MBARRIER, 4 }, { SASS_SHUFFLE, 5 }, { SASS_SPECIAL, 4 }, { SASS_FP32, 12 }, { SASS_FP16, 1 },
	      { SASS_INTEGER, 68 }, { SASS_CONVERSION, 9 }, { SASS_BRANCH, 2 }, { SASS_CALL, 1 });
	parse("each-sm_100.txt");
	CHECK({ SASS_TOTAL, 86 }, { SASS_TENSOR, 2 }, { SASS_TENSOR_MEMORY, 2 }, { SASS_ASYNC_COPY, 2 },
	      { SASS_STORE_128, 1 }, { SASS_SHARED_LOAD, 2 }, { SASS_SHARED_STORE, 3 }, { SASS_MATRIX_LOAD, 1 },
	      { SASS_BARRIER, 1 }, { SASS_MBARRIER, 3 }, { SASS_SHUFFLE, 1 }, { SASS_INTEGER, 36 },
	      { SASS_CONVERSION, 1 }, { SASS_BRANCH, 2 }, { SASS_CALL, 1 });
}

static int parse_text(const char *text)
{
	return sass_parse(text, strlen(text), &s, &e);
}

static void test_lines(void)
{
	is_int(parse_text("/*0000*/ LDG.E.U8 R0, [R2] ;\n/*0010*/ @!UP0 STG.E.S16 [R2], R0 ;\n/*0020*/ DMMA.884 R0, R1 ;"), 0,
	       "no newline at the end");
	CHECK({ SASS_TOTAL, 3 }, { SASS_LOAD_8, 1 }, { SASS_STORE_16, 1 }, { SASS_TENSOR, 1 }, { SASS_FP64, 1 });
	is_int(parse_text(" { /*0000*/ HMMA R0 ;\n   /*0008*/   { HMMA.16816.F32 R0, R1, R2 ;\n"), 0, "paired instructions");
	CHECK({ SASS_TOTAL, 1 }, { SASS_TENSOR, 1 });
	is_int(parse_text("/*0000*/ LDG.E.ENL2.256 R8, R4, [R2] ;\n/*0000*/ HADD2.F32 R0, -RZ, R1.H0_H0 ;\n"), 0, "more");
	CHECK({ SASS_TOTAL, 2 }, { SASS_LOAD_256, 1 }, { SASS_CONVERSION, 1 });
}

static void test_hostile(void)
{
	static const char *const nothing[] = {
		"", "\n", "/*", "/*0000*/", "/*0000*/ ", "/*0000*/ ;", "/*00*/ LDG R0", "/*0000 LDG R0", "/* 0x0 */ LDG",
		"/*0000*/ @", "/*0000*/ @P0", "/*0000*/ @P0 ", "/*0000*/ ldg", "/*0000*/ .128", "\xff\xfe/*0000*/ LDG",
	};
	const char with_nul[] = "/*0000*/ \0LDG R0\n\0/*0000*/ LDG R0\n/*0000*/ STG\0.E\n";
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++)
		is_int(parse_text(nothing[i]), -1, "no instruction in text %zu", i);
	is_str(e.text, "the disassembly has no instructions", "which is said");
	is_int(sass_parse(with_nul, sizeof(with_nul) - 1, &s, &e), 0, "NUL bytes");
	CHECK({ SASS_TOTAL, 1 }, { SASS_STORE_32, 1 });
	buf_addstr(&b, "/*0000*/ ");
	for (int i = 0; i < 100000; i++)
		buf_addstr(&b, "LDG.");
	is_int(sass_parse(b.data, b.len, &s, &e), 0, "an endless opcode");
	buf_release(&b);
}

static void test_json(void)
{
	struct sass back;
	struct buf b = BUF_INIT;
	struct json *j;

	parse("each-sm_90.txt");
	sass_emit(&b, &s);
	j = json_parse(b.data, b.len, &e);
	ok(j && !sass_read(j, &back) && !memcmp(&s, &back, sizeof(s)), "an object, and back");
	json_free(j);
	j = json_parse("{\"tensor\":-5,\"total\":3}", 23, &e);
	ok(!sass_read(j, &back) && back.count[SASS_TENSOR] == 0, "what cannot be is 0");
	is_int(sass_read(NULL, &back), -1, "nothing to read");
	json_free(j);
	buf_release(&b);
}

/* The disassembler says what it thinks of text. A real cubin is disassembled in tests/profile.t. */
static void test_tool(void)
{
	char *tool = nvtool_find(NVTOOL_NVDISASM, &e);

	if (tool) {
		is_int(sass_disassemble("no cubin", 8, &s, &e), -1, "what is no cubin");
		ok(strstr(e.text, "the disassembler failed") != NULL, "is refused: %s", e.text);
	}
	free(tool);
	setenv("D2K_NVDISASM", "/nonexistent", 1);
	is_int(sass_disassemble("no cubin", 8, &s, &e), -1, "a disassembler that is not there");
	is_str(e.text, "$D2K_NVDISASM is '/nonexistent', where there is no nvdisasm", "is missed");
	setenv("D2K_NVDISASM", "/bin/true", 1);
	is_int(sass_disassemble("no cubin", 8, &s, &e), -1, "one that says nothing");
	is_str(e.text, "the disassembly has no instructions", "has said nothing");
}

int main(void)
{
	test_real();
	test_lines();
	test_hostile();
	test_json();
	test_tool();
	return done_testing();
}
