/* Getting ready. */
#include "rig.h"
#include "emit.h"
#include "oracle.h"
#include "progress.h"
#include "result.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say_failed(const struct rig *r, enum time_status status, const char *why)
{
	char *text = xasprintf("%s %s", time_status_name[status], why);

	progress_say(r->fd, PROGRESS_FAILED, text);
	free(text);
}

/* ---- the device */

static void say_waits(const char *what, void *ctx)
{
	progress_say(((const struct rig *)ctx)->fd, PROGRESS_WAITS, what);
}

/* What it says of itself, now that nothing runs on it. */
static void emit_state(const struct rig *r, struct buf *b)
{
	struct nvml_reading now;

	nvml_read(r->nvml, &now);
	nvml_facts(r->nvml, b);
	emit_kcount(b, "temperature", now.temperature);
	emit_kcount(b, "power_mw", now.power_mw);
	emit_kcount(b, "other_processes", nvml_sharing(r->nvml));
}

static void say_device(const struct rig *r, int ordinal)
{
	const struct gpu_info *i = &r->info;
	struct buf b = BUF_INIT;
	char text[32];

	emit_open(&b, '{');
	emit_kstr(&b, "name", i->name);
	emit_kstr(&b, "uuid", i->uuid);
	emit_kint(&b, "ordinal", ordinal);
	emit_kstr(&b, "driver", i->driver[0] ? i->driver : NULL);
	snprintf(text, sizeof(text), "%d.%d", i->cuda / 1000, i->cuda % 1000 / 10);
	emit_kstr(&b, "cuda", text);
	emit_kint(&b, "sm_count", i->sm_count);
	emit_kint(&b, "l2_bytes", i->l2_bytes);
	emit_kint(&b, "memory_bytes", i->memory_bytes);
	snprintf(text, sizeof(text), "%d.%d", i->cc / 10, i->cc % 10);
	emit_kstr(&b, "compute_capability", text);
	emit_key(&b, "peaks");
	peaks_emit(&b, &r->peaks);
	emit_state(r, &b);
	emit_close(&b, '}');
	progress_say(r->fd, PROGRESS_DEVICE, b.data);
	buf_release(&b);
}

/* Peaks are the device's, not the record's, which does not pay for them: measured before its time starts. Without any
 * (no NVRTC) the vendor's do. */
static int open_peaks(struct rig *r, struct err *e)
{
	struct err why = { "" };

	if (peaks_load(&r->peaks, &r->info))
		return 0;
	progress_say(r->fd, PROGRESS_PEAKS, "");
	if (gpu_start(r->gpu, e))
		return -1;
	nvml_started(r->nvml);
	if (peaks_measure(&r->peaks, &r->info, r->gpu, r->nvml, &why) < 0) {
		say_failed(r, TIME_TOOL_ERROR, why.text);
		return 1;
	}
	return 0;
}

static int open_device(struct rig *r)
{
	struct err e = { "" };
	struct claim c;
	char waited[32];
	int rc;

	if (claim_gpu(&c, r->job->device, say_waits, r, &e))
		goto away;
	r->gpu = c.gpu;
	r->info = c.info;
	r->nvml = c.nvml;
	rc = open_peaks(r, &e);
	if (rc < 0)
		goto away;
	if (rc)
		return -1;
	snprintf(waited, sizeof(waited), "%.6f", c.waited);
	progress_say(r->fd, PROGRESS_STARTS, waited);
	phases_start(&r->phases);
	if (gpu_start(r->gpu, &e))
		goto away;
	nvml_started(r->nvml);
	say_device(r, c.ordinal);
	phases_charge(&r->phases, PHASE_START);
	return 0;
away:
	progress_say(r->fd, PROGRESS_AWAY, e.text);
	return -1;
}

/* ---- bundles */

/* A bundle for another task, another version of it, or another device must not be run. */
static enum time_status accept(const struct rig *r, const struct bundle *b, struct err *e)
{
	const struct task *t = r->job->task;
	char arch[16], *path = xasprintf("%s/task.json", t->dir), hash[HASH_HEX];
	int rc = hash_file(path, hash, e);

	free(path);
	gpu_arch(r->gpu, arch);
	if (rc)
		return TIME_TOOL_ERROR;
	if (strcmp(b->task, t->name)) {
		err_set(e, "the bundle is of task '%s'", b->task);
		return TIME_STALE;
	}
	if (strcmp(b->task_hash, hash) || strcmp(b->workloads_hash, t->workloads_hash)) {
		err_set(e, "the bundle was built for another version of the task or of its workloads");
		return TIME_STALE;
	}
	if (strcmp(b->target, arch)) {
		err_set(e, "built for %s, the device is %s", b->target, arch);
		return TIME_UNSUPPORTED;
	}
	return TIME_CORRECT;
}

static enum time_status load(struct rig *r, int k)
{
	const struct buf *text = &r->job->bundle[k];

	if (!text->len) {
		err_set(&r->lacks[k], "no bundle");
		return TIME_TOOL_ERROR;
	}
	if (bundle_parse(&r->bundle[k], text->data, text->len, &r->lacks[k]))
		return TIME_TOOL_ERROR;
	return accept(r, &r->bundle[k], &r->lacks[k]);
}

/* The candidate's must be good; what the others lack is told where they are missed. */
static int load_bundles(struct rig *r)
{
	for (int k = 0; k < LEGS; k++) {
		enum time_status status = load(r, k);

		if (k == LEG_CANDIDATE && status != TIME_CORRECT) {
			say_failed(r, status, r->lacks[k].text);
			return -1;
		}
	}
	phases_charge(&r->phases, PHASE_LOAD);
	return 0;
}

static int open_oracle(struct rig *r)
{
	struct buf source = BUF_INIT;
	struct err e = { "" };

	if (!oracle_source(r->job->task, &source, &e))
		r->engine = engine_gpu(r->gpu, &source, &e);
	if (!r->engine)
		say_failed(r, TIME_TOOL_ERROR, e.text);
	buf_release(&source);
	phases_charge(&r->phases, PHASE_ORACLE);
	return r->engine ? 0 : -1;
}

int rig_open(struct rig *r, const struct job *job, int fd)
{
	*r = (struct rig){ .job = job, .fd = fd, .rng.state = job_fresh_seed(job) };
	return open_device(r) || load_bundles(r) || open_oracle(r) ? -1 : 0;
}
