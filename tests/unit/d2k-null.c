/* A filter that does next to nothing, to test the loop of filter.h: adds section "null", whose value counts the records
 * it was asked to process, or what --value says. */
#include "child.h"
#include "emit.h"
#include "filter.h"
#include "opt.h"
#include <string.h>
#include <unistd.h>

static struct {
	struct filter filter;
	const char *value, *special, *result;
	double wait;
	int count;
} o = { .filter.section = "null", .result = "add" };

static const struct opt options[] = { { 0, "redo", OPT_FLAG, &o.filter.redo, NULL, "replace an existing section", 0,
					      0 },
	{ 0, "section", OPT_STR, &o.filter.section, "NAME", "the member to add", 0, 0 },
	{ 0, "value", OPT_STR, &o.value, "JSON", "its value; a count by default", 0, 0 },
	{ 0, "wait", OPT_SECONDS, &o.wait, "SECONDS", "think so long about each record", 0, 0 },
	{ 0, "id", OPT_STR, &o.special, "ID", "give --result for this record only", 0, 0 },
	{ 0, "result", OPT_STR, &o.result, "RESULT", "add, pass, bad, again or stop", 0, 0 }, OPT_END };

static enum filter_result process(const struct record *r, struct buf *out, void *ctx)
{
	static const char *const results[] = { "add", "pass", "bad", "again", "stop" };
	char id[100];

	(void)ctx;
	o.count++;
	if (o.wait > 0)
		usleep((useconds_t)(o.wait * 1e6));
	if (o.value)
		buf_addstr(out, o.value);
	else
		emit_int(out, o.count);
	record_str(r, "id", id, sizeof id);
	for (int i = 0; i < 5; i++)
		if (!strcmp(o.result, results[i]) && (!o.special || !strcmp(o.special, id)))
			return (enum filter_result)i;
	return FILTER_ADD;
}

int main(int argc, char **argv)
{
	static const struct opt_usage usage = { "d2k-null", "[FILE...]", "d2k-null <records.jsonl",
		"Adds section 'null'." };
	int n = opt_parse(&usage, options, argc, argv);

	o.filter.process = process;
	child_catch_interrupts();
	return filter_run(&o.filter, argv, n);
}
