/* pytoken, pystrip, quote: what is a comment, what is a docstring, what is quoted. tests/judge-source.t compares
 * pystrip with Python's own parser on real files. */
#include "pystrip.h"
#include "pytoken.h"
#include "quote.h"
#include "tap.h"
#include <string.h>

static const char *strip(const char *text)
{
	static struct buf out;
	struct err e;

	buf_reset(&out);
	if (python_strip(text, strlen(text), &out, &e))
		buf_addf(&out, "ERROR %s", e.text);
	return out.data ? out.data : "";
}

static void test_comments(void)
{
	is_str(strip("a = 1 # x\n"), "a = 1\n", "a comment goes, with the blanks before it");
	is_str(strip("# x\n#y\na\n"), "\n\na\n", "lines that were comments stay as empty lines");
	is_str(strip("a = 7 // 2 # half\n"), "a = 7 // 2\n", "'//' is an operator");
	is_str(strip("a = '#' + \"# b\" # c\n"), "a = '#' + \"# b\"\n", "'#' in a string is a string");
	is_str(strip("a = '\\'#' # c"), "a = '\\'#' ", "a quote behind a backslash ends nothing");
	is_str(strip("a = r'\\'  # c\n'"), "ERROR line 1: a string that does not end", "nor in a raw string");
	is_str(strip("a = '''# x\n# y\n''' # z\n"), "a = '''# x\n# y\n'''\n", "nor does it in three quotes");
	is_str(strip("f(a, # x\n  b)  # y\n"), "f(a,\n  b)\n", "comments in brackets");
	is_str(strip("a = 1 \\\n  + 2 # x\n"), "a = 1 \\\n  + 2\n", "a joined line");
	is_str(strip("a # x\r\nb # y\rc\n"), "a\nb\nc\n", "every kind of line end");
	is_str(strip("\xEF\xBB\xBF# x\na\n"), "\xEF\xBB\xBF\na\n", "a byte order mark");
	is_str(strip(""), "", "nothing");
	is_str(strip("# x"), "", "one comment, no line end");
}

static void test_fstrings(void)
{
	is_str(strip("f'{a[\"b\"]:#x}' # c\n"), "f'{a[\"b\"]:#x}'\n", "'#' in a format is a format");
	is_str(strip("x = f'{a!r:>{w}}#' # c\n"), "x = f'{a!r:>{w}}#'\n", "fields within formats");
	is_str(strip("x = f'{{#}}' # c\n"), "x = f'{{#}}'\n", "doubled braces");
	is_str(strip("x = f\"{a['}']}\" # c\n"), "x = f\"{a['}']}\"\n", "a brace in a string in a field");
	is_str(strip("x = f'{f'{f'{1}'}'}#' # c\n"), "x = f'{f'{f'{1}'}'}#'\n", "the same quotes, three deep");
	is_str(strip("x = f'''{a # uses TMA\n}''' # c\n"), "x = f'''{a\n}'''\n", "a comment in a field");
	is_str(strip("x = f'{a != b}{(lambda: 1)()}{a:=5}' # c\n"), "x = f'{a != b}{(lambda: 1)()}{a:=5}'\n",
	       "'!=', a lambda in brackets, a format that begins with '='");
	is_str(strip("x = f'\\N{NUMBER SIGN}#' rf'\\{a}' # c\n"), "x = f'\\N{NUMBER SIGN}#' rf'\\{a}'\n",
	       "names of characters are no fields, backslashes before braces are");
	is_str(strip("x = f'{a'\n"), "ERROR line 1: a string that does not end", "a field that does not end");
	is_str(strip("x = f'}'\n"), "ERROR line 1: a single '}' in an f-string", "a brace that opens nothing");
	is_str(strip("x = f'{)}'\n"), "ERROR line 1: a closing bracket that nothing opens", "a bracket across a field");
}

