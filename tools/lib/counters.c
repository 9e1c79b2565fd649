/* ncu: its command line, its table. */
#include "counters.h"
#include "child.h"
#include "emit.h"
#include "nvtool.h"
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

const char *const counter_name[COUNTERS] = {
	[COUNTER_NS] = "ns", [COUNTER_DRAM_READ] = "dram_read_bytes", [COUNTER_DRAM_WRITE] = "dram_write_bytes",
	[COUNTER_DRAM_SHARE] = "dram_share", [COUNTER_L2_HIT] = "l2_hit", [COUNTER_SM_SHARE] = "sm_share",
	[COUNTER_TENSOR_SHARE] = "tensor_share", [COUNTER_OCCUPANCY] = "occupancy",
};

/* ncu's names; newer devices have other ones for some. */
static const struct {
	const char *metric;
	enum counter counter;
	double scale;		/* per cent are shares here */
} metrics[] = {
	{ "gpu__time_duration.sum", COUNTER_NS, 1 },
	{ "dram__bytes_read.sum", COUNTER_DRAM_READ, 1 },
	{ "dram__bytes_write.sum", COUNTER_DRAM_WRITE, 1 },
	{ "dram__bytes_op_read.sum", COUNTER_DRAM_READ, 1 },
	{ "dram__bytes_op_write.sum", COUNTER_DRAM_WRITE, 1 },
	{ "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", COUNTER_DRAM_SHARE, 0.01 },
	{ "lts__t_sector_hit_rate.pct", COUNTER_L2_HIT, 0.01 },
	{ "sm__throughput.avg.pct_of_peak_sustained_elapsed", COUNTER_SM_SHARE, 0.01 },
	{ "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", COUNTER_TENSOR_SHARE, 0.01 },
	{ "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active", COUNTER_TENSOR_SHARE, 0.01 },
	{ "sm__warps_active.avg.pct_of_peak_sustained_active", COUNTER_OCCUPANCY, 0.01 },
};
#define STALL_FRONT "smsp__average_warps_issue_stalled_"
#define STALL_BACK "_per_issue_active.ratio"
#define STALL_BACK_NOT "_not_issued_per_issue_active.ratio"	/* the same, once more, for a part of the cycles */

enum { COLUMNS_MAX = 4096, CELL_MAX = 512 };

/* ---- the table */

/* Comma-separated cells, each in quotes or not; "" inside quotes is one of them. */
struct line {
	const char *p, *end;
	bool over;
};

/* The next cell into out, cut at its size. False at the line's end. */
static bool cell(struct line *l, char out[CELL_MAX])
{
	bool quoted;
	size_t n = 0;

	if (l->over)
		return false;
	quoted = l->p < l->end && *l->p == '"';
	for (l->p += quoted; l->p < l->end; l->p++) {
		if (quoted && *l->p == '"') {
			if (l->p + 1 >= l->end || l->p[1] != '"') {
				l->p++;
				break;
			}
			l->p++;
		} else if (!quoted && *l->p == ',') {
			break;
		}
		if (n + 1 < CELL_MAX)
			out[n++] = *l->p;
	}
	out[n] = '\0';
	while (l->p < l->end && *l->p != ',')
		l->p++;
	l->over = l->p == l->end;
	l->p += !l->over;
	return true;
}

/* A number, with commas between its thousands; NaN for anything else. */
static double number(const char *text)
{
	char plain[CELL_MAX], *end;
	size_t n = 0;
	double x;

	for (; *text; text++)
		if (*text != ',')
			plain[n++] = *text;
	plain[n] = '\0';
	x = strtod(plain, &end);
	return n && !*end && isfinite(x) ? x : NAN;
}

