/* Putting a record's result together from workers' lines: when there is a mean, and what a worker's end comes to. */
#include "../tap/tap.h"
#include "json.h"
#include "outcome.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct workload a = { .id = "a" }, b = { .id = "b" }, c = { .id = "c" };
static const struct workload *three[] = { &a, &b, &c };
static const struct job job = { .workloads = three, .nworkloads = 3 };

static void tell(struct outcome *o, const char *const *lines)
{
	outcome_init(o, &job);
	for (; *lines; lines++)
		outcome_line(o, *lines);
}

/* The section's members, as an object. */
static struct json *section(struct outcome *o)
{
	struct buf out = BUF_INIT;
	struct json *j;
	struct err e;

	outcome_settle(o);
	buf_addch(&out, '{');
	outcome_emit(&out, o);
	buf_addch(&out, '}');
	j = json_parse(out.data, out.len, &e);
	ok(j != NULL, "the section is JSON");
	buf_release(&out);
	return j;
}

/* The lines, nothing more being said; speedup and vs_expert wanted. */
static void means(const char *name, const char *const *lines, double speedup, double vs_expert)
{
	struct outcome o;
	struct json *j;

	tell(&o, lines);
	outcome_close(&o, -1, TIME_TOOL_ERROR, "its process ended early");
	j = section(&o);
	is_num(json_get_num(j, "speedup", NAN), speedup, "%s: speedup", name);
	is_num(json_get_num(j, "vs_expert", NAN), vs_expert, "%s: vs_expert", name);
	json_free(j);
	outcome_release(&o);
}
#define MEANS(name, speedup, vs_expert, ...) \
	means(name, (const char *const[]){ __VA_ARGS__, NULL }, speedup, vs_expert)

#define RIGHT(id, speedup, expert) \
	"R {\"id\":\"" id "\",\"status\":\"correct\",\"speedup\":" speedup ",\"vs_expert\":" expert "}"
#define WRONG(id, status) \
	"R {\"id\":\"" id "\",\"status\":\"" status "\",\"message\":\"why\",\"speedup\":null,\"vs_expert\":null}"

static void test_means(void)
{
	MEANS("all right", 2, 0.5, "B a", RIGHT("a", "1", "0.5"), "B b", RIGHT("b", "2", "0.5"), "B c",
	      RIGHT("c", "4", "0.5"), "X");
	MEANS("one without the expert's time", 1, NAN, RIGHT("a", "1", "0.5"), RIGHT("b", "1", "null"),
	      RIGHT("c", "1", "0.5"), "X");
	MEANS("one without the baseline's", NAN, 1, RIGHT("a", "1", "1"), RIGHT("b", "null", "1"), RIGHT("c", "1", "1"),
	      "X");
	MEANS("one wrong", NAN, NAN, RIGHT("a", "1", "1"), WRONG("b", "wrong"), RIGHT("c", "1", "1"), "X");
	MEANS("one wrong that claims a figure", NAN, NAN, RIGHT("a", "1", "1"),
	      "R {\"id\":\"b\",\"status\":\"wrong\",\"speedup\":1,\"vs_expert\":1}", RIGHT("c", "1", "1"), "X");
	MEANS("one not run", NAN, NAN, RIGHT("a", "1", "1"), RIGHT("b", "1", "1"), "X");
	MEANS("figures that are none", NAN, NAN, RIGHT("a", "0", "-1"), RIGHT("b", "1", "1"), RIGHT("c", "1", "1"),
	      "X");
	MEANS("a workload told twice: the first counts", 1, 1, RIGHT("a", "1", "1"), RIGHT("a", "9", "9"),
	      RIGHT("b", "1", "1"), RIGHT("c", "1", "1"), "X");
}

/* Status and reason of the record, and the statuses of the three workloads. */
static void ends(const char *name, const char *const *lines, const char *status, const char *reason,
		 const char *workloads)
{
	struct buf statuses = BUF_INIT;
	struct outcome o;
	struct json *j;

	tell(&o, lines);
	outcome_close(&o, -1, TIME_TIMEOUT, "not done after 1 s");
	j = section(&o);
	is_str(time_status_name[o.status], status, "%s: %s", name, status);
	is_str(o.reason.len ? o.reason.data : "", reason, "%s: the reason", name);
	for (const struct json *w = json_first(json_get(j, "workloads")); w; w = json_next(w))
		buf_addf(&statuses, "%s%s", statuses.len ? " " : "", json_get_str(w, "status"));
	is_str(statuses.data, workloads, "%s: each workload", name);
	buf_release(&statuses);
	json_free(j);
	outcome_release(&o);
}
#define ENDS(name, status, reason, workloads, ...) \
	ends(name, (const char *const[]){ __VA_ARGS__, NULL }, status, reason, workloads)

static void test_ends(void)
{
	ENDS("right", "correct", "", "correct correct correct", "L", RIGHT("a", "1", "1"), RIGHT("b", "1", "1"),
	     RIGHT("c", "1", "1"), "X");
	ENDS("killed in the second", "timeout", "b: not done after 1 s", "correct timeout not_run", "L", "B a",
	     RIGHT("a", "1", "1"), "B b");
	ENDS("killed before the first", "tool_error", "not done after 1 s", "not_run not_run not_run", "L");
	ENDS("the first that is not right is named", "fault", "b: why", "correct fault not_run", RIGHT("a", "1", "1"),
	     WRONG("b", "fault"), "X");
	ENDS("the whole is stale", "stale", "built for another version", "not_run not_run not_run", "L",
	     "S stale built for another version");
	ENDS("a status nobody knows", "tool_error", "x", "not_run not_run not_run", "S splendid x");
}

int main(void)
{
	test_means();
	test_ends();
	return done_testing();
}
