/* Peaks: the vendor's and measured figures, floors, what is kept in the store and what damages it; and that the kernels
 * which measure them compile for each architecture to the instructions they are for. Run in a scratch folder. */
#include "../tap/tap.h"
#include "calibrate.h"
#include "child.h"
#include "file.h"
#include "gpu.h"
#include "json.h"
#include "nvrtc.h"
#include "nvtool.h"
#include "peaks.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The numbers that an H200 tells. */
static const struct gpu_info h200 = { .name = "NVIDIA H200", .uuid = "GPU-00000000-0000-0000-0000-000000000001",
	.driver = "580.95.05", .cuda = 13000, .cc = 90, .sm_count = 132, .clock_khz = 1980000, .memory_khz = 3201000,
	.bus_bits = 6144 };

static bool near(double x, double y)
{
	return fabs(x - y) <= 1e-6 * fabs(y);
}

static void test_vendor(void)
{
	struct gpu_info odd = h200;
	struct peaks p;

	peaks_vendor(&p, &h200);
	ok(near(peaks_rate(&p, PEAK_BANDWIDTH), 2 * 3.201e9 * 6144 / 8), "memory: two transfers a clock over its width");
	ok(near(peaks_rate(&p, PEAK_BF16), 4096 * 132 * 1.98e9), "bf16: per clock, multiprocessors, highest clock");
	ok(near(peaks_rate(&p, PEAK_FP8), 2 * peaks_rate(&p, PEAK_BF16)), "fp8 is twice that");
	ok(near(peaks_rate(&p, PEAK_FP32), 66.9e12) || fabs(peaks_rate(&p, PEAK_FP32) / 66.9e12 - 1) < 0.01,
	   "fp32 is what the data sheet says");
	ok(isnan(peaks_rate(&p, PEAK_READ)), "nobody states reading alone");
	odd.cc = 80;
	peaks_vendor(&p, &odd);
	ok(isnan(peaks_rate(&p, PEAK_FP8)), "a unit that the architecture lacks is unknown");
	odd.cc = 77;
	peaks_vendor(&p, &odd);
	ok(isnan(peaks_rate(&p, PEAK_BF16)), "so is all arithmetic of an unknown architecture");
	ok(!isnan(peaks_rate(&p, PEAK_BANDWIDTH)), "but not its memory");
	odd = h200;
	odd.clock_khz = odd.bus_bits = 0;
	peaks_vendor(&p, &odd);
	ok(isnan(peaks_rate(&p, PEAK_BANDWIDTH)) && isnan(peaks_rate(&p, PEAK_FP32)), "without clocks nothing is known");
}

static void test_floor(void)
{
	struct peaks p;

	peaks_vendor(&p, &h200);
	p.figure[PEAK_BANDWIDTH].measured = 4e12;
	p.figure[PEAK_BF16].measured = 1e15;
	is_num(peaks_floor_ns(&p, 4e9, 1e9, "bf16"), 1e6, "traffic takes longer: bytes over bandwidth");
	is_num(peaks_floor_ns(&p, 4, 3e12, "bf16"), 3e6, "arithmetic takes longer: flops over peak");
	ok(near(peaks_floor_ns(&p, 0, 1e12, "fp8"), 1e21 / (8192 * 132 * 1.98e9)), "not measured: the vendor's");
	is_num(peaks_floor_ns(&p, 4e9, 1e30, "int4"), 1e6, "a unit nobody knows does not count");
	is_num(peaks_floor_ns(&p, 4e9, 1e30, NULL), 1e6, "nor does none");
	is_num(peaks_floor_ns(&p, NAN, 2e12, "bf16"), 2e6, "nor traffic that is not known");
	is_num(peaks_floor_ns(&p, NAN, NAN, "bf16"), NAN, "without both there is no floor");
	is_num(peaks_floor_ns(&p, 0, 0, "bf16"), 0, "nothing to do takes no time");
	p.figure[PEAK_BANDWIDTH].measured = p.figure[PEAK_BANDWIDTH].vendor = NAN;
	is_num(peaks_floor_ns(&p, 4e9, 1e12, "bf16"), 1e6, "an unknown bandwidth does not count");
}

static void measured(struct peaks *p)
{
	peaks_vendor(p, &h200);
	for (int i = 0; i <= PEAK_BF16; i++) {
		p->figure[i].measured = (i + 1) * 1.25e12;
		p->figure[i].spread = 0.001;
		strcpy(p->figure[i].kernel, "read_4");
	}
	strcpy(p->date, "2026-01-02T03:04:05Z");
}

/* peaks_parse of the text with one part replaced. */
static int parse_with(const char *text, const char *part, const char *by)
{
	const char *at = strstr(text, part);
	struct peaks p;
	struct err e = { "" };
	char *changed;
	int rc;

	if (!ok(at != NULL, "the text has %s", part))
		return 0;
	changed = xasprintf("%.*s%s%s", (int)(at - text), text, by, at + strlen(part));
	peaks_vendor(&p, &h200);
	rc = peaks_parse(&p, &h200, changed, strlen(changed), &e);
	ok(rc ? e.text[0] && isnan(p.figure[PEAK_BF16].measured) : true, "damage takes no figure over: %s", e.text);
	free(changed);
	return rc;
}

