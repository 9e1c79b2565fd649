/* A record that went through build and time, in words a model can act on. */
#include "evaluate.h"
#include "clip.h"
#include "json.h"
#include "profile.h"
#include <math.h>
#include <string.h>

enum { LOG_SHOWN = 12 << 10, KERNELS_SHOWN = 40 };

static const char *or_unknown(const char *s)
{
	return s ? s : "unknown";
}

static void add_log(struct buf *out, const char *log)
{
	if (!log || !*log)
		return;
	clip_text(out, log, strlen(log), LOG_SHOWN);
	if (out->data[out->len - 1] != '\n')
		buf_addch(out, '\n');
}

/* json_print() puts commas, so it needs a buffer of its own. */
static void add_json(struct buf *out, const struct json *j)
{
	struct buf text = BUF_INIT;

	json_print(j, &text);
	buf_addbuf(out, &text);
	buf_release(&text);
}

static void add_metric(struct buf *out, const struct json *m)
{
	const char *name = or_unknown(json_get_str(m, "metric"));
	double value = json_get_num(m, "value", NAN), limit = json_get_num(m, "limit", NAN);
	double least_equal = json_get_num(m, "least_equal", NAN);
	long long steps = json_get_int(m, "steps", -1);

	if (!strcmp(name, "ulp"))
		buf_addf(out, " %.4f %% within one step (at least %.4f %%)", 100 * value, 100 * limit);
	else if (isfinite(value) && isfinite(limit))
		buf_addf(out, " %s %.3g (at most %.3g)", name, value, limit);
	else
		buf_addf(out, " %s", name);
	if (isfinite(least_equal))
		buf_addf(out, ", %.4f %% equal (at least %.4f %%)", 100 * json_get_num(m, "equal", NAN),
			 100 * least_equal);
	if (steps >= 0 && json_get_int(m, "max_steps", -1) >= 0)
		buf_addf(out, ", none over %lld steps (at most %lld)", steps, json_get_int(m, "max_steps", -1));
	buf_addstr(out, json_bool(json_get(m, "ok"), true) ? ";" : " FAILED;");
}

static bool output_is_good(const struct json *o)
{
	const struct json *m = json_first(json_get(o, "metrics"));

	while (m && json_bool(json_get(m, "ok"), true))
		m = json_next(m);
	return !m && json_get_int(o, "nonfinite", 0) == 0;
}

static void add_output(struct buf *out, const struct json *o)
{
	const struct json *m;

	buf_addf(out, "  output %s:", or_unknown(json_get_str(o, "name")));
	for (m = json_first(json_get(o, "metrics")); m; m = json_next(m))
		add_metric(out, m);
	out->data[out->len - 1] = '\n';
}

static void add_times(struct buf *out, const struct json *w)
{
	double ours = json_num(json_path(w, "ns.candidate"), NAN), base = json_num(json_path(w, "ns.baseline"), NAN);
	double speedup = json_get_num(w, "speedup", NAN), roofline = json_get_num(w, "roofline", NAN);

	if (!isfinite(ours))
		return;
	buf_addf(out, "  time %.2f us", ours / 1e3);
	if (isfinite(base))
		buf_addf(out, ", baseline %.2f us", base / 1e3);
	if (isfinite(speedup))
		buf_addf(out, ", speedup %.3fx", speedup);
	if (isfinite(roofline))
		buf_addf(out, ", %.0f %% of the roofline", 100 * roofline);
	buf_addch(out, '\n');
}

/* Which configurations autotuning chose. */
static void add_variants(struct buf *out, const struct json *w)
{
	const struct json *v;

	for (v = json_first(json_path(w, "variants.candidate")); v; v = json_next(v)) {
		buf_addstr(out, "  steps ");
		add_json(out, json_get(v, "steps"));
		buf_addf(out, ": configuration %lld chosen; ns of the whole plan with each: ", json_get_int(v, "chosen", -1));
		add_json(out, json_get(v, "ns"));
		buf_addch(out, '\n');
	}
}

static void add_workload(struct buf *out, const struct json *w, bool profile)
{
	const char *message = json_get_str(w, "message");
	const struct json *o;

	buf_addf(out, "\nworkload %s: %s\n", or_unknown(json_get_str(w, "id")), or_unknown(json_get_str(w, "status")));
	if (message && *message) {
		buf_addstr(out, "  ");
		add_log(out, message);
	}
	/* the message tells about outputs that are wrong */
	for (o = json_first(json_get(w, "outputs")); o; o = json_next(o))
		if (!message || output_is_good(o))
			add_output(out, o);
	add_times(out, w);
	if (profile) {
		add_variants(out, w);
		profile_words(json_get(w, "profile"), out);
	}
}