/* What a column is: a counter, a stall, the kernel's name, or nothing of ours. */
struct column {
	enum { NOTHING, NAME, COUNTER, STALL } what;
	int metric;
	char why[sizeof ((struct counters *)0)->stall[0].why];
};

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static struct column column_of(const char *name)
{
	struct column c = { NOTHING, 0, "" };
	size_t front = strlen(STALL_FRONT), n;

	if (!strcmp(name, "Kernel Name"))
		c.what = NAME;
	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
		if (!strcmp(name, metrics[i].metric)) {
			c.what = COUNTER;
			c.metric = (int)i;
		}
	if (!strncmp(name, STALL_FRONT, front) && ends_in(name, STALL_BACK) && !ends_in(name, STALL_BACK_NOT)) {
		n = strlen(name) - front - strlen(STALL_BACK);
		if (n >= sizeof(c.why))
			n = sizeof(c.why) - 1;
		c.what = STALL;
		memcpy(c.why, name + front, n);
		c.why[n] = '\0';
	}
	return c;
}

/* Keeps the largest. A warp that was selected was not stalled. */
static void take_stall(struct counters *c, const char *why, double cycles)
{
	int i = COUNTERS_STALLS - 1;

	if (!strcmp(why, "selected") || cycles <= c->stall[i].share)
		return;
	for (; i > 0 && c->stall[i - 1].share < cycles; i--)
		c->stall[i] = c->stall[i - 1];
	memcpy(c->stall[i].why, why, sizeof(c->stall[i].why));
	c->stall[i].share = cycles;
}

static void read_launch(struct line l, const struct column *columns, int n, struct counters *c)
{
	double sum = 0, x;
	char text[CELL_MAX];

	memset(c, 0, sizeof(*c));
	for (int k = 0; k < COUNTERS; k++)
		c->value[k] = NAN;
	for (int i = 0; i < n && cell(&l, text); i++) {
		x = number(text);
		if (columns[i].what == NAME) {
			size_t len = strlen(text) < sizeof(c->kernel) ? strlen(text) : sizeof(c->kernel) - 1;

			memcpy(c->kernel, text, len);
		} else if (columns[i].what == COUNTER && isnan(c->value[metrics[columns[i].metric].counter])) {
			c->value[metrics[columns[i].metric].counter] = x * metrics[columns[i].metric].scale;
		} else if (columns[i].what == STALL && x > 0) {
			sum += x;
			take_stall(c, columns[i].why, x);
		}
	}
	for (int k = 0; k < COUNTERS_STALLS; k++)
		c->stall[k].share = sum > 0 ? c->stall[k].share / sum : 0;
}

static int read_names(struct line l, struct column *columns)
{
	char text[CELL_MAX];
	int n = 0;

	while (n < COLUMNS_MAX && cell(&l, text))
		columns[n++] = column_of(text);
	return n;
}

/* The next line, without its end. False when there is none. */
static bool next_line(const char **p, const char *end, struct line *l)
{
	const char *nl;

	if (*p >= end)
		return false;
	nl = memchr(*p, '\n', (size_t)(end - *p));
	*l = (struct line){ *p, nl ? nl : end, false };
	*p = nl ? nl + 1 : end;
	if (l->end > l->p && l->end[-1] == '\r')
		l->end--;
	return true;
}

static bool starts(const struct line *l, const char *with)
{
	return (size_t)(l->end - l->p) >= strlen(with) && !memcmp(l->p, with, strlen(with));
}

/* The first line that begins so, without that beginning. */
static bool find_line(const char *text, size_t n, const char *beginning, struct line *l)
{
	const char *p = text;

	while (next_line(&p, text + n, l))
		if (starts(l, beginning)) {
			l->p += strlen(beginning);
			return true;
		}
	return false;
}

/* Why there is no table: no permission, or the program that ran under ncu says why it failed, or ncu does. */
static int complain(const char *text, size_t n, struct err *e)
{
	enum { SHOWN = 300 };
	struct line l;

	if (memmem(text, n, "ERR_NVGPUCTRPERM", 16))
		return err_set(e, "the system does not permit counters (ERR_NVGPUCTRPERM)");
	if (find_line(text, n, "d2k-time: ", &l))
		return err_set(e, "under ncu: %.*s", (int)(l.end - l.p > SHOWN ? SHOWN : l.end - l.p), l.p);
	if (find_line(text, n, "==ERROR== ", &l))
		return err_set(e, "ncu: %.*s", (int)(l.end - l.p > SHOWN ? SHOWN : l.end - l.p), l.p);
	return err_set(e, "ncu counted no kernel");
}