static void test_text(void)
{
	struct buf text = BUF_INIT;
	struct peaks p, q;
	struct err e = { "" };

	measured(&p);
	peaks_emit_all(&text, &p, &h200);
	peaks_vendor(&q, &h200);
	is_int(peaks_parse(&q, &h200, text.data, text.len, &e), 0, "what is written can be read: %s", e.text);
	for (int i = 0; i < PEAKS; i++)
		is_num(q.figure[i].measured, p.figure[i].measured, "figure %d", i);
	is_str(q.figure[PEAK_READ].kernel, "read_4", "and how it came about");
	is_str(q.date, p.date, "and when");
	is_int(parse_with(text.data, "\"source\":\"measured\"", "\"source\":\"guessed\""), -1, "a source we do not have");
	is_int(parse_with(text.data, "\"value\":", "\"value\":-"), -1, "a negative figure");
	is_int(parse_with(text.data, "\"value\":", "\"value\":\"x\",\"was\":"), -1, "a figure that is none");
	is_int(parse_with(text.data, "0001\"", "0002\""), -1, "another device");
	is_int(parse_with(text.data, "\"peaks\":", "\"picks\":"), -1, "no figures");
	is_int(parse_with(text.data, "bandwidth", "bandwith"), -1, "no bandwidth");
	is_int(parse_with(text.data, "}", ""), -1, "no JSON");
	for (size_t n = 0; n < text.len; n++)
		if (!peaks_parse(&q, &h200, text.data, n, &e)) {
			ok(false, "%zu bytes of it are read as the whole", n);
			break;
		}
	buf_reset(&text);
	peaks_emit(&text, &p);
	ok(strstr(text.data, "\"bandwidth_gbs\":{\"value\":1250,\"source\":\"measured\"}") != NULL &&
	   strstr(text.data, "\"fp8_tflops\":{\"value\":2141.061,\"source\":\"vendor\"}") != NULL,
	   "a record has each figure with its source: %s", text.data);
	buf_release(&text);
}

/* The one file under the store, or NULL. */
static char *kept_file(void)
{
	struct argv a = { 0 };
	struct child c = { .timeout = 10, .max_output = 4096 };
	struct child_result r = { 0 };
	struct err e;
	char *path = NULL;

	argv_add(&a, "find");
	argv_add(&a, "store/device");
	argv_add(&a, "-type");
	argv_add(&a, "f");
	c.argv = a.v;
	if (!child_run(&c, &r, &e) && r.out.len)
		path = xstrndup(r.out.data, strcspn(r.out.data, "\n"));
	child_result_release(&r);
	argv_release(&a);
	return path;
}

static void test_store(void)
{
	struct gpu_info other = h200;
	struct err e = { "" };
	struct peaks p, q;
	char *path;

	setenv("D2K_STORE", "store", 1);
	ok(!peaks_load(&q, &h200), "nothing is kept at first");
	ok(!isnan(peaks_rate(&q, PEAK_BF16)), "and the vendor's figures are there");
	measured(&p);
	peaks_keep(&p, &h200);
	ok(peaks_load(&q, &h200), "kept");
	is_num(q.figure[PEAK_BF16].measured, p.figure[PEAK_BF16].measured, "as measured");
	is_num(q.figure[PEAK_FP8].vendor, 8192 * 132 * 1.98e9, "beside the vendor's");
	strcpy(other.driver, "580.95.06");
	ok(!peaks_load(&q, &other), "another driver measures anew");
	other = h200;
	other.uuid[5] = '1';
	ok(!peaks_load(&q, &other), "so does another device");
	path = kept_file();
	if (ok(path && !file_write(path, "{\"peaks\":{", 10, &e), "damage: %s", e.text))
		ok(!peaks_load(&q, &h200) && isnan(q.figure[PEAK_BF16].measured), "is measured anew");
	free(path);
	peaks_keep(&p, &h200);
	ok(peaks_load(&q, &h200), "and kept again");
	peaks_vendor(&p, &h200);
	strcpy(p.failed, "illegal instruction");
	peaks_keep(&p, &h200);
	ok(peaks_load(&q, &h200), "that measuring failed is kept too");
	is_str(q.failed, "illegal instruction", "with the reason");
	ok(isnan(q.figure[PEAK_BANDWIDTH].measured) && !isnan(peaks_rate(&q, PEAK_BANDWIDTH)), "the vendor's figures do");
	setenv("D2K_STORE", "/dev/null/store", 1);
	measured(&p);
	peaks_keep(&p, &h200);
	ok(!peaks_load(&q, &h200), "a store that cannot be written keeps nothing, and that is all");
}

/* ---- the kernels */

