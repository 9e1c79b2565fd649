/* Sources into bundles, by way of the store. */
#include "build.h"
#include "bundle.h"
#include "emit.h"
#include "facts.h"
#include "file.h"
#include "scan.h"
#include "store.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int task_json_hash(const struct task *t, char hex[HASH_HEX], struct err *e)
{
	char *path = xasprintf("%s/task.json", t->dir);
	int failed = hash_file(path, hex, e);

	free(path);
	return failed;
}

static void make_key(struct build *b, const struct build_for *f, const char *task_hash)
{
	struct hash_parts h = { BUF_INIT };

	hash_hex(b->source, strlen(b->source), b->source_sha256);
	hash_partstr(&h, "recorder", f->version);
	hash_partstr(&h, "task", f->task->name);
	hash_partstr(&h, "task.json", task_hash);
	hash_partstr(&h, "workloads", f->task->workloads_hash);
	hash_partstr(&h, "tier", f->tier);
	hash_partstr(&h, "target", f->target);
	hash_partstr(&h, "source", b->source);
	hash_done(&h, b->key);
}

/* ---- the index: one line of JSON for each outcome that would come out the same again */

static bool lasting(enum build_status s)
{
	return s != BUILD_TIMEOUT && s != BUILD_CRASHED && s != BUILD_TOOL_ERROR;
}

static int remember(const struct build *b, struct err *e)
{
	struct buf line = BUF_INIT;
	int failed;

	emit_open(&line, '{');
	emit_kstr(&line, "status", build_status_name[b->status]);
	emit_kstrn(&line, "log", b->log.data ? b->log.data : "", b->log.len);
	emit_kstr(&line, "triton", *b->triton ? b->triton : NULL);
	emit_kstr(&line, "bundle", *b->bundle ? b->bundle : NULL);
	emit_knum(&line, "seconds", b->seconds);
	emit_knum(&line, "compile_seconds", b->compile_seconds);
	emit_kraw(&line, "kernels", b->kernels.data, b->kernels.len);
	emit_kraw(&line, "plans", b->plans.data, b->plans.len);
	emit_close(&line, '}');
	buf_addch(&line, '\n');
	failed = store_put_as("index", b->key, line.data, line.len, e);
	buf_release(&line);
	return failed;
}

static void copy_text(char *out, size_t size, const char *s)
{
	size_t n = s ? strnlen(s, size - 1) : 0;

	if (n)
		memcpy(out, s, n);
	out[n] = '\0';
}

static bool in_store(const char *bundle)
{
	char *path = store_path("bundle", bundle);
	bool there = file_exists(path);

	free(path);
	return there;
}

/* Whether the build is in the store, whole; b is filled then. again: a failure does not count. */
static bool recall(struct build *b, bool again)
{
	struct buf line = BUF_INIT;
	struct json *j = NULL;
	const char *status;
	int i = BUILD_STATUSES;

	if (store_get("index", b->key, &line, NULL) == 1)
		j = json_parse(line.data, line.len, NULL);
	status = json_get_str(j, "status");
	for (i = 0; status && i < BUILD_STATUSES && strcmp(status, build_status_name[i]); i++)
		;
	copy_text(b->bundle, sizeof b->bundle, json_get_str(j, "bundle"));
	b->cached = status && i < BUILD_STATUSES && (i == BUILD_OK) == (*b->bundle != '\0') &&
		    (!*b->bundle || in_store(b->bundle)) && (!again || i == BUILD_OK);
	if (b->cached) {
		b->status = i;
		buf_addstr(&b->log, json_get_str(j, "log") ? json_get_str(j, "log") : "");
		copy_text(b->triton, sizeof b->triton, json_get_str(j, "triton"));
		b->seconds = json_get_num(j, "seconds", NAN);
		b->compile_seconds = json_get_num(j, "compile_seconds", NAN);
		json_print(json_get(j, "kernels"), &b->kernels);
		json_print(json_get(j, "plans"), &b->plans);
	} else {
		*b->bundle = '\0';
	}
	json_free(j);
	buf_release(&line);
	return b->cached;
}

/* ---- the bundle */

static void add_member(struct buf *out, const struct scan *s, const char *key)
{
	const struct scan_member *m = scan_find(s, key);

	if (m)
		emit_kraw(out, key, m->value.p, m->value.n);
}

static int compose(const struct build *b, const struct build_for *f, const struct recorder *r, const char *task_hash,
		   struct buf *out, struct err *e)
{
	struct scan s;

	if (scan_object(r->text.data, r->text.len, &s, e))
		return -1;
	emit_open(out, '{');
	emit_kint(out, "version", 1);
	emit_kstr(out, "task", f->task->name);
	emit_kstr(out, "target", f->target);
	emit_kstr(out, "triton", b->triton);
	emit_kstr(out, "source", b->source);
	emit_kstr(out, "source_sha256", b->source_sha256);
	emit_kstr(out, "task_hash", task_hash);
	emit_kstr(out, "workloads_hash", f->task->workloads_hash);
	add_member(out, &s, "kernels");
	add_member(out, &s, "plans");
	emit_close(out, '}');
	return 0;
}

