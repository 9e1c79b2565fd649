/* A profile in words: for each kernel its figures, then what in them stands out. */
#include "profile.h"
#include "clip.h"
#include "json.h"
#include "utf8.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { KERNELS_SHOWN = 6, NAME_SHOWN = 60, WORDS_MAX = 4000 };
#define MATTERS 0.1	/* share of the time from which on a kernel is worth a remark */

/* ---- pieces */

static double num(const struct json *j, const char *key)
{
	return json_get_num(j, key, NAN);
}

static void add_name(struct buf *out, const struct json *kernel)
{
	const char *name = json_get_str(kernel, "name");

	if (name)
		buf_add(out, name, utf8_cut(name, strlen(name), NAME_SHOWN));
	else
		buf_addstr(out, "a kernel");
}

/* "4.41 TB": three digits. */
static void add_scaled(struct buf *out, double x, const char *unit)
{
	static const char *const prefix[] = { "", "k", "M", "G", "T", "P" };
	int k = 0;

	for (; x >= 999.5 && k < 5; k++)
		x /= 1000;
	buf_addf(out, "%.3g %s%s", x, prefix[k], unit);
}

static void add_percent(struct buf *out, const char *before, double share, const char *after)
{
	if (!isnan(share))
		buf_addf(out, "%s%.0f %%%s", before, 100 * share, after);
}

/* Cuts a comma and a blank at the end. */
static void end_list(struct buf *out)
{
	if (out->len >= 2 && !strcmp(out->data + out->len - 2, ", ")) {
		out->len -= 2;
		out->data[out->len] = '\0';
	}
}

/* ---- a kernel's lines */

static void add_head(struct buf *out, const struct json *k, int number)
{
	const struct json *grid = json_first(json_get(k, "grid"));
	int launches = json_len(json_get(k, "steps"));

	buf_addf(out, "  %d. ", number);
	add_name(out, k);
	add_percent(out, ": ", num(k, "share"), " of the time");
	if (!isnan(num(k, "ns")))
		buf_addf(out, ", %.2f us", num(k, "ns") / 1e3);
	buf_addf(out, "; %d launch%s of %lld x %lld x %lld blocks of %lld threads", launches, launches == 1 ? "" : "es",
		 json_int(grid, 0), json_int(json_next(grid), 0), json_int(json_next(json_next(grid)), 0),
		 json_get_int(k, "threads", 0));
	if (json_get_int(k, "cluster", 1) > 1)
		buf_addf(out, ", clusters of %lld", json_get_int(k, "cluster", 1));
	buf_addch(out, '\n');
}

/* "limited by registers and shared memory (registers 2, shared 2, warps 16, blocks 32)": all that allow no more. */
static void add_limits(struct buf *out, const struct json *occupancy)
{
	const struct json *allowed = json_get(occupancy, "allowed"), *a;
	long long least = json_get_int(allowed, json_get_str(occupancy, "limiter"), -1);
	bool first = true;

	for (a = json_first(allowed); a; a = json_next(a))
		if (json_int(a, -2) == least) {
			buf_addf(out, "%s%s%s", first ? ", limited by " : " and ", json_key(a),
				 strcmp(json_key(a), "shared") ? "" : " memory");
			first = false;
		}
	buf_addstr(out, " (");
	for (a = json_first(allowed); a; a = json_next(a))
		buf_addf(out, "%s %lld, ", json_key(a), json_int(a, 0));
	end_list(out);
	buf_addch(out, ')');
}

static void add_code(struct buf *out, const struct json *k)
{
	static const struct { const char *key, *unit; } figures[] = {
		{ "registers", "registers" }, { "local_bytes", "bytes of local memory" },
		{ "dynamic_shared_bytes", "bytes of shared memory" },
	};
	const struct json *o = json_get(k, "occupancy");

	buf_addstr(out, "     ");
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		if (json_get_int(k, figures[i].key, -1) >= 0)
			buf_addf(out, "%lld %s, ", json_get_int(k, figures[i].key, -1), figures[i].unit);
	end_list(out);
	if (json_get_str(o, "limiter")) {
		buf_addf(out, "; %lld blocks (%lld warps, %.0f %%) per multiprocessor", json_get_int(o, "blocks_per_sm", 0),
			 json_get_int(o, "warps_per_sm", 0), 100 * num(o, "share"));
		add_limits(out, o);
		buf_addf(out, "; %.2f waves", num(o, "waves"));
		add_percent(out, ", the last ", num(o, "tail"), " full");
	}
	buf_addch(out, '\n');
}

/* "12 global loads (8 of 128 bits, 4 of 32 bits), " */
static void add_widths(struct buf *out, const struct sass *s, enum sass_kind first, const char *what)
{
	static const int bits[] = { 256, 128, 64, 32, 16, 8 };
	long long n = 0;

	for (int w = 0; w < 6; w++)
		n += s->count[first + w];
	buf_addf(out, "%lld %s", n, what);
	if (n)
		buf_addstr(out, " (");
	for (int w = 0; w < 6; w++)
		if (s->count[first + w])
			buf_addf(out, "%lld of %d bits, ", s->count[first + w], bits[w]);
	end_list(out);
	buf_addstr(out, n ? "), " : ", ");
}

