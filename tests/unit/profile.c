/* profile: kernels of a plan, their times, what fits, counters matched by order; the object, and the words made of it. */
#include "json.h"
#include "profile.h"
#include "tap.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char attend[] = "attend", merge[] = "merge", target[] = "sm_90";
static struct kernel kernels[] = {
	{ .name = attend, .hash = "a", .shared = 98328, .warps = 4, .ctas = 1, .registers = 154, .spills = 8, .stack = 16 },
	{ .name = merge, .hash = "b", .shared = 0, .warps = 8, .ctas = 2, .registers = -1, .spills = -1, .stack = -1 },
};
static const struct bundle bundle = { .target = target, .kernels = kernels, .nkernels = 2 };

/* A fill, attend on 264 blocks, merge, attend on 265, attend on 264 again; of attend's first launch two variants. */
static char fast[] = "BLOCK: 64";
static struct variant first[] = { { .kernel = 1, .grid = { 7, 1, 1 } }, { .kernel = 0, .grid = { 264, 1, 1 }, .config = fast } };
static struct variant second = { .kernel = 1, .grid = { 33, 2, 1 } }, third = { .kernel = 0, .grid = { 265, 1, 1 } };
static struct variant fourth = { .kernel = 0, .grid = { 264, 1, 1 } };
static struct step steps[] = { { .variants = NULL }, { .variants = first, .nvariants = 2 },
			       { .variants = &second, .nvariants = 1 }, { .variants = &third, .nvariants = 1 },
			       { .variants = &fourth, .nvariants = 1 } };
static const struct plan plan = { .steps = steps, .nsteps = 5, .launches = 4 };
static const int chosen[] = { 0, 1, 0, 0, 0 };
static struct profile p;

static void test_kernels(void)
{
	profile_open(&p, &bundle, &plan, chosen);
	is_int(p.nkernels, 3, "a kernel on two grids is two");
	is_int(p.fills, 1, "a fill");
	is_int(p.kernels[0].launches, 2, "two launches on the same grid");
	is_int(p.kernels[0].steps[1], 4, "of which the second is step 4");
	is_str(p.kernels[0].config, fast, "the chosen variant");
	is_int(p.kernels[1].grid[0], 66, "blocks, clusters counted out");
	profile_fit_target(&p);
	ok(p.kernels[0].fits && p.kernels[0].occupancy.blocks == 2 && p.kernels[0].occupancy.tail == 1, "what fits");
	ok(!p.kernels[1].fits, "without registers nothing is known");
}

static void test_times(void)
{
	/* the plan's first 1 to 5 steps; the fourth seems to take less than nothing */
	const double ns[] = { 100, 1100, 1500, 1490, 2500 };

	profile_times(&p, ns);
	is_num(p.ns, 2500, "the whole");
	is_num(p.fills_ns, 100, "the fill");
	is_num(p.kernels[0].ns, 2000, "both launches");
	is_num(p.kernels[1].ns, 400, "one");
	is_num(p.kernels[2].ns, 0, "what adds nothing is 0");
	is_num(p.fills_ns + p.kernels[0].ns + p.kernels[1].ns + p.kernels[2].ns, p.ns, "they sum up");
}

static void test_counters(void)
{
	struct counters c[4] = { { .kernel = "attend" }, { .kernel = "merge" }, { .kernel = "attend" }, { .kernel = "other" } };

	for (int i = 0; i < 4; i++) {
		for (int k = 0; k < COUNTERS; k++)
			c[i].value[k] = NAN;
		c[i].value[COUNTER_DRAM_READ] = 1e6 * (i + 1);
		c[i].value[COUNTER_DRAM_WRITE] = 0;
	}
	profile_count(&p, c, 3);
	ok(!*p.no_counters.text && p.kernels[0].counted && p.kernels[2].counted, "by the order of launches");
	is_num(p.kernels[2].counters.value[COUNTER_DRAM_READ], 3e6, "each its own");
	profile_count(&p, c, 4);
	is_str(p.no_counters.text, "ncu counted 'other' where the plan launches 'attend'", "another kernel is noticed");
}

static struct json *emitted(void)
{
	struct buf b = BUF_INIT;
	struct err e = { "" };
	struct json *j;

	profile_emit(&b, &p);
	j = json_parse(b.data, b.len, &e);
	ok(j != NULL, "the object is one %s", e.text);
	buf_release(&b);
	return j;
}

static const char *words(const struct json *j)
{
	static struct buf b;

	buf_reset(&b);
	buf_addstr(&b, "");
	profile_words(j, &b);
	return b.data;
}

static void says(const char *text, const char *what)
{
	if (!ok(strstr(text, what) != NULL, "says '%.*s'", (int)strcspn(what, "\n"), what))
		printf("# %s\n", text);
}