/* How many instructions of a kernel begin so; the listing names it in a line of its own. */
static int count(const char *sass, const char *kernel, const char *instruction)
{
	char *head = xasprintf("\n.text.%s:\n", kernel), *start = strstr(sass, head);
	int n = 0;

	for (const char *line = start ? start + strlen(head) : ""; *line; line += strcspn(line, "\n") + 1) {
		const char *p = strstr(line, "*/"), *end = strchr(line, '\n');

		if (!strncmp(line, ".text.", 6) || !end)
			break;
		if (!p || p > end)
			continue;
		p += 2;
		p += strspn(p, " \t");
		if (*p == '@')		/* @!P0 BRA */
			p += strcspn(p, " \t"), p += strspn(p, " \t");
		n += !strncmp(p, instruction, strlen(instruction));
	}
	free(head);
	return start ? n : -1;
}

static int disassemble(const struct buf *cubin, struct buf *sass, struct err *e)
{
	char *tool = nvtool_find(NVTOOL_NVDISASM, e);
	struct argv a = { 0 };
	struct child c = { .timeout = 60, .max_output = 64 << 20 };
	struct child_result r = { 0 };
	int rc = tool ? file_write("cubin", cubin->data, cubin->len, e) : -1;

	if (!rc) {
		argv_add(&a, tool);
		argv_add(&a, "-c");
		argv_add(&a, "cubin");
		c.argv = a.v;
		rc = child_run(&c, &r, e);
		buf_addbuf(sass, &r.out);
	}
	child_result_release(&r);
	argv_release(&a);
	free(tool);
	return rc;
}

/* What each kernel's loop is to hold. */
static const struct wanted {
	const char *arch, *kernel, *instruction;
	int n;
} wanted[] = {
	{ "sm_90a", "wgmma_bf16", "HGMMA.64x256x16.F32.BF16 ", 8 },
	{ "sm_90a", "wgmma_fp16", "HGMMA.64x256x16.F32 ", 8 },
	{ "sm_90a", "wgmma_tf32", "HGMMA.64x256x8.F32.TF32 ", 8 },
	{ "sm_90a", "wgmma_fp8", "QGMMA.64x256x32.F32.E4M3.E4M3 ", 8 },
	{ "sm_90a", "wgmma_int8", "IGMMA.64x256x32.S8.S8 ", 8 },
	{ "sm_90a", "fma_fp32", "FFMA ", 512 },
	{ "sm_90a", "fma_fp64", "DFMA ", 512 },
	{ "sm_90a", "mma_fp64", "DMMA.16x8x16 ", 64 },
	{ "sm_90a", "read_8", "LDG.E.NA.128 ", 8 },
	{ "sm_90a", "write_8", "STG.E.128 ", 8 },
	{ "sm_90a", "copy_8", "LDG.E.NA.128 ", 8 },
	{ "sm_80", "mma_bf16", "HMMA.16816.F32.BF16 ", 64 },
	{ "sm_80", "mma_fp16", "HMMA.16816.F16 ", 64 },
	{ "sm_80", "mma_tf32", "HMMA.1688.F32.TF32 ", 64 },
	{ "sm_80", "mma_int8", "IMMA.16832.S8.S8 ", 64 },
	{ "sm_80", "mma_fp64", "DMMA.884 ", 64 },
	{ "sm_89", "mma_fp8", "QMMA.16832.F32.E4M3.E4M3 ", 64 },
	{ "sm_100", "fma_fp32", "FFMA ", 512 },
	{ "sm_100", "fma2_fp32", "FFMA2 ", 512 },
};

static void test_arch(const char *arch, const struct buf *source)
{
	struct buf cubin = BUF_INIT, sass = BUF_INIT;
	struct err e = { "" };

	if (!ok(!nvrtc_compile(source->data, arch, &cubin, &e), "the kernels compile for %s: %s", arch, e.text))
		return;
	if (disassemble(&cubin, &sass, &e))
		ok(true, "%s # SKIP %s", arch, e.text);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted) && sass.len; i++) {
		const struct wanted *w = &wanted[i];

		if (strcmp(w->arch, arch))
			continue;
		is_int(count(sass.data, w->kernel, w->instruction), w->n, "%s %s: %s", arch, w->kernel, w->instruction);
		is_int(count(sass.data, w->kernel, "LDL") + count(sass.data, w->kernel, "STL"), 0, "and spills nothing");
	}
	buf_release(&cubin);
	buf_release(&sass);
}

static void test_kernels(void)
{
	static const char *const arch[] = { "sm_80", "sm_89", "sm_90a", "sm_100", "sm_120" };
	struct buf source = BUF_INIT;
	struct err e = { "" };

	if (!ok(!calibrate_source(&source, &e), "the kernels' source: %s", e.text))
		return;
	if (nvrtc_load(NULL, &e))
		ok(true, "the kernels # SKIP %s", e.text);
	else
		for (size_t i = 0; i < sizeof(arch) / sizeof(*arch); i++)
			test_arch(arch[i], &source);
	buf_release(&source);
}

int main(void)
{
	test_vendor();
	test_floor();
	test_text();
	test_store();
	test_kernels();
	return done_testing();
}
