/* buf, emit, utf8, die's error texts, hash, stats, expr and dtype. */
#include "buf.h"
#include "die.h"
#include "dtype.h"
#include "emit.h"
#include "expr.h"
#include "hash.h"
#include "stats.h"
#include "tap.h"
#include "utf8.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_buf(void)
{
	struct buf b = BUF_INIT, other = BUF_INIT;
	char *s = buf_detach(&b);

	is_str(s, "", "an empty buf detaches as an empty string");
	free(s);
	for (int i = 0; i < 1000; i++)
		buf_addf(&b, "%d,", i);
	is_int((long long)b.len, 10 + 90 * 2 + 900 * 3 + 1000, "length after 1000 appends");
	is_int((long long)strlen(b.data), (long long)b.len, "always terminated");
	buf_reset(&b);
	is_str(b.data, "", "reset to empty");
	buf_addstr(&other, "x\xff");
	buf_addch(&other, '\0');
	buf_addbuf(&b, &other);
	is_int((long long)b.len, 3, "NUL bytes are data");
	buf_release(&b);
	buf_release(&other);
	ok(!b.data && !b.len && !b.cap, "released");
}

static void test_emit(void)
{
	struct buf b = BUF_INIT;

	emit_open(&b, '{');
	emit_kstr(&b, "a\"b", "q\"\\/\b\f\n\r\t\x01\x7f\xc3\xa9\xf0\x9f\x98\x80");
	emit_kstr(&b, "bad", "\xff\xc3(\xed\xa0\x80\xc0\x80|");
	emit_kstrn(&b, "nul", "a\0b", 3);
	emit_kstr(&b, "none", NULL);
	emit_key(&b, "list");
	emit_open(&b, '[');
	emit_open(&b, '[');
	emit_close(&b, ']');
	emit_open(&b, '{');
	emit_close(&b, '}');
	emit_raw(&b, "{\"x\": 1}\n", 9);
	emit_str(&b, "ends in ,");
	emit_str(&b, "ends in [");
	emit_null(&b);
	emit_close(&b, ']');
	emit_kbool(&b, "t", true);
	emit_kint(&b, "i", -9223372036854775807LL);
	emit_knull(&b, "n");
	emit_kraw(&b, "r", "[1]", 3);
	emit_close(&b, '}');
	is_str(b.data,
		"{\"a\\\"b\":\"q\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7f\xc3\xa9\xf0\x9f\x98\x80\","
		"\"bad\":\"\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\","
		"\"nul\":\"a\\u0000b\",\"none\":null,\"list\":[[],{},{\"x\": 1},\"ends in ,\",\"ends in [\",null],"
		"\"t\":true,\"i\":-9223372036854775807,\"n\":null,\"r\":[1]}",
		"JSON with every kind of value");
	buf_release(&b);
}

static void test_emit_numbers(void)
{
	static const struct {
		double x;
		const char *text;
	} cases[] = { { 0.30000000000000004, "0.30000000000000004" }, { 5, "5" }, { -0.0, "-0" },
		{ 0x1p53, "9007199254740992" }, { 5e-324, "4.9406564584124654e-324" }, { NAN, "null" },
		{ INFINITY, "null" }, { -INFINITY, "null" } };
	struct buf b = BUF_INIT;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		buf_reset(&b);
		emit_num(&b, cases[i].x);
		is_str(b.data, cases[i].text, "number %s", cases[i].text);
	}
	buf_reset(&b);
	emit_open(&b, '{');
	emit_kgiven(&b, "a", 0.035);
	emit_kgiven(&b, "b", 1e-6);
	emit_kgiven(&b, "c", 0.1 + 0.2);
	emit_kgiven(&b, "d", -20);
	emit_kgiven(&b, "e", INFINITY);
	is_str(b.data, "{\"a\":0.035,\"b\":1e-06,\"c\":0.30000000000000004,\"d\":-20,\"e\":null",
	       "given numbers as they were written");
	buf_release(&b);
}

static void test_utf8(void)
{
	static const struct {
		const char *text;
		size_t len;
	} cases[] = { { "a", 1 }, { "\xc3\xa9", 2 }, { "\xc0\x80", 0 }, { "\xc1\xbf", 0 }, { "\xe0\x9f\xbf", 0 },
		{ "\xe0\xa0\x80", 3 }, { "\xed\x9f\xbf", 3 }, { "\xed\xa0\x80", 0 }, { "\xf0\x8f\xbf\xbf", 0 },
		{ "\xf0\x90\x80\x80", 4 }, { "\xf4\x8f\xbf\xbf", 4 }, { "\xf4\x90\x80\x80", 0 },
		{ "\xf5\x80\x80\x80", 0 }, { "\x80", 0 }, { "\xe2\x82", 0 } };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		is_int((long long)utf8_sequence(cases[i].text, strlen(cases[i].text)), (long long)cases[i].len,
			"sequence %zu", i);
	is_int((long long)utf8_sequence("", 0), 0, "no sequence in nothing");
	is_int((long long)utf8_cut("ab\xe2\x82\xac", 5, 4), 2, "cut before a character of three bytes");
	is_int((long long)utf8_cut("ab\xe2\x82\xac", 5, 5), 5, "nothing to cut");
	is_int((long long)utf8_cut("\xe2\x82\xac"
				   "cd",
		       5, 3),
		3, "cut after it");
	is_int((long long)utf8_cut("\x80\x80\x80\x80\x80", 5, 4), 4, "bytes that are no text are cut where asked");
}