int counters_parse(const char *text, size_t n, struct counters *c, struct err *e)
{
	struct column *columns = xcalloc(COLUMNS_MAX, sizeof(*columns));
	const char *p = text, *end = text + n;
	int ncolumns = 0, launches = 0;
	struct line l;

	/* the last table counts: a kernel can print, but ncu prints after it. The line of units, which are base units
	 * because we ask for them, has no number in front. */
	while (next_line(&p, end, &l))
		if (starts(&l, "\"ID\",")) {
			ncolumns = read_names(l, columns);
			launches = 0;
		} else if (ncolumns && launches < COUNTERS_LAUNCHES && l.end - l.p > 2 && *l.p == '"' &&
			   isdigit((unsigned char)l.p[1])) {
			read_launch(l, columns, ncolumns, &c[launches++]);
		}
	free(columns);
	return launches ? launches : complain(text, n, e);
}

/* ---- running it */

enum { OUTPUT = 4 << 20 };

static void add_metrics(struct argv *a)
{
	struct buf b = BUF_INIT;

	/* those of other devices are left out: ncu refuses a name that it does not know */
	for (size_t i = 0; i < sizeof(metrics) / sizeof(*metrics); i++)
		if (!strstr(metrics[i].metric, "_op_") && !strstr(metrics[i].metric, "inst_executed"))
			buf_addf(&b, "%s%s", b.len ? "," : "", metrics[i].metric);
	argv_add(a, "--metrics");
	argv_add(a, b.data);
	buf_release(&b);
}

/* Sections are ncu's own choice for the device, and never unknown to it; they lack the bytes. */
static void add_sections(struct argv *a)
{
	static const char *const sections[] = { "SpeedOfLight", "MemoryWorkloadAnalysis", "ComputeWorkloadAnalysis",
						"Occupancy" };

	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		argv_add(a, "--section");
		argv_add(a, sections[i]);
	}
}

static int run(const char *tool, char *const *program, bool by_name, double seconds, struct counters *c, struct err *e)
{
	static const char *const options[] = {
		"--csv", "--page", "raw", "--print-units", "base", "--print-kernel-base", "function", "--clock-control",
		"none", "--target-processes", "all", "--profile-from-start", "off", "--section", "WarpStateStats",
	};
	struct argv argv = { 0 };
	struct child child = { .timeout = seconds, .max_output = OUTPUT };
	struct child_result r = { .end = CHILD_NOT_STARTED };
	int n;

	argv_add(&argv, tool);
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		argv_add(&argv, options[i]);
	argv_add(&argv, "--launch-count");
	argv_addf(&argv, "%d", COUNTERS_LAUNCHES);
	if (by_name)
		add_metrics(&argv);
	else
		add_sections(&argv);
	for (; *program; program++)
		argv_add(&argv, *program);
	child.argv = argv.v;
	n = child_run(&child, &r, e);
	if (!n && r.end == CHILD_TIMEOUT)
		n = err_set(e, "ncu took longer than %g s", seconds);
	else if (!n) {
		buf_addbuf(&r.out, &r.err);	/* complaints may be in either */
		n = counters_parse(r.out.data ? r.out.data : "", r.out.len, c, e);
	}
	child_result_release(&r);
	argv_release(&argv);
	return n;
}

int counters_take(char *const *program, double seconds, struct counters *c, struct err *e)
{
	char *tool = nvtool_find(NVTOOL_NCU, e);
	int n = tool ? run(tool, program, true, seconds, c, e) : -1;

	if (n < 0 && tool && strcasestr(e->text, "metric"))
		n = run(tool, program, false, seconds, c, e);
	free(tool);
	return n;
}

void counters_emit(struct buf *out, const struct counters *c)
{
	emit_open(out, '{');
	for (int k = 0; k < COUNTERS; k++)
		emit_kgiven(out, counter_name[k], c->value[k]);
	emit_key(out, "stalls");
	emit_open(out, '[');
	for (int k = 0; k < COUNTERS_STALLS && c->stall[k].share > 0; k++) {
		emit_open(out, '{');
		emit_kstr(out, "why", c->stall[k].why);
		emit_kgiven(out, "share", c->stall[k].share);
		emit_close(out, '}');
	}
	emit_close(out, ']');
	emit_close(out, '}');
}