/* The same reading that d2k-time will give it: what it would refuse is refused here, where the author sees it, and
 * where it counts as the submission's own failure. */
static int check(const struct buf *text, const struct build_for *f, struct err *e)
{
	struct bundle bundle;
	struct workload *w = NULL;
	int n = 0, failed = bundle_parse(&bundle, text->data, text->len, e) || bundle_remembers(&bundle, e) ||
			    workloads_load(f->task, &w, &n, e);

	for (int i = 0; i < n && !failed; i++)
		if (!strcmp(f->tier, "all") || !strcmp(f->tier, w[i].tier))
			failed = bundle_serves(&bundle, f->task, &w[i], e);
	workloads_free(w, n);
	bundle_release(&bundle);
	return failed ? -1 : 0;
}

static int keep_bundle(struct build *b, const struct build_for *f, const struct recorder *r, const char *task_hash,
		       struct err *e)
{
	struct buf text = BUF_INIT;
	struct err why;
	int failed = 0;

	if (compose(b, f, r, task_hash, &text, &why) || check(&text, f, &why)) {
		b->status = BUILD_HOST_ERROR;
		buf_reset(&b->log);
		buf_addf(&b->log, "the recorded plan cannot be used: %s", why.text);
	} else {
		failed = store_put("bundle", text.data, text.len, b->bundle, e);
	}
	buf_release(&text);
	return failed;
}

static int take_result(struct build *b, const struct build_for *f, struct recorder *r, const char *task_hash,
		       struct err *e)
{
	const struct json *result;
	int failed = 0;

	b->status = r->status;
	b->log = r->log;
	r->log = (struct buf)BUF_INIT;
	b->seconds = r->seconds;
	b->compile_seconds = json_get_num(r->tree, "compile_seconds", NAN);
	copy_text(b->triton, sizeof b->triton, json_get_str(r->tree, "triton"));
	if (b->status == BUILD_OK)
		failed = keep_bundle(b, f, r, task_hash, e);
	result = b->status == BUILD_OK ? r->tree : NULL;
	facts_kernels(result, &b->kernels);
	facts_plans(result, &b->plans);
	buf_addstr(&b->log, "");
	if (!failed && lasting(b->status))
		failed = remember(b, e);
	return failed;
}

/* ---- building */

static void *run_thread(void *r)
{
	recorder_run(r);
	return NULL;
}

/* All at once; the last in this thread. */
static void run_all(struct recorder **r, int n)
{
	pthread_t threads[BUILD_MAX];
	bool started[BUILD_MAX] = { false };

	for (int i = 0; i < n - 1; i++)
		started[i] = pthread_create(&threads[i], NULL, run_thread, r[i]) == 0;
	for (int i = 0; i < n; i++)
		if (!started[i])
			recorder_run(r[i]);
	for (int i = 0; i < n; i++)
		if (started[i])
			pthread_join(threads[i], NULL);
}

static int build_missing(struct build **missing, int n, const struct build_for *f, const char *task_hash,
			 struct err *e)
{
	struct recorder r[BUILD_MAX] = { 0 }, *started[BUILD_MAX];
	int failed = 0;

	for (int i = 0; i < n && !failed; i++) {
		started[i] = &r[i];
		failed = recorder_prepare(&r[i], f->task, f->tier, f->target, missing[i]->source, f->timeout, e);
	}
	if (!failed)
		run_all(started, n);
	for (int i = 0; i < n && !failed; i++)
		failed = take_result(missing[i], f, &r[i], task_hash, e);
	for (int i = 0; i < n; i++)
		recorder_release(&r[i]);
	return failed;
}

static const struct build *same_key(const struct build *builds, int n, const struct build *b)
{
	for (int i = 0; i < n; i++)
		if (&builds[i] != b && builds[i].source && !strcmp(builds[i].key, b->key))
			return &builds[i];
	return NULL;
}

int build_all(struct build *builds, int n, const struct build_for *f, struct err *e)
{
	struct build *missing[BUILD_MAX];
	char task_hash[HASH_HEX];
	int nmissing = 0;

	if (task_json_hash(f->task, task_hash, e))
		return -1;
	for (int i = 0; i < n; i++) {
		if (!builds[i].source)
			continue;
		make_key(&builds[i], f, task_hash);
		if (!recall(&builds[i], f->again) && !same_key(builds, i, &builds[i]))
			missing[nmissing++] = &builds[i];
	}
	if (nmissing && build_missing(missing, nmissing, f, task_hash, e))
		return -1;
	for (int i = 0; i < n; i++) {
		const struct build *twin = builds[i].source ? same_key(builds, i, &builds[i]) : NULL;

		if (twin && !builds[i].cached) {
			builds[i].status = twin->status;
			memcpy(builds[i].bundle, twin->bundle, HASH_HEX);
			buf_addbuf(&builds[i].log, &twin->log);
		}
	}
	return 0;
}

void build_release(struct build *b)
{
	buf_release(&b->log);
	buf_release(&b->kernels);
	buf_release(&b->plans);
}