static void add_mix(struct buf *out, const struct json *k)
{
	static const struct { enum sass_kind kind; const char *name; } kinds[] = {
		{ SASS_TENSOR, "tensor-core" }, { SASS_ASYNC_COPY, "cp.async" }, { SASS_BULK_COPY, "TMA" },
	}, more[] = {
		{ SASS_SHARED_LOAD, "shared loads" }, { SASS_SHARED_STORE, "shared stores" },
		{ SASS_LOCAL_LOAD, "local loads" }, { SASS_LOCAL_STORE, "local stores" }, { SASS_ATOMIC, "atomic" },
		{ SASS_BARRIER, "barriers" }, { SASS_MBARRIER, "mbarrier" }, { SASS_SHUFFLE, "shuffles" },
		{ SASS_SPECIAL, "special functions" }, { SASS_FP64, "fp64" }, { SASS_FP32, "fp32" }, { SASS_FP16, "fp16" },
		{ SASS_INTEGER, "integer" }, { SASS_CONVERSION, "conversions" }, { SASS_BRANCH, "branches" },
		{ SASS_CALL, "calls" },
	};
	struct sass s;

	if (sass_read(json_get(k, "instructions"), &s))
		return;
	buf_addf(out, "     %lld instructions: ", s.count[SASS_TOTAL]);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		buf_addf(out, "%lld %s, ", s.count[kinds[i].kind], kinds[i].name);
	add_widths(out, &s, SASS_LOAD_256, "global loads");
	add_widths(out, &s, SASS_STORE_256, "global stores");
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++)
		if (s.count[more[i].kind])
			buf_addf(out, "%lld %s, ", s.count[more[i].kind], more[i].name);
	end_list(out);
	buf_addch(out, '\n');
}

static void add_counters(struct buf *out, const struct json *k)
{
	const struct json *c = json_get(k, "counters"), *s;

	if (json_type(c) != JSON_OBJ)
		return;
	buf_addstr(out, "     counted: ");
	if (!isnan(num(c, "dram_read_bytes"))) {
		add_scaled(out, num(c, "dram_read_bytes"), "B read, ");
		add_scaled(out, num(c, "dram_write_bytes"), "B written, ");
	}
	add_percent(out, "memory ", num(c, "dram_share"), " busy, ");
	add_percent(out, "L2 hits ", num(c, "l2_hit"), ", ");
	add_percent(out, "multiprocessors ", num(c, "sm_share"), " busy, ");
	add_percent(out, "tensor pipes ", num(c, "tensor_share"), ", ");
	add_percent(out, "achieved occupancy ", num(c, "occupancy"), ", ");
	for (s = json_first(json_get(c, "stalls")); s; s = json_next(s))
		if (json_get_str(s, "why")) {
			buf_addf(out, "stalled on %.40s", json_get_str(s, "why"));
			add_percent(out, " ", num(s, "share"), ", ");
		}
	end_list(out);
	buf_addch(out, '\n');
}

/* ---- the whole */

static void add_whole(struct buf *out, const struct json *p)
{
	const char *bound = json_get_str(p, "bound");

	if (!isnan(num(p, "ns")))
		buf_addf(out, " %.2f us a call", num(p, "ns") / 1e3);
	if (!isnan(num(p, "bytes_per_s"))) {
		buf_addstr(out, "; the task's least traffic at ");
		add_scaled(out, num(p, "bytes_per_s"), "B/s");
		add_percent(out, " (", num(p, "bytes_share"), " of what the device reaches)");
	}
	if (!isnan(num(p, "flops_per_s"))) {
		buf_addstr(out, ", its least arithmetic at ");
		add_scaled(out, num(p, "flops_per_s"), "flop/s");
		add_percent(out, " (", num(p, "flops_share"), ")");
	}
	if (bound && !isnan(num(p, "ns")))
		buf_addf(out, ": the limit is %s", !strcmp(bound, "memory") ? "memory" : "arithmetic");
	buf_addch(out, '\n');
	if (json_get_int(p, "fills", 0)) {
		buf_addf(out, "  %lld zero fill%s", json_get_int(p, "fills", 0), json_get_int(p, "fills", 0) == 1 ? "" : "s");
		add_percent(out, ": ", num(p, "fills_ns") / num(p, "steps_ns"), " of the time");
		buf_addch(out, '\n');
	}
}

/* ---- what stands out */

static double traffic(const struct json *profile)
{
	double sum = 0;

	for (const struct json *k = json_first(json_get(profile, "kernels")); k; k = json_next(k)) {
		const struct json *c = json_get(k, "counters");

		sum += (num(c, "dram_read_bytes") + num(c, "dram_write_bytes")) * json_len(json_get(k, "steps"));
	}
	return sum;
}