static void test_object(void)
{
	struct json *j;
	const struct json *k;
	const char *text;

	p.call_ns = 2600;
	p.bytes = 2e6;
	p.flops = 1e9;
	p.flop_unit = "bf16";
	p.bytes_peak = 4e12;
	p.flops_peak = 8e14;
	p.kernels[0].mixed = p.kernels[1].mixed = p.kernels[2].mixed = true;
	p.kernels[0].mix.count[SASS_TOTAL] = 100;
	p.kernels[0].mix.count[SASS_LOAD_32] = 8;
	p.kernels[0].mix.count[SASS_LOCAL_LOAD] = 3;
	p.kernels[1].mix.count[SASS_TOTAL] = p.kernels[2].mix.count[SASS_TOTAL] = 50;
	j = emitted();
	k = json_first(json_get(j, "kernels"));
	is_str(json_get_str(k, "name"), "attend", "the longest comes first");
	is_num(json_get_num(k, "share", 0), 0.8, "with its share");
	is_str(json_get_str(j, "bound"), "compute", "2 MB take 500 ns, 1 Gflop 1250");
	is_num(json_get_num(j, "flops_share", 0), 0.4808, "of which half is reached");
	is_int(json_get_int(k, "spill_bytes", -1), 8, "the build's figure");
	ok(json_type(json_get(json_next(k), "registers")) == JSON_NULL, "what is not known is null");
	text = words(j);
	says(text, " 2.60 us a call; the task's least traffic at 769 GB/s (19 % of what the device reaches), its least arithmetic "
	     "at 385 Tflop/s (48 %): the limit is arithmetic\n");
	says(text, "  1. attend: 80 % of the time, 2.00 us; 2 launches of 264 x 1 x 1 blocks of 128 threads\n");
	says(text, "154 registers, 16 bytes of local memory, 98328 bytes of shared memory; 2 blocks (8 warps, 12 %) per "
	     "multiprocessor, limited by shared memory (registers 3, shared 2, warps 16, blocks 32); 1.00 waves, the last 100 % full\n");
	says(text, "100 instructions: 0 tensor-core, 0 cp.async, 0 TMA, 8 global loads (8 of 32 bits), 0 global stores, 3 local loads\n");
	says(text, "1 MB read, 0 B written");
	says(text, "clusters of 2");
	says(text, "  - attend takes 80 % of the time\n");
	says(text, "  - memory moves 3.5 times the task's least traffic\n");
	says(text, "no tensor-core instruction in any kernel; the arithmetic counts as bf16\n");
	says(text, "4 launches of 0.7 us on average");
	says(text, "spills or local arrays: 3 loads, 0 stores; 8 of 8 global loads are of 32 bits or less\n");
	says(text, "(no counters: ncu counted 'other'");
	ok(!strstr(text, "merge: the grid"), "what takes little time is not remarked on");
	json_free(j);
}

/* A record can come from anywhere. */
static void test_hostile(void)
{
	static const char *const texts[] = {
		"{}", "[]", "null", "{\"kernels\":5,\"why_not\":[]}", "{\"kernels\":[null,1,\"x\",[],{}]}",
		"{\"kernels\":[{\"name\":\"%s%n\",\"grid\":{},\"steps\":\"x\",\"occupancy\":[],\"instructions\":{\"total\":1e308},"
		"\"counters\":{\"dram_read_bytes\":1e308,\"stalls\":[{\"why\":\"%s\"},5]}}]}",
		"{\"kernels\":[{\"name\":5,\"occupancy\":{\"limiter\":\"shared\",\"allowed\":[1,2]},\"instructions\":{\"total\":3,"
		"\"tensor\":-1}}],\"ns\":1e-300,\"fills\":1e300,\"bound\":\"x\",\"why_not\":{\"a\":{},\"b\":\"c\"}}",
	};
	struct buf b = BUF_INIT;
	struct err e;
	struct json *j;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		j = json_parse(texts[i], strlen(texts[i]), &e);
		ok(words(j) != NULL, "hostile object %zu", i);
		json_free(j);
	}
	buf_addstr(&b, "{\"kernels\":[");
	for (int i = 0; i < 5000; i++)
		buf_addf(&b, "%s{\"name\":\"%0500d\",\"steps\":[1],\"instructions\":{\"total\":9}}", i ? "," : "", i);
	buf_addstr(&b, "],\"why_not\":{\"x\":\"");
	for (int i = 0; i < 1000; i++)
		buf_addstr(&b, "long and ");
	buf_addstr(&b, "\"}}");
	j = json_parse(b.data, b.len, &e);
	ok(strlen(words(j)) < 4200, "a huge one stays short");
	json_free(j);
	buf_release(&b);
}

int main(void)
{
	test_kernels();
	test_times();
	test_counters();
	test_object();
	test_hostile();
	profile_release(&p);
	return done_testing();
}
