/* scan, json and record: what is a record, what is not, and that nothing upstream changes. */
#include "emit.h"
#include "json.h"
#include "record.h"
#include "scan.h"
#include "tap.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The reason why text is no record, or "". */
static const char *why_not(const char *text, size_t n)
{
	static struct err e;
	struct scan s;
	char *exact = malloc(n ? n : 1); /* no byte to spare: the sanitizer sees a read past the end */

	e.text[0] = '\0';
	memcpy(exact, text, n);
	scan_object(exact, n, &s, &e);
	free(exact);
	return e.text;
}

static void test_good(void)
{
	static const char *const good[] = {
		"{}",
		" { } ",
		"\t{\"a\" : [ ] }\r",
		"{\"a\":1,\"A\":2}",
		"{\"\":0}",
		"{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}",
		("{\"n\":[0,-0,0.5,-1.5e-7,1E+9,1e400,-1e400,9223372036854775808,0.30000000000000004,"
		 "123456789012345678901234567890]}"),
		"{\"s\":\"\\u0000\\ud83d\\udc00\\ud83d \\\\\\/\\b\\f\\n\\r\\t\\\"\"}",
		"{\"s\":\"\x7f\xc2\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf\"}",
		"{\"t\":true,\"f\":false,\"n\":null}",
		"{\"a\\u0062\":1,\"a\":2}",
	};

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		is_str(why_not(good[i], strlen(good[i])), "", "a record: %s", good[i]);
}

static void test_bad(void)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "not a JSON object at byte 1" },
		{ "  ", "not a JSON object at byte 3" },
		{ "[]", "not a JSON object at byte 1" },
		{ "1", "not a JSON object at byte 1" },
		{ "\"{}\"", "not a JSON object at byte 1" },
		{ "null", "not a JSON object at byte 1" },
		{ "\xef\xbb\xbf{}", "not a JSON object at byte 1" },
		{ "{", "text ends early at byte 2" },
		{ "}", "not a JSON object at byte 1" },
		{ "{}{}", "text after the end at byte 3" },
		{ "{},", "text after the end at byte 3" },
		{ "{} x", "text after the end at byte 4" },
		{ "{\"a\"}", "no ':' at byte 5" },
		{ "{\"a\":}", "not a JSON value at byte 6" },
		{ "{\"a\":1,}", "no key at byte 8" },
		{ "{a:1}", "no key at byte 2" },
		{ "{'a':1}", "no key at byte 2" },
		{ "{\"a\":1 \"b\":2}", "no ',' or '}' at byte 8" },
		{ "{\"a\":[1,]}", "not a JSON value at byte 9" },
		{ "{\"a\":[1 2]}", "no ',' or ']' at byte 9" },
		{ "{\"a\":[1}}", "no ',' or ']' at byte 8" },
		{ "{\"a\":01}", "no ',' or '}' at byte 7" },
		{ "{\"a\":+1}", "not a JSON value at byte 6" },
		{ "{\"a\":.5}", "not a JSON value at byte 6" },
		{ "{\"a\":1.}", "bad number at byte 6" },
		{ "{\"a\":-}", "bad number at byte 6" },
		{ "{\"a\":1e}", "bad number at byte 6" },
		{ "{\"a\":1e+}", "bad number at byte 6" },
		{ "{\"a\":NaN}", "not a JSON value at byte 6" },
		{ "{\"a\":Infinity}", "not a JSON value at byte 6" },
		{ "{\"a\":0x1}", "no ',' or '}' at byte 7" },
		{ "{\"a\":nul}", "not a JSON value at byte 6" },
		{ "{\"a\":truex}", "no ',' or '}' at byte 10" },
		{ "{\"a\":\"\\x\"}", "bad escape at byte 7" },
		{ "{\"a\":\"\\u12g4\"}", "bad escape at byte 7" },
		{ "{\"a\":\"\\", "bad escape at byte 7" },
		{ "{\"a\":\"\\u12", "bad escape at byte 7" },
		{ "{\"a\":\"b\tc\"}", "control byte in a string at byte 8" },
		{ "{\"a\":\"b\nc\"}", "control byte in a string at byte 8" },
		{ "{\"a\":\"abcdefghijkl", "text ends early at byte 19" },
		{ "{\"a\":\"\xff\"}", "invalid UTF-8 at byte 7" },
		{ "{\"a\":\"abcdefgh\xed\xa0\x80\"}", "invalid UTF-8 at byte 15" },
		{ "{\"a\":\"\xc0\x80\"}", "invalid UTF-8 at byte 7" },
		{ "{\"a\":\"\xe2\x82", "invalid UTF-8 at byte 7" },
		{ "\x80{}", "invalid UTF-8 at byte 1" },
		{ "{} \xff", "invalid UTF-8 at byte 4" },
		{ "{\"a\":1,\"a\":2}", "duplicate key 'a' at byte 9" },
		{ "{\"a\":1,\"\\u0061\":2}", "duplicate key 'a' at byte 9" },
		{ "{\"x\":[{\"b\":{\"c\":1,\"d\":1,\"c\":1}}]}", "duplicate key 'c' at byte 26" },
		{ "{\"\\ud800\":1,\"\\udfff\":2}", "duplicate key '\xef\xbf\xbd' at byte 14" },
		{ "{\"long key number one\":1,\"long key number one\":2}",
			"duplicate key 'long key number one' at byte 27" },
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		is_str(why_not(bad[i].text, strlen(bad[i].text)), bad[i].why, "no record: %s", bad[i].text);
	is_str(why_not("{\"a\":\"\0\"}", 9), "raw NUL at byte 7", "NUL in a string");
	is_str(why_not("{\"a\":1}\0", 8), "raw NUL at byte 8", "NUL after the end");
	is_str(why_not("{\0}", 3), "raw NUL at byte 2", "NUL between tokens");
}

