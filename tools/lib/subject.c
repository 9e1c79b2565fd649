/* Getting a record's submission ready to run. */
#include "subject.h"
#include "bundle.h"
#include "file.h"
#include "hash.h"
#include "store.h"
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* The raw text of build.bundles[hash], when the record carries it. */
static struct span embedded(const struct record *r, const char *hash)
{
	static struct scan build, bundles;	/* large */
	struct span raw = record_raw(r, "build"), none = { NULL, 0 };
	const struct scan_member *m;
	struct err ignored;

	if (!raw.p || scan_object(raw.p, raw.n, &build, &ignored))
		return none;
	m = scan_find(&build, "bundles");
	if (!m || scan_object(m->value.p, m->value.n, &bundles, &ignored))
		return none;
	m = scan_find(&bundles, hash);
	return m ? m->value : none;
}

/* A bundle's text from the record or the store. Its hash must be its name. */
static int get_bundle(const struct record *r, const char *hash, struct buf *out, struct err *e)
{
	struct span s = embedded(r, hash);
	char got[HASH_HEX];
	int rc;

	if (s.p) {
		buf_add(out, s.p, s.n);
		hash_hex(out->data, out->len, got);
		return strcmp(got, hash) ? err_set(e, "bundle %.12s in the record does not have its hash", hash) : 0;
	}
	rc = store_get("bundle", hash, out, e);
	return rc == 0 ? err_set(e, "bundle %.12s is neither in the record nor in the store", hash) : rc < 0 ? -1 : 0;
}

static int get_bundles(struct subject *s, struct err *e)
{
	static const char *const key[LEGS] = { "bundle", "baseline", "expert" };
	struct err why;

	for (int k = 0; k < (s->job.tolerance ? LEG_BASELINE : LEGS); k++) {
		const char *hash = json_get_str(s->build, key[s->job.self_test ? LEG_CANDIDATE : k]);

		if (!hash && k == LEG_CANDIDATE)
			return err_set(e, "build.bundle is missing");
		if (hash && strlen(hash) == HASH_HEX - 1 && get_bundle(s->record, hash, &s->job.bundle[k], &why)) {
			buf_release(&s->job.bundle[k]);
			if (k == LEG_CANDIDATE)
				return err_set(e, "%s", why.text);
		}
	}
	return 0;
}

/* The submission's source where the record has it, which must be what was built. */
static enum time_status check_source(struct subject *s, const char *built, struct err *e)
{
	struct json *agent = record_get(s->record, "agent", e);
	const char *source = json_get_str(agent, "submission");
	char hash[HASH_HEX] = "";

	if (source) {
		hash_hex(source, strlen(source), hash);
		s->source = xstrdup(source);
	}
	json_free(agent);
	if (source && strcmp(hash, built))
		return err_set(e, "the submission is not the one that was built"), TIME_STALE;
	return TIME_CORRECT;
}

/* Whether a bundle says that it was made from another source than that of the hash. One that cannot be read is the
 * worker's to refuse, who reads the whole. */
static bool made_from_another(const struct buf *text, const char *hash)
{
	static struct scan bundle;	/* large */
	const struct scan_member *m;
	struct err ignored;

	if (scan_object(text->data, text->len, &bundle, &ignored))
		return false;
	m = scan_find(&bundle, "source_sha256");
	return m && (m->value.n != HASH_HEX + 1 || memcmp(m->value.p + 1, hash, HASH_HEX - 1));
}

/* The task's own kernels must be those that the task has now: against others the ratios would mean something else. */
static enum time_status check_own(struct subject *s, struct err *e)
{
	static const char *const file[LEGS] = { NULL, "baseline.py", "expert.py" };
	enum time_status status = TIME_CORRECT;

	if (s->job.self_test)
		return TIME_CORRECT;	/* the candidate stands in for them */
	for (int k = LEG_BASELINE; k < LEGS && status == TIME_CORRECT; k++) {
		char *path = xasprintf("%s/%s", s->task.dir, file[k]), hash[HASH_HEX];
		const struct buf *text = &s->job.bundle[k];

		if (text->len && file_exists(path) && !hash_file(path, hash, e) && made_from_another(text, hash)) {
			err_set(e, "the bundle of %s was made from another one than the task has", file[k]);
			status = TIME_STALE;
		}
		free(path);
	}
	return status;
}

/* The bundle must be what was built, too. The worker that runs it reads the whole of it again. */
static enum time_status check_bundle(struct subject *s, bool cpu, const char *built, struct err *e)
{
	const struct buf *text = &s->job.bundle[LEG_CANDIDATE];
	enum time_status status = TIME_CORRECT;
	struct bundle b;