static void remark_whole(struct buf *out, const struct json *p, long long tensor)
{
	const struct json *first = json_first(json_get(p, "kernels"));
	const char *bound = json_get_str(p, "bound"), *unit = json_get_str(p, "flop_unit");
	double times = traffic(p) / num(p, "bytes"), share = num(first, "share"), launches = 0;
	bool memory = bound && !strcmp(bound, "memory");

	for (const struct json *k = first; k; k = json_next(k))
		launches += json_len(json_get(k, "steps"));
	if (json_next(first) && share >= 0.5) {
		buf_addstr(out, "  - ");
		add_name(out, first);
		add_percent(out, " takes ", share, " of the time\n");
	}
	if (times > 1.2)
		buf_addf(out, "  - memory moves %.1f times the task's least traffic\n", times);
	if (bound && num(p, memory ? "bytes_share" : "flops_share") >= 0.85)
		add_percent(out, "  - close to the device's limit: ", num(p, memory ? "bytes_share" : "flops_share"), "\n");
	if (bound && !memory && unit && strncmp(unit, "fp32", 4) && strcmp(unit, "fp64") && tensor == 0)
		buf_addf(out, "  - no tensor-core instruction in any kernel; the arithmetic counts as %s\n", unit);
	if (launches >= 4 && num(p, "ns") / launches < 5000)
		buf_addf(out, "  - %.0f launches of %.1f us on average: gaps between launches weigh\n", launches,
			 num(p, "ns") / launches / 1e3);
}

static void remark_kernel(struct buf *out, const struct json *k)
{
	const struct json *o = json_get(k, "occupancy");
	double waves = num(o, "waves"), tail = num(o, "tail");
	struct buf b = BUF_INIT;
	long long narrow, loads = 0;
	struct sass s;

	if (isnan(num(k, "share")))
		;	/* small sizes, for correctness alone */
	else if (waves < 0.9)
		buf_addf(&b, "the grid fills %.0f %% of the device; ", 100 * waves);
	else if (waves > 1 && waves < 6 && tail < 0.6)
		buf_addf(&b, "the last of %.0f waves is %.0f %% full; ", ceil(waves), 100 * tail);
	if (!sass_read(json_get(k, "instructions"), &s)) {
		for (int w = 0; w < 6; w++)
			loads += s.count[SASS_LOAD_256 + w];
		narrow = s.count[SASS_LOAD_32] + s.count[SASS_LOAD_16] + s.count[SASS_LOAD_8];
		if (s.count[SASS_LOCAL_LOAD] + s.count[SASS_LOCAL_STORE])
			buf_addf(&b, "spills or local arrays: %lld loads, %lld stores; ", s.count[SASS_LOCAL_LOAD],
				 s.count[SASS_LOCAL_STORE]);
		/* beside asynchronous copies, plain loads are of indices */
		if (narrow >= 4 && 2 * narrow > loads && !s.count[SASS_ASYNC_COPY] && !s.count[SASS_BULK_COPY])
			buf_addf(&b, "%lld of %lld global loads are of 32 bits or less; ", narrow, loads);
		if (s.count[SASS_TENSOR] && loads && !s.count[SASS_ASYNC_COPY] && !s.count[SASS_BULK_COPY])
			buf_addstr(&b, "tensor cores are fed by plain loads, no asynchronous copy; ");
	}
	if (b.len) {
		buf_addstr(out, "  - ");
		add_name(out, k);
		buf_addf(out, ": %.*s\n", (int)b.len - 2, b.data);
	}
	buf_release(&b);
}

static void remarks(struct buf *out, const struct json *p)
{
	const struct json *k;
	long long tensor = 0;
	struct sass s;
	int n = 0;

	for (k = json_first(json_get(p, "kernels")); k && tensor >= 0; k = json_next(k))
		tensor = sass_read(json_get(k, "instructions"), &s) ? -1 : tensor + s.count[SASS_TENSOR];
	remark_whole(out, p, tensor);
	for (k = json_first(json_get(p, "kernels")); k && n < KERNELS_SHOWN; k = json_next(k), n++)
		if (!(num(k, "share") < MATTERS))
			remark_kernel(out, k);
}

void profile_words(const struct json *p, struct buf *out)
{
	const struct json *k, *why;
	struct buf text = BUF_INIT;
	int n = 0;

	if (json_type(p) != JSON_OBJ)
		return;
	buf_addstr(&text, "  profile:");
	add_whole(&text, p);
	for (k = json_first(json_get(p, "kernels")); k && n < KERNELS_SHOWN; k = json_next(k)) {
		add_head(&text, k, ++n);
		add_code(&text, k);
		add_mix(&text, k);
		add_counters(&text, k);
	}
	if (k)
		buf_addf(&text, "  [%lld more kernels]\n", json_len(json_get(p, "kernels")) - n +
			 json_get_int(p, "kernels_left_out", 0));
	remarks(&text, p);
	for (why = json_first(json_get(p, "why_not")); why; why = json_next(why))
		if (json_str(why))
			buf_addf(&text, "  (no %s: %.200s)\n", json_key(why), json_str(why));
	clip_text(out, text.data, text.len, WORDS_MAX);
	buf_release(&text);
}
