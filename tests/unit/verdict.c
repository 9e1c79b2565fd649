/* verdict: which answers are read, which verdicts count, which scores follow. */
#include "verdict.h"
#include "tap.h"
#include <math.h>
#include <string.h>

static const char source[] = "def k(x, y):\n    acc = tl.dot(x, y)\n    tl.store(x, acc)\n";

/* L2.1 requires L1.1; L2.2 requires L2.1. There is no L3. */
static char *need_l11[] = { "L1.1" }, *need_l21[] = { "L2.1" };
static struct guidance_item items[] = {
	{ .id = "L1.1", .level = 0, .property = "p", .weight = 3 },
	{ .id = "L1.2", .level = 0, .property = "p", .weight = 1 },
	{ .id = "L2.1", .level = 1, .property = "p", .weight = 1, .requires = need_l11, .nrequires = 1 },
	{ .id = "L2.2", .level = 1, .property = "p", .weight = 1, .requires = need_l21, .nrequires = 1 },
};
static const struct guidance g = { .items = items, .n = 4 };

#define GOOD "\"quotes\":[\"acc = tl.dot(x, y)\"],\"reason\":\"r\"}"
#define NONE "\"quotes\":[],\"reason\":\"r\"}"
#define ALL_YES "{\"verdicts\":[{\"id\":\"L1.1\",\"verdict\":\"yes\"," GOOD \
		",{\"id\":\"L1.2\",\"verdict\":\"yes\"," GOOD \
		",{\"id\":\"L2.1\",\"verdict\":\"yes\"," GOOD \
		",{\"id\":\"L2.2\",\"verdict\":\"yes\"," GOOD "]}"

static struct quotable text;
static struct err why;

static int try_read(struct verdicts *v, const char *answer)
{
	*v = (struct verdicts){ NULL, 0 };
	why.text[0] = '\0';
	return verdicts_read(v, answer, &g, &text, &why);
}

static void accepted(const char *answer, const char *name)
{
	struct verdicts v;

	ok(try_read(&v, answer) == 0, "%s", name);
	verdicts_release(&v);
}

static void refused(const char *answer, const char *reason)
{
	struct verdicts v;

	is_int(try_read(&v, answer), -1, "refused: %s", reason);
	ok(strstr(why.text, reason) != NULL, "and why: %s", why.text);
	ok(!v.v && !v.n, "and nothing is kept");
}

static void test_form(void)
{
	accepted(ALL_YES, "the plain object");
	accepted(" \r\n" ALL_YES "\n\n", "blanks around it");
	accepted("```json\n" ALL_YES "\n```", "in a fence");
	accepted("```\n" ALL_YES "```\n", "in a fence without a language");
	refused("", "");
	refused("yes to all", "");
	refused("Here it is: " ALL_YES, "");
	refused(ALL_YES " I hope this helps", "");
	refused(ALL_YES ALL_YES, "");
	refused("```json\n" ALL_YES "\n```\n```json\n" ALL_YES "\n```", "");
	refused("Sure!\n```json\n" ALL_YES "\n```", "");
	refused("[" ALL_YES "]", "no object with a list 'verdicts'");
	refused("null", "no object");
	refused("{\"verdicts\":{}}", "no object with a list");
	refused("{\"verdicts\":[],\"verdicts\":[]}", "verdicts");
	refused("{\"verdicts\":[],\"scores\":{}}", "scores");
	refused("{\"verdicts\":[", "");
}

static void test_ids(void)
{
#define FIRST "{\"verdicts\":[{\"id\":\"L1.1\",\"verdict\":\"no\"," NONE
	refused("{\"verdicts\":[]}", "no verdict for 'L1.1'");
	refused(FIRST "]}", "no verdict for 'L1.2'");
	refused(FIRST ",{\"id\":\"L1.1\",\"verdict\":\"yes\"," GOOD "]}", "'L1.1' is answered twice");
	refused(FIRST ",{\"id\":\"L9.9\",\"verdict\":\"no\"," NONE "]}", "unknown id 'L9.9'");
	refused(FIRST ",{\"id\":\"l1.2\",\"verdict\":\"no\"," NONE "]}", "unknown id 'l1.2'");
	refused(FIRST ",{\"verdict\":\"no\"," NONE "]}", "without an id");
	refused(FIRST ",\"L1.2\"]}", "without an id");
	refused("{\"verdicts\":[{\"id\":\"L1.1\",\"verdict\":\"Yes\"," NONE "]}", "must be yes, partly or no");
	refused("{\"verdicts\":[{\"id\":\"L1.1\",\"verdict\":true," NONE "]}", "must be yes, partly or no");
	refused("{\"verdicts\":[{\"id\":\"L1.1\",\"id\":\"L1.2\",\"verdict\":\"no\"," NONE "]}", "id");
	refused("{\"verdicts\":[{\"id\":\"L1.1\",\"verdict\":\"no\",\"quotes\":\"x\",\"reason\":\"r\"}]}",
		"must be a list");
	refused("{\"verdicts\":[{\"id\":\"L1.1\",\"verdict\":\"no\",\"quotes\":[1],\"reason\":\"r\"}]}",
		"not a string");
	refused("{\"verdicts\":[{\"id\":\"L1.1\",\"verdict\":\"no\",\"quotes\":[]}]}", "no reason");
	refused("{\"verdicts\":[{\"id\":\"L1.1\",\"verdict\":\"no\",\"score\":1," NONE "]}", "score");
#undef FIRST
}

/* The verdict that counts when all items say "yes" with these quotes. */
static enum verdict counted(const char *verdict, const char *quotes)
{
	struct buf b = BUF_INIT;
	struct verdicts v;
	enum verdict got = (enum verdict)-1;