static void test_err(void)
{
	struct err e;
	char *s;

	errno = ENOENT;
	is_int(err_set(&e, "cannot open '%s':", "x"), -1, "err_set is an error's value");
	is_str(e.text, "cannot open 'x': No such file or directory", "a final colon brings errno's text");
	err_set(&e, "n:%d", 5);
	is_str(e.text, "n:5", "another colon does not");
	s = xcalloc(1, 2001);
	memset(s, 'x', 509);
	memcpy(s + 509, "\xe2\x82\xac", 4);
	err_set(&e, "%s", s);
	is_int((long long)strlen(e.text), 509, "a long text is cut on a character's boundary");
	free(s);
	is_int(err_set(NULL, "x"), -1, "nobody need listen");
}

static void test_hash(void)
{
	struct hash_parts a = { BUF_INIT }, b = { BUF_INIT };
	char x[HASH_HEX], y[HASH_HEX];
	struct err e;

	hash_hex("abc", 3, x);
	is_str(x, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "SHA-256 of abc");
	hash_hex(NULL, 0, x);
	is_str(x, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "SHA-256 of nothing");
	hash_partstr(&a, "p", "ab");
	hash_partstr(&a, "q", "c");
	hash_partstr(&b, "p", "a");
	hash_partstr(&b, "q", "bc");
	hash_done(&a, x);
	hash_done(&b, y);
	ok(strcmp(x, y), "where one part ends matters");
	is_int(hash_file("/nonexistent", x, &e), -1, "no hash of a missing file");
	is_str(e.text, "cannot open '/nonexistent': No such file or directory", "and why");
}

static void test_stats(void)
{
	static const double x[] = { 4, 1, 3, 2 }, halves[] = { 0.5, 2, 8, 2 }, bad[] = { 1, NAN, 2 },
			    negative[] = { 1, -1 };
	double many[2000];

	is_num(stats_median(x, 4), 2.5, "median of four");
	is_num(stats_median(x, 3), 3, "median of three");
	is_num(stats_median(x, 1), 4, "median of one");
	is_num(x[0], 4, "the data stay as they are");
	is_num(stats_quantile(x, 4, 0), 1, "least");
	is_num(stats_quantile(x, 4, 1), 4, "greatest");
	is_num(stats_quantile(x, 4, 0.25), 1.75, "quartile, type 7");
	is_num(stats_geomean(halves, 4), 2, "geometric mean");
	for (int i = 0; i < 2000; i++)
		many[i] = 0x1p-1000;
	ok(fabs(stats_geomean(many, 2000) / 0x1p-1000 - 1) < 1e-12, "no underflow over 2000 tiny numbers");
	ok(isnan(stats_median(x, 0)) && isnan(stats_geomean(x, 0)), "nothing from no data");
	ok(isnan(stats_median(bad, 3)) && isnan(stats_geomean(negative, 2)), "nothing from unfit data");
}

static void test_expr(void)
{
	static const struct var vars[] = { { "M", 10 }, { "F_1", 3 } };
	static const struct {
		const char *text;
		double value;
	} good[] = { { "1+2*3", 7 }, { "(1+2)*3", 9 }, { "10-4-3", 3 }, { "100/10/5", 2 }, { "-(M+1)/2", -5.5 },
		{ "2*-3", -6 }, { " cdiv( M , F_1 ) ", 4 }, { "M%4", 2 }, { "min(M,F_1)+max(1,2)", 5 },
		{ "floor(M/4)+ceil(M/4)", 5 }, { "pow(2,10)", 1024 }, { "1e3*.5", 500 }, { "4*M*F_1", 120 } };
	static const char *const wrong[] = { "", " ", "1+", "1 2", "M(", "foo", "F", "min(1)", "floor(1,2)", "min(1,2",
		"nope(1)", "1/0", "0/0", "pow(10,400)", "(1", "1)", "&", "1;", "--1", "M F_1" };
	char deep[2001] = { 0 };
	struct err e;
	double x;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		is_num(expr_eval(good[i].text, vars, 2, &x, &e) ? NAN : x, good[i].value, "%s", good[i].text);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ok(expr_eval(wrong[i], vars, 2, &x, &e) == -1 && *e.text, "'%s' has no value", wrong[i]);
	memset(deep, '(', 2000);
	ok(expr_eval(deep, vars, 2, &x, &e) == -1, "a flood of brackets has no value");
	expr_eval("2*foo", vars, 2, &x, &e);
	is_str(e.text, "unknown name 'foo' in expression '2*foo'", "the message names the name");
}

static void test_dtype(void)
{
	enum dtype t;

	for (int i = 0; i < DT_COUNT; i++)
		ok(!dtype_parse(dtype_name[i], &t) && (int)t == i && dtype_size[i] && dtype_ctype[i], "%s",
			dtype_name[i]);
	is_int(dtype_parse("torch.float32", &t), -1, "unknown type");
	ok(dtype_is_integer(DT_I64) && dtype_is_integer(DT_BOOL) && !dtype_is_integer(DT_F8E5M2), "integers");
}

int main(void)
{
	test_buf();
	test_emit();
	test_emit_numbers();
	test_utf8();
	test_err();
	test_hash();
	test_stats();
	test_expr();
	test_dtype();
	return done_testing();
}