/* Every byte value in each of three places: inside a string, between tokens, after the end. */
static void test_every_byte(void)
{
	char text[] = "{\"0123456789\":1 }";
	int in_string = 0, between = 0;

	for (int c = 0; c < 256; c++) {
		text[7] = (char)c;
		in_string += !*why_not(text, strlen("{\"0123456789\":1 }"));
		text[7] = '5';
		text[15] = (char)c;
		between += !*why_not(text, strlen("{\"0123456789\":1 }"));
		text[15] = ' ';
	}
	is_int(in_string, 128 - 32 - 2, "bytes that may stand in a string: ASCII but controls, quote, backslash");
	is_int(between, 4 + 10, "bytes that may stand after a number: white space, digits");
}

/* {"k0":{...}} n levels deep, or [[...]] inside one object */
static void nest(struct buf *b, int n, const char *open, const char *close)
{
	buf_reset(b);
	buf_addstr(b, "{\"k\":");
	for (int i = 1; i < n; i++)
		buf_addstr(b, open);
	buf_addstr(b, "0");
	for (int i = 1; i < n; i++)
		buf_addstr(b, close);
	buf_addstr(b, "}");
}

static void test_depth(void)
{
	struct buf b = BUF_INIT;

	nest(&b, SCAN_DEPTH, "[", "]");
	is_str(why_not(b.data, b.len), "", "arrays to the limit");
	nest(&b, SCAN_DEPTH, "{\"k\":", "}");
	is_str(why_not(b.data, b.len), "", "objects to the limit");
	nest(&b, SCAN_DEPTH + 1, "[", "]");
	is_str(why_not(b.data, b.len), "nested deeper than 200 levels at byte 205", "one array too many");
	nest(&b, 1000000, "{\"k\":", "}");
	is_str(why_not(b.data, b.len), "nested deeper than 200 levels at byte 1001", "a million objects");
	buf_release(&b);
}

/* Objects of n keys: accepted, and refused once the last key repeats the one at `twin`. */
static void many_keys(int n, int twin, const char *format)
{
	struct buf b = BUF_INIT;

	buf_addstr(&b, "{\"x\":{");
	for (int i = 0; i < n; i++) {
		buf_addf(&b, format, i);
		buf_addstr(&b, ":1,");
	}
	buf_addf(&b, format, n);
	buf_addstr(&b, ":1}}");
	is_str(why_not(b.data, b.len), "", "%d different keys", n + 1);
	b.len -= 4;
	buf_addstr(&b, ":1,");
	buf_addf(&b, format, twin);
	buf_addstr(&b, ":1}}");
	ok(!strncmp(why_not(b.data, b.len), "duplicate key '", 15), "%d keys, one twice", n + 2);
	buf_release(&b);
}