static void test_string_statements(void)
{
	is_str(strip("\"\"\"doc\nmore\"\"\"\na\n"), "\n\na\n", "a module's docstring");
	is_str(strip("def f():\n    '''doc'''\n    return 1\n"), "def f():\n\n    return 1\n", "a function's");
	is_str(strip("def f():\n    '''doc'''\n"), "def f():\n    pass\n", "a body that was only that");
	is_str(strip("def f():\n  'a'\n  # b\n  'c'\n\nx\n"), "def f():\n\n\n  pass\n\nx\n", "several of them");
	is_str(strip("class A: 'doc'\n"), "class A: pass\n", "on the line of its header");
	is_str(strip("def f(a: 'x' = {1: 2}) -> 'y': 'doc'\n"), "def f(a: 'x' = {1: 2}) -> 'y': pass\n",
	       "behind annotations and brackets");
	is_str(strip("a; 'uses TMA'; b\n"), "a; pass; b\n", "between semicolons");
	is_str(strip("('a'\n 'b')\nx\n"), "\n\nx\n", "in brackets, over lines");
	is_str(strip("'a' 'b', b'c'\nx\n"), "\nx\n", "several strings");
	is_str(strip("f'a{1}'\nx\n"), "\nx\n", "an f-string without a name");
	is_str(strip("if a: 'x'\nelse: 'y'\n"), "if a: pass\nelse: pass\n", "branches");
	is_str(strip("if (lambda: 1)() or lambda: 2: 'x'\n"), "if (lambda: 1)() or lambda: 2: pass\n",
	       "a lambda's colon");
	is_str(strip("match x:\n  case 'a': 'b'\n"), "match x:\n  case 'a': pass\n", "match and case as keywords");
	is_str(strip("try: 'a'\nfinally: 'b'\n"), "try: pass\nfinally: pass\n", "try");
	is_str(strip("x: 'int' = 'a'\ncase: 'int'\nmatch: 'a' = 1\n"), "x: 'int' = 'a'\ncase: 'int'\nmatch: 'a' = 1\n",
	       "annotations are no statements");
	is_str(strip("x = 'a'\nf('b')\nreturn 'c'\n"), "x = 'a'\nf('b')\nreturn 'c'\n", "strings that are used stay");
	is_str(strip("x = {'a':\n 'b'}\n"), "x = {'a':\n 'b'}\n", "a colon in brackets");
	is_str(strip("f'{g()}'\n"), "f'{g()}'\n", "an f-string that calls something stays");
}

static void test_not_python(void)
{
	is_str(strip("a = 'x\n"), "ERROR line 1: a string that does not end", "a string without an end");
	is_str(strip("a\n'''x\n\n"), "ERROR line 2: a string that does not end", "its first line is named");
	is_str(strip("a = (1\n"), "ERROR line 2: a bracket that nothing closes", "an open bracket");
	is_str(strip("a)\n"), "ERROR line 1: a closing bracket that nothing opens", "a closing bracket");
	is_str(strip("a = ?\n"), "ERROR line 1: a character that is no part of Python", "a foreign character");
	is_str(strip("if a:\n    b\n  c\n"), "ERROR line 3: unindent that matches no outer level", "a wrong indent");
}

static void test_hostile(void)
{
	struct buf b = BUF_INIT;

	for (int i = 0; i < 200; i++)
		buf_addstr(&b, "f'{");
	is_str(strip(b.data), "ERROR line 1: f-strings nested too deep", "f-strings without end");
	buf_reset(&b);
	for (int i = 0; i < 200000; i++)
		buf_addch(&b, '(');
	is_str(strip(b.data), "ERROR line 1: a bracket that nothing closes", "200,000 brackets");
	buf_reset(&b);
	for (int i = 0; i < 120; i++)
		buf_addf(&b, "%*sif a:\n", i, "");
	is_str(strip(b.data), "ERROR line 101: indented too deep", "120 levels");
	buf_release(&b);
}

static const char *tokens(const char *text)
{
	static struct buf out;
	struct pytokens t = { NULL, 0, 0 };
	struct err e;

	buf_reset(&out);
	if (pytokens_read(&t, text, strlen(text), true, &e))
		buf_addstr(&out, e.text);
	for (size_t i = 0; i < t.n; i++)
		if (t.v[i].len)
			buf_addf(&out, "%s%.*s", out.len ? " " : "", (int)t.v[i].len, text + t.v[i].at);
	pytokens_release(&t);
	return out.data ? out.data : "";
}