	if (bundle_parse(&b, text->data, text->len, e)) {
		status = TIME_TOOL_ERROR;
	} else if (strcmp(b.source_sha256, built)) {
		err_set(e, "the bundle was made from another source");
		status = TIME_STALE;
	} else if (!cpu && !strcmp(b.workloads_hash, s->task.workloads_hash)) {	/* a stale one is the worker's to refuse */
		for (int i = 0; i < s->job.nworkloads && status == TIME_CORRECT; i++)
			if (bundle_serves(&b, &s->task, s->job.workloads[i], e))
				status = TIME_TOOL_ERROR;
		if (status == TIME_CORRECT && bundle_remembers(&b, e))
			status = TIME_INVALID;
	}
	if (!s->source)
		s->source = xstrdup(b.source ? b.source : "");
	bundle_release(&b);
	return status;
}

/* The CPU needs the bundle only for its profile, which may do without. */
static enum time_status code_for_cpu(struct subject *s, const char *built)
{
	struct err ignored;

	if (s->job.profile && (get_bundles(s, &ignored) || check_bundle(s, true, built, &ignored) != TIME_CORRECT))
		buf_reset(&s->job.bundle[LEG_CANDIDATE]);
	return TIME_CORRECT;
}

/* The CPU runs the source; it needs a bundle only where the record has no source. */
static enum time_status get_code(struct subject *s, const struct demand *d, struct err *e)
{
	const char *built = json_get_str(s->build, "source_sha256");
	enum time_status status;

	if (!built)
		return err_set(e, "build.source_sha256 is missing"), TIME_TOOL_ERROR;
	status = check_source(s, built, e);
	if (status != TIME_CORRECT)
		return status;
	if (d->cpu && s->source)
		return code_for_cpu(s, built);
	if (get_bundles(s, e))
		return TIME_TOOL_ERROR;
	status = check_bundle(s, d->cpu, built, e);
	return status == TIME_CORRECT && !d->cpu ? check_own(s, e) : status;
}

static bool chosen(const struct workload *w, const struct demand *d)
{
	if (strcmp(w->tier, d->tier))
		return false;
	for (int i = 0; i < d->workloads.n; i++)
		if (!strcmp(d->workloads.v[i], w->id))
			return true;
	return d->workloads.n == 0;
}

static int choose_workloads(struct subject *s, const struct demand *d, struct err *e)
{
	if (workloads_load(&s->task, &s->workloads, &s->nworkloads, e))
		return -1;
	s->job.workloads = xcalloc((size_t)s->nworkloads + 1, sizeof(struct workload *));
	for (int i = 0; i < s->nworkloads; i++)
		if (chosen(&s->workloads[i], d))
			s->job.workloads[s->job.nworkloads++] = &s->workloads[i];
	return s->job.nworkloads ? 0 : err_set(e, "task '%s' has no %s workload of that name", s->task.name, d->tier);
}

/* Fixed seeds first, the same for everybody; the last is fresh. */
static void draw_seeds(struct job *j, int n)
{
	j->nseeds = n;
	for (int i = 0; i < j->nseeds - 1; i++)
		j->seeds[i] = (uint64_t)i + 1;
	while (getrandom(&j->seeds[j->nseeds - 1], sizeof(j->seeds[0]), 0) != sizeof(j->seeds[0]))
		;
	j->seeds[j->nseeds - 1] &= ~0ULL >> 8;	/* room for the seeds that timing derives from it */
}

enum time_status subject_open(struct subject *s, const struct record *r, const struct json *build,
			      const struct demand *d, struct err *e)
{
	char name[256];

	*s = (struct subject){ .record = r, .build = build };
	if (!record_str(r, "task", name, sizeof(name)))
		return err_set(e, "the record names no task"), TIME_TOOL_ERROR;
	if (task_load(&s->task, name, e))
		return TIME_TOOL_ERROR;
	s->job.task = &s->task;
	s->job.device = d->device;
	s->job.hang = d->hang;
	s->job.precision = d->precision;
	s->job.max_time = d->max_time;
	s->job.self_test = d->self_test;
	s->job.tolerance = d->tolerance;
	s->job.profile = d->profile;
	s->job.sanitizer = d->sanitizer;
	draw_seeds(&s->job, d->seeds);
	return choose_workloads(s, d, e) ? TIME_TOOL_ERROR : get_code(s, d, e);
}

void subject_release(struct subject *s)
{
	for (int k = 0; k < LEGS; k++)
		buf_release(&s->job.bundle[k]);
	workloads_free(s->workloads, s->nworkloads);
	free(s->job.workloads);
	free(s->source);
	task_release(&s->task);
	*s = (struct subject){ 0 };
}