static void test_keys(void)
{
	for (int n = 20; n < 30; n++)
		many_keys(n, n / 2, "\"k%d\"");
	many_keys(62, 0, "\"k%d\"");
	many_keys(63, 63, "\"\\u006b%d\"");
	many_keys(200000, 77, "\"k%d\"");
	many_keys(50000, 49999, "\"\\u006b%d\"");
	many_keys(50000, 0, "\"same head %06d same tail\"");
}

static void test_members(void)
{
	struct buf b = BUF_INIT;
	struct scan s;
	struct err e;

	buf_addch(&b, '{');
	for (int i = 0; i < SCAN_MEMBERS; i++)
		buf_addf(&b, "%s\"k%d\": [%d] ", i ? "," : "", i, i);
	buf_addstr(&b, "} ");
	is_int(scan_object(b.data, b.len, &s, &e), 0, "as many members as fit");
	is_int(s.n, SCAN_MEMBERS, "all collected");
	ok(s.member[63].key.n == 3 && !memcmp(s.member[63].key.p, "k63", 3), "key without quotes");
	ok(s.member[63].value.n == 4 && !memcmp(s.member[63].value.p, "[63]", 4), "value without the spaces around it");
	is_int((long long)s.end, (long long)b.len - 2, "where the object ends");
	b.len -= 2;
	buf_addstr(&b, ",\"one\":1}");
	is_int(scan_object(b.data, b.len, &s, &e), -1, "one member too many");
	buf_release(&b);
	is_int(scan_value("[1, {\"a\":null}] ", 16, &e), 0, "any value");
	is_int(scan_value("\"a\"", 3, &e), 0, "a string is a value");
	is_int(scan_value("[1", 2, &e), -1, "half a value is not");
	is_int(scan_value("", 0, &e), -1, "nothing is not");
}

static void test_json(void)
{
	static const char text[] =
		"{\"s\":\"a\\u0000b\\ud83d\\ude00\\ud800\",\"n\":0.30000000000000004,\"big\":1e400,\"i\":-7,\"h\":1.5,"
		"\"t\":true,"
		"\"z\":null,\"a\":[1,[2],{}],\"o\":{\"p\":{\"q\":\"deep\"}},\"S\":1,\"p53\":9007199254740992,"
		"\"long\":[1111111111111111111111111111111111111111111111111111111111111111111111111111111111,-"
		"0.00000000000000000000000000000000000000000000000000000000000000000000000000000025e75],\"e\":"
		"\"x\\\\u0000\"}";
	static const char *const keys[] = { "s", "n", "big", "i", "h", "t", "z", "a", "o", "S", "p53", "long", "e",
		NULL };
	struct buf b = BUF_INIT;
	struct err e = { "" };
	struct json *j = json_parse(text, strlen(text), &e);

	is_str(json_get_str(j, "s"),
		"a\xef\xbf\xbd"
		"b\xf0\x9f\x98\x80\xef\xbf\xbd",
		"NUL and a lone surrogate read as U+FFFD");
	is_str(json_get_str(j, "e"), "x\\u0000", "an escaped backslash is no escape");
	is_num(json_get_num(j, "n", NAN), 0.30000000000000004, "all digits of a double");
	ok(isnan(json_get_num(j, "big", NAN)), "no double is 1e400");
	is_int(json_get_int(j, "i", 5), -7, "integer");
	is_int(json_get_int(j, "h", 5), 5, "a half is no integer");
	is_int(json_get_int(j, "p53", 5), 5, "2^53 is no safe integer");
	is_int(json_get_int(j, "S", 5), 1, "keys are case-sensitive");
	ok(json_bool(json_get(j, "t"), false) && json_bool(NULL, true), "bool");
	ok(json_type(json_get(j, "z")) == JSON_NULL && json_type(json_get(j, "none")) == JSON_NONE,
		"null is not absent");
	is_str(json_str(json_path(j, "o.p.q")), "deep", "path");
	ok(!json_path(j, "o.x.q") && !json_path(j, "s.p") && !json_path(NULL, "a"), "a path into nothing");
	is_int(json_len(json_get(j, "a")), 3, "length");
	is_num(json_num(json_first(json_get(j, "long")), NAN),
		1111111111111111111111111111111111111111111111111111111111111111111111111111111111.0,
		"a number of 82 digits");
	is_num(json_num(json_next(json_first(json_get(j, "long"))), NAN), -0.00025, "one of 87 bytes with an exponent");
	is_int(json_only_keys(j, keys, &e), 0, "all keys known");
	is_int(json_only_keys(j, keys + 1, &e), -1, "one unknown");
	is_str(e.text, "unknown key 's'", "named");
	json_print(json_get(j, "a"), &b);
	json_print(json_get(j, "n"), &b);
	is_str(b.data, "[1,[2],{}],0.30000000000000004", "printed");
	ok(!json_str(NULL) && !json_first(NULL) && !json_next(NULL) && !json_key(NULL) && !json_len(NULL),
		"NULL is read as absent");
	buf_release(&b);
	json_free(j);
	ok(!json_parse("{\"a\":1,\"a\":2}", 13, &e) && !json_parse("1 2", 3, &e), "strict where cJSON is not");
	ok(!json_parse_file("/nonexistent.json", &e) && strstr(e.text, "/nonexistent.json"), "the file is named");
}