static void test_tokens(void)
{
	is_str(tokens("a**=b//c->d:=e...f!=g<<=1"), "a **= b // c -> d := e ... f != g <<= 1",
	       "operators, longest first");
	is_str(tokens("0xFf_1+1_0.5e-3j+1.+.5+1e5if x"), "0xFf_1 + 1_0.5e-3j + 1. + .5 + 1e5 if x", "numbers");
	is_str(tokens("rb'a'Rb\"b\"u'c'bar'd'"), "rb'a' Rb\"b\" u'c' bar 'd'",
	       "prefixes of strings, and names that are none");
	is_str(tokens("gr\xC3\xB6\xC3\x9F""e=1"), "gr\xC3\xB6\xC3\x9F""e = 1", "names beyond ASCII");
	is_str(tokens("    x)\n  y(["), "x ) y ( [", "a fragment: neither indentation nor brackets need match");
}

static int find(const struct quotable *q, const char *quotation, enum quote_found wanted)
{
	int line;

	return quote_find(q, quotation, &line) == wanted ? line : -1;
}

static void test_quotes(void)
{
	static const char source[] = "import triton\n\n@triton.jit\ndef k(x, y):\n    acc = tl.dot(x, y,\n"
				     "                 acc)\n    s = \"a b c d\"\n    return acc\n";
	struct quotable q = { 0 };
	struct err e;

	ok(!quotable_python(&q, source, strlen(source), &e), "source can be quoted");
	is_int(find(&q, "acc = tl.dot(x, y, acc)", QUOTE_PRESENT), 5, "spacing and line ends do not matter");
	is_int(find(&q, "acc=tl . dot(x,y,acc)\n\n\n    s", QUOTE_PRESENT), 5, "nor where statements end");
	is_int(find(&q, "def k(x, y):  # the kernel", QUOTE_PRESENT), 4, "nor comments in the quotation");
	is_int(find(&q, "dot(x, y", QUOTE_PRESENT), 5, "a part of a line");
	is_int(find(&q, "... tl.dot(x, y, ...", QUOTE_PRESENT), 5, "dots at the ends");
	is_int(find(&q, "tl.dot(x, ..., acc)", QUOTE_ABSENT), 0, "something left out in the middle");
	is_int(find(&q, "tl.dot(y, x)", QUOTE_ABSENT), 0, "another order");
	is_int(find(&q, "l.dot(x, y", QUOTE_ABSENT), 0, "a part of a name");
	is_int(find(&q, "tl.dots(x", QUOTE_ABSENT), 0, "another name");
	is_int(find(&q, "\"a b", QUOTE_ABSENT), 0, "a string cut in two");
	is_int(find(&q, "a b c d", QUOTE_ABSENT), 0, "the words in a string are no code");
	is_int(find(&q, "s = \"a b c d\"", QUOTE_TRIVIAL), 7, "a string is no evidence, whatever it says");
	is_int(find(&q, "return acc", QUOTE_TRIVIAL), 8, "two tokens show nothing");
	is_int(find(&q, "", QUOTE_TRIVIAL), 0, "nothing shows nothing");
	is_int(find(&q, "...", QUOTE_TRIVIAL), 0, "nor do dots");
	is_int(find(&q, "# uses TMA", QUOTE_TRIVIAL), 0, "nor does a comment");
	quotable_release(&q);
}

static void test_words(void)
{
	static const char words[] = "Keep the square state\nresident in registers, within a segment.";
	struct quotable q = { 0 };

	quotable_prose(&q, words, strlen(words));
	is_int(find(&q, "the SQUARE state resident", QUOTE_PRESENT), 1, "case and line ends do not matter");
	is_int(find(&q, "registers -- within a segment", QUOTE_PRESENT), 2, "nor does punctuation");
	is_int(find(&q, "square state in registers", QUOTE_ABSENT), 0, "a word left out");
	is_int(find(&q, "in registers", QUOTE_TRIVIAL), 2, "two words show nothing");
	is_int(find(&q, "square states resident", QUOTE_ABSENT), 0, "another word");
	quotable_release(&q);
}

int main(void)
{
	test_comments();
	test_fstrings();
	test_string_statements();
	test_not_python();
	test_hostile();
	test_tokens();
	test_quotes();
	test_words();
	return done_testing();
}
