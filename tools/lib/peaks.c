/* Figures, floors, and how they are written. */
#include "peaks.h"
#include "emit.h"
#include "gpu.h"
#include "json.h"
#include "opt.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *key, *unit;		/* in JSON; in task.json, NULL: none */
	double scale;
} peak_name[PEAKS] = {
	[PEAK_BANDWIDTH] = { "bandwidth_gbs", NULL, 1e9 }, [PEAK_READ] = { "read_gbs", NULL, 1e9 },
	[PEAK_WRITE] = { "write_gbs", NULL, 1e9 }, [PEAK_COPY] = { "copy_gbs", NULL, 1e9 },
	[PEAK_BF16] = { "bf16_tflops", "bf16", 1e12 }, [PEAK_FP16] = { "fp16_tflops", "fp16", 1e12 },
	[PEAK_TF32] = { "tf32_tflops", "tf32", 1e12 }, [PEAK_FP8] = { "fp8_tflops", "fp8", 1e12 },
	[PEAK_INT8] = { "int8_tops", "int8", 1e12 }, [PEAK_FP32] = { "fp32_tflops", "fp32", 1e12 },
	[PEAK_FP64] = { "fp64_tflops", "fp64", 1e12 },
};

/* Dense operations per clock of one multiprocessor, as the vendor states them: twice the multiply-adds. 0: no such
 * unit. Parts with units cut down or slowed have lower ones; adding an architecture is adding a line. */
static const struct {
	int cc;
	double per_clock[PEAKS];
} architectures[] = {
	{ 80, { [PEAK_BF16] = 2048, [PEAK_FP16] = 2048, [PEAK_TF32] = 1024, [PEAK_INT8] = 4096, [PEAK_FP32] = 128,
		[PEAK_FP64] = 128 } },
	{ 86, { [PEAK_BF16] = 1024, [PEAK_FP16] = 1024, [PEAK_TF32] = 512, [PEAK_INT8] = 2048, [PEAK_FP32] = 256,
		[PEAK_FP64] = 4 } },
	{ 89, { [PEAK_BF16] = 1024, [PEAK_FP16] = 1024, [PEAK_TF32] = 512, [PEAK_FP8] = 2048, [PEAK_INT8] = 2048,
		[PEAK_FP32] = 256, [PEAK_FP64] = 4 } },
	{ 90, { [PEAK_BF16] = 4096, [PEAK_FP16] = 4096, [PEAK_TF32] = 2048, [PEAK_FP8] = 8192, [PEAK_INT8] = 8192,
		[PEAK_FP32] = 256, [PEAK_FP64] = 256 } },
	{ 100, { [PEAK_BF16] = 8192, [PEAK_FP16] = 8192, [PEAK_TF32] = 4096, [PEAK_FP8] = 16384, [PEAK_INT8] = 16384,
		 [PEAK_FP32] = 256, [PEAK_FP64] = 128 } },
	{ 120, { [PEAK_BF16] = 1024, [PEAK_FP16] = 1024, [PEAK_TF32] = 512, [PEAK_FP8] = 2048, [PEAK_INT8] = 2048,
		 [PEAK_FP32] = 256, [PEAK_FP64] = 4 } },
};

static double positive(double x)
{
	return x > 0 ? x : NAN;
}

void peaks_vendor(struct peaks *p, const struct gpu_info *info)
{
	*p = (struct peaks){ 0 };
	for (int i = 0; i < PEAKS; i++)
		p->figure[i] = (struct peak){ .measured = NAN, .vendor = NAN, .spread = NAN };
	/* two transfers a clock */
	p->figure[PEAK_BANDWIDTH].vendor = positive(2e3 * info->memory_khz * info->bus_bits / 8);
	for (size_t a = 0; a < sizeof(architectures) / sizeof(*architectures); a++)
		for (int i = 0; i < PEAKS && architectures[a].cc == info->cc; i++)
			if (peak_name[i].unit)
				p->figure[i].vendor = positive(architectures[a].per_clock[i] * info->sm_count *
							       1e3 * info->clock_khz);
}

double peaks_rate(const struct peaks *p, enum peak_id id)
{
	const struct peak *f = &p->figure[id];

	return isnan(f->measured) ? f->vendor : f->measured;
}

double peaks_floor_ns(const struct peaks *p, double bytes, double flops, const char *unit)
{
	double rate = NAN;

	for (int i = 0; i < PEAKS && unit; i++)
		if (peak_name[i].unit && !strcmp(peak_name[i].unit, unit))
			rate = peaks_rate(p, i);
	return fmax(bytes / peaks_rate(p, PEAK_BANDWIDTH), flops / rate) * 1e9;	/* fmax ignores a NaN */
}

/* ---- as JSON */