static void put(const char *line, const char *key, const char *json, const char *wanted)
{
	struct buf value = BUF_INIT, out = BUF_INIT;
	struct record r;
	struct err e;

	buf_addstr(&value, json);
	record_open(&r, line, strlen(line), &e);
	record_put(&r, key, &value, &out);
	is_str(out.data, wanted, "put %s", line);
	buf_release(&value);
	buf_release(&out);
}

static void test_record(void)
{
	static const char line[] = "{\"id\":\"a\\u0062\\ud800c\",\"n\": 1e400 "
				   ",\"\\u0062uild\":{\"status\":\"ok\"},\"long\":\"0123456789\"}";
	struct record r;
	struct err e;
	struct json *j;
	char text[10];

	put("{}", "x", "1", "{\"x\":1}");
	put(" { } \r", "x", "1", " { \"x\":1} \r");
	put("{\"a\" : 1e400 }", "x", "[]", "{\"a\" : 1e400 ,\"x\":[]}");
	put("{\"x\" :  {\"old\":[1,2]}  ,\"b\":2}", "x", "5", "{\"x\" :  5  ,\"b\":2}");
	put("{\"a\":1,\"\\u0078\":2}", "x", "5", "{\"a\":1,\"\\u0078\":5}");
	is_int(record_open(&r, line, strlen(line), &e), 0, "opened");
	ok(record_has(&r, "build") && !record_has(&r, "Build") && !record_has(&r, "bui"),
		"a key written with an escape is found");
	ok(record_raw(&r, "n").n == 5 && !record_raw(&r, "none").p, "raw bytes of a member");
	ok(record_str(&r, "id", text, sizeof text), "a string");
	is_str(text,
		"ab\xef\xbf\xbd"
		"c",
		"decoded");
	ok(!record_str(&r, "long", text, sizeof text) && !record_str(&r, "n", text, sizeof text) &&
			!record_str(&r, "none", text, sizeof text),
		"no string that is too long, no number, none");
	j = record_get(&r, "build", &e);
	is_str(json_get_str(j, "status"), "ok", "a member parsed");
	json_free(j);
	ok(!record_get(&r, "none", &e) && !*e.text, "absent is no error");
	is_int(record_open(&r, "[]", 2, &e), -1, "not opened");
}

int main(void)
{
	test_good();
	test_bad();
	test_every_byte();
	test_depth();
	test_keys();
	test_members();
	test_json();
	test_record();
	return done_testing();
}