/* What d2k-time --sanitize found, where the pipeline has it. */
static void add_sanitizer(struct buf *out, const struct json *s)
{
	long long n = json_get_int(s, "findings", -1);

	if (n < 0)
		return;
	buf_addf(out, "\n%s: %lld error%s\n", or_unknown(json_get_str(s, "tool")), n, n == 1 ? "" : "s");
	for (const struct json *l = json_first(json_get(s, "lines")); l && n; l = json_next(l)) {
		buf_addstr(out, "  ");
		add_log(out, json_str(l));
	}
}

static void add_time(struct buf *out, const struct json *time, bool profile)
{
	const char *reason = json_get_str(time, "reason");
	double speedup = json_get_num(time, "speedup", NAN);
	const struct json *w;

	buf_addf(out, "result: %s\n", or_unknown(json_get_str(time, "status")));
	if (!json_len(json_get(time, "workloads")))	/* otherwise their messages say it */
		add_log(out, reason);
	if (!json_bool(json_get(time, "comparable"), true))
		buf_addf(out, "(run on %s, tier %s: this says whether it is correct, not how fast it is)\n",
			 or_unknown(json_str(json_path(time, "device.name"))), or_unknown(json_get_str(time, "tier")));
	if (isfinite(speedup))
		buf_addf(out, "speedup over the baseline, geometric mean: %.3fx\n", speedup);
	for (w = json_first(json_get(time, "workloads")); w; w = json_next(w))
		add_workload(out, w, profile);
	add_sanitizer(out, json_get(time, "sanitizer"));
}

/* "12 registers, ": a count that is not known is left out. */
static void add_count(struct buf *out, const struct json *j, const char *key, const char *unit)
{
	long long n = json_get_int(j, key, -1);

	if (n >= 0)
		buf_addf(out, "%lld %s, ", n, unit);
}

static void add_kernel(struct buf *out, const struct json *k)
{
	buf_addf(out, "  %s: ", or_unknown(json_get_str(k, "name")));
	add_count(out, k, "registers", "registers");
	add_count(out, k, "spills_bytes", "bytes spilled");
	add_count(out, k, "stack_bytes", "bytes of stack");
	add_count(out, k, "shared_bytes", "bytes shared");
	add_count(out, k, "num_warps", "warps");
	add_count(out, k, "num_ctas", "CTAs per cluster");
	add_count(out, k, "launches", "launches");
	add_count(out, k, "variants", "variants");
	buf_addstr(out, "grids ");
	add_json(out, json_get(k, "grids"));
	buf_addch(out, '\n');
}

/* Whether a workload's profile tells about kernels already. */
static bool profiled(const struct json *time)
{
	for (const struct json *w = json_first(json_get(time, "workloads")); w; w = json_next(w))
		if (json_len(json_path(w, "profile.kernels")))
			return true;
	return false;
}

/* The build's own figures, of all kernels. */
static void add_kernels(struct buf *out, const struct json *build)
{
	const struct json *c;
	int n = 0;

	buf_addstr(out, "\nkernels:\n");
	for (c = json_first(json_get(build, "kernels")); c && n < KERNELS_SHOWN; c = json_next(c), n++)
		add_kernel(out, c);
	if (c)
		buf_addf(out, "  [%d more]\n", json_len(json_get(build, "kernels")) - n);
}

static void add_plans(struct buf *out, const struct json *build)
{
	const struct json *c;

	buf_addstr(out, "\nplans:\n");
	for (c = json_first(json_get(build, "plans")); c; c = json_next(c)) {
		buf_addf(out, "  %s: ", or_unknown(json_get_str(c, "workload")));
		add_count(out, c, "launches", "launches");
		add_count(out, c, "fills", "zero fills");
		add_count(out, c, "scratch_bytes", "bytes of scratch");
		out->len -= 2;	/* the last comma */
		buf_addch(out, '\n');
	}
}

void evaluate_words(const struct json *record, bool profile, struct buf *out)
{
	const struct json *build = json_get(record, "build"), *time = json_get(record, "time");
	const char *status = json_get_str(build, "status");
	bool built = status && !strcmp(status, "ok");

	if (build)
		buf_addf(out, "build: %s\n", or_unknown(status));
	if (build && !built)
		add_log(out, json_get_str(build, "log"));
	if (time && (built || !build))
		add_time(out, time, profile);
	if (!profile || !built)
		return;
	if (!profiled(time))
		add_kernels(out, build);
	add_plans(out, build);
	if (json_get_str(build, "log") && *json_get_str(build, "log"))
		buf_addstr(out, "\nnotes of the compiler:\n");
	add_log(out, json_get_str(build, "log"));
}