static void emit_rounded(struct buf *out, const char *key, double x, double to)
{
	emit_kgiven(out, key, round(x * to) / to);
}

static const char *source(const struct peak *f)
{
	return !isnan(f->measured) ? "measured" : !isnan(f->vendor) ? "vendor" : NULL;
}

static void emit_figure(struct buf *out, const struct peaks *p, int i, bool all)
{
	const struct peak *f = &p->figure[i];

	emit_key(out, peak_name[i].key);
	if (!source(f)) {
		emit_null(out);
		return;
	}
	emit_open(out, '{');
	emit_rounded(out, "value", peaks_rate(p, i) / peak_name[i].scale, 1e3);
	emit_kstr(out, "source", source(f));
	if (all && !isnan(f->measured)) {
		emit_rounded(out, "vendor", f->vendor / peak_name[i].scale, 1e3);
		emit_rounded(out, "spread", f->spread, 1e5);
		emit_kstr(out, "kernel", f->kernel);
		emit_kint(out, "blocks", f->blocks);
		emit_kint(out, "threads", f->threads);
	}
	emit_close(out, '}');
}

static void emit_figures(struct buf *out, const struct peaks *p, bool all)
{
	emit_open(out, '{');
	for (int i = 0; i < PEAKS; i++)
		emit_figure(out, p, i, all);
	emit_close(out, '}');
}

void peaks_emit(struct buf *out, const struct peaks *p)
{
	emit_figures(out, p, false);
}

void peaks_emit_all(struct buf *out, const struct peaks *p, const struct gpu_info *info)
{
	char cuda[32];

	snprintf(cuda, sizeof(cuda), "%d.%d", info->cuda / 1000, info->cuda % 1000 / 10);
	emit_open(out, '{');
	emit_kstr(out, "tool", "d2k-time " D2K_VERSION);
	emit_kstr(out, "device", info->name);
	emit_kstr(out, "uuid", info->uuid);
	emit_kstr(out, "driver", info->driver[0] ? info->driver : NULL);
	emit_kstr(out, "cuda", cuda);
	emit_kstr(out, "date", p->date[0] ? p->date : NULL);
	emit_key(out, "peaks");
	emit_figures(out, p, true);
	emit_kstr(out, "failed", p->failed[0] ? p->failed : NULL);
	emit_kstr(out, "unsteady", p->unsteady[0] ? p->unsteady : NULL);
	emit_close(out, '}');
}

/* ---- from JSON */

/* A figure of the object; what is not there, null, or the vendor's has not been measured. */
static int parse_figure(struct peak *f, const struct json *j, double scale)
{
	const char *from = json_get_str(j, "source"), *kernel = json_get_str(j, "kernel");
	double value = json_get_num(j, "value", NAN) * scale;

	f->measured = NAN;
	if (!j || json_type(j) == JSON_NULL)
		return 0;
	if (!from || !(value > 0 && value < 1e21))
		return -1;
	if (strcmp(from, "measured"))
		return strcmp(from, "vendor") ? -1 : 0;
	f->measured = value;
	f->spread = json_get_num(j, "spread", NAN);
	snprintf(f->kernel, sizeof(f->kernel), "%s", kernel ? kernel : "");
	f->blocks = (unsigned)json_get_int(j, "blocks", 0);
	f->threads = (unsigned)json_get_int(j, "threads", 0);
	return 0;
}

static int parse(struct peaks *p, const struct gpu_info *info, const struct json *j, struct err *e)
{
	const struct json *figures = json_get(j, "peaks");
	const char *uuid = json_get_str(j, "uuid"), *date = json_get_str(j, "date"), *failed = json_get_str(j, "failed");

	if (!uuid || strcmp(uuid, info->uuid))
		return err_set(e, "these are not the peaks of %s", info->uuid);
	if (json_type(figures) != JSON_OBJ || (!failed && !json_get(figures, peak_name[PEAK_BANDWIDTH].key)))
		return err_set(e, "no peaks");
	for (int i = 0; i < PEAKS; i++)
		if (parse_figure(&p->figure[i], json_get(figures, peak_name[i].key), peak_name[i].scale))
			return err_set(e, "'%s' is not a figure", peak_name[i].key);
	snprintf(p->date, sizeof(p->date), "%s", date ? date : "");
	snprintf(p->failed, sizeof(p->failed), "%s", failed ? failed : "");
	return 0;
}

int peaks_parse(struct peaks *p, const struct gpu_info *info, const char *text, size_t n, struct err *e)
{
	struct json *j = json_parse(text, n, e);
	struct peaks got = *p;
	int rc = j ? parse(&got, info, j, e) : -1;

	if (!rc)
		*p = got;
	json_free(j);
	return rc;
}