	buf_addstr(&b, "{\"verdicts\":[");
	for (int i = 0; i < g.n; i++)
		buf_addf(&b, "%s{\"id\":\"%s\",\"verdict\":\"%s\",\"quotes\":%s,\"reason\":\"r\"}", i ? "," : "",
			 items[i].id, verdict, quotes);
	buf_addstr(&b, "]}");
	if (!try_read(&v, b.data))
		got = v.v[0].counted;
	verdicts_release(&v);
	buf_release(&b);
	return got;
}

static void test_evidence(void)
{
	is_int(counted("yes", "[\"tl.dot( x,\\ny )\"]"), VERDICT_YES, "a quote from the source");
	is_int(counted("partly", "[\"tl.store(x, acc)\", \"tl.dot(x, y)\"]"), VERDICT_PARTLY, "two of them");
	is_int(counted("yes", "[]"), VERDICT_NO, "none: void");
	is_int(counted("partly", "[\"\", \"  \"]"), VERDICT_NO, "empty ones: void");
	is_int(counted("yes", "[\"acc\"]"), VERDICT_NO, "one too short to show anything: void");
	is_int(counted("yes", "[\"tl.dot(y, x)\"]"), VERDICT_NO, "one that is not there: void");
	is_int(counted("yes", "[\"tl.dot(x, y)\", \"tl.dot(y, x)\"]"), VERDICT_NO,
	       "a right one does not carry a made-up one");
	is_int(counted("yes", "[\"tl.dot(x, y)\", \"acc\"]"), VERDICT_YES, "a short one beside it does no harm");
	is_int(counted("no", "[\"made.up(x)\"]"), VERDICT_NO, "no is no");
}

static void test_void(void)
{
	struct buf b = BUF_INIT;
	struct verdicts v;

	ok(!try_read(&v, "{\"verdicts\":[{\"id\":\"L2.2\",\"verdict\":\"no\"," NONE
			 ",{\"id\":\"L2.1\",\"verdict\":\"partly\"," GOOD
			 ",{\"id\":\"L1.2\",\"verdict\":\"yes\",\"quotes\":[\"no.such(x)\"],\"reason\":\"r\"}"
			 ",{\"id\":\"L1.1\",\"verdict\":\"yes\"," GOOD "]}"), "any order of ids");
	verdicts_emit(&b, &v, &g);
	is_str(b.data, "[{\"id\":\"L1.1\",\"level\":\"L1\",\"verdict\":\"yes\",\"counted\":\"yes\",\"void\":false,"
	       "\"quotes\":[{\"text\":\"acc = tl.dot(x, y)\",\"line\":2}],\"reason\":\"r\"},"
	       "{\"id\":\"L1.2\",\"level\":\"L1\",\"verdict\":\"yes\",\"counted\":\"no\",\"void\":true,"
	       "\"quotes\":[{\"text\":\"no.such(x)\",\"line\":null}],\"reason\":\"r\"},"
	       "{\"id\":\"L2.1\",\"level\":\"L2\",\"verdict\":\"partly\",\"counted\":\"partly\",\"void\":false,"
	       "\"quotes\":[{\"text\":\"acc = tl.dot(x, y)\",\"line\":2}],\"reason\":\"r\"},"
	       "{\"id\":\"L2.2\",\"level\":\"L2\",\"verdict\":\"no\",\"counted\":\"no\",\"void\":false,"
	       "\"quotes\":[],\"reason\":\"r\"}]", "the record's verdicts, in the list's order");
	verdicts_release(&v);
	buf_release(&b);
}

static void scores(const enum verdict said[4], bool gated, double l1, double l2, const char *name)
{
	struct verdict_item v[4] = { 0 };
	const struct verdicts all = { v, 4 };
	struct verdict_scores s;

	for (int i = 0; i < 4; i++)
		v[i].counted = said[i];
	verdicts_score(&all, &g, gated, &s);
	ok(s.level[0] == l1 && s.level[1] == l2 && isnan(s.level[2]) && s.combined == (l1 + l2) / 2, "%s: %g %g", name,
	   s.level[0], s.level[1]);
}

static void test_scores(void)
{
	static const enum verdict all[4] = { 2, 2, 2, 2 }, none[4] = { 0 }, half[4] = { 1, 2, 0, 2 },
		chain[4] = { 0, 2, 2, 2 }, partly[4] = { 1, 0, 1, 2 };

	scores(all, false, 100, 100, "all");
	scores(all, true, 100, 100, "all, gated");
	scores(none, false, 0, 0, "none");
	scores(half, false, 100 * 2.5 / 4, 50, "weights and halves");
	scores(half, true, 100 * 2.5 / 4, 0, "gated: L2.2 falls with L2.1");
	scores(chain, false, 25, 100, "ungated: L1.1 is not asked for");
	scores(chain, true, 25, 0, "gated: both fall with L1.1, one of them through the other");
	scores(partly, true, 37.5, 75, "gated: partly is enough to build on");
}

static void test_no_items(void)
{
	const struct guidance none = { .n = 0 };
	const struct verdicts v = { NULL, 0 };
	struct verdict_scores s;
	struct buf b = BUF_INIT;

	verdicts_score(&v, &none, false, &s);
	verdict_scores_emit(&b, &s);
	is_str(b.data, "{\"L1\":null,\"L2\":null,\"L3\":null,\"combined\":null}", "no items, no scores");
	buf_release(&b);
}

int main(void)
{
	quotable_python(&text, source, strlen(source), NULL);
	test_form();
	test_ids();
	test_evidence();
	test_void();
	test_scores();
	test_no_items();
	quotable_release(&text);
	return done_testing();
}
