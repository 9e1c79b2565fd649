/* From workers' lines to a section. */
#include "outcome.h"
#include "clock.h"
#include "emit.h"
#include "json.h"
#include "stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void outcome_init(struct outcome *o, const struct job *job)
{
	*o = (struct outcome){ .job = job, .status = TIME_CORRECT, .waited = NAN, .actor = ACTOR_TOOL };
	o->workload = xcalloc((size_t)job->nworkloads + 1, sizeof(*o->workload));
	for (int i = 0; i < job->nworkloads; i++) {
		o->workload[i].status = TIME_NOT_RUN;
		o->workload[i].speedup = o->workload[i].vs_expert = NAN;
	}
}

void outcome_release(struct outcome *o)
{
	for (int i = 0; i < o->job->nworkloads; i++) {
		free(o->workload[i].json);
		free(o->workload[i].message);
		free(o->workload[i].profile);
	}
	free(o->workload);
	buf_release(&o->reason);
	buf_release(&o->device);
	buf_release(&o->again);
	buf_release(&o->phases);
	buf_release(&o->sanitizer);
	buf_release(&o->figures);
}

static enum time_status status_named(const char *name, size_t n)
{
	for (int s = 0; s < TIME_STATUSES; s++)
		if (strlen(time_status_name[s]) == n && !strncmp(time_status_name[s], name, n))
			return (enum time_status)s;
	return TIME_TOOL_ERROR;
}

static struct outcome_workload *find(struct outcome *o, const char *id)
{
	for (int i = 0; id && i < o->job->nworkloads; i++)
		if (!strcmp(o->job->workloads[i]->id, id))
			return &o->workload[i];
	return NULL;
}

static void take_interval(struct outcome_workload *w, const struct json *j)
{
	const struct json *low = json_first(json_get(j, "speedup_ci"));
	const char *verdict = json_get_str(j, "verdict");

	w->low = json_num(low, NAN);
	w->high = json_num(json_next(low), NAN);
	w->same = verdict && !strcmp(verdict, "same");
}

static void take_result(struct outcome *o, const char *text)
{
	struct err e;
	struct json *j = json_parse(text, strlen(text), &e);
	const char *status = json_get_str(j, "status"), *message = json_get_str(j, "message");
	struct outcome_workload *w = find(o, json_get_str(j, "id"));

	if (w && !w->json && status) {
		w->json = xstrdup(text);
		w->status = status_named(status, strlen(status));
		w->message = message ? xstrdup(message) : NULL;
		w->speedup = json_get_num(j, "speedup", NAN);
		w->vs_expert = json_get_num(j, "vs_expert", NAN);
		take_interval(w, j);
	}
	json_free(j);
}

static void keep(struct buf *b, const char *text)
{
	buf_reset(b);
	buf_addstr(b, text);
}

void outcome_profile(struct outcome *o, int i, const char *json)
{
	if (!o->workload[i].profile)
		o->workload[i].profile = xstrdup(json);
}

/* "ID {...}" */
static void take_profile(struct outcome *o, const char *text, size_t word)
{
	char *id = xstrndup(text, word);
	struct outcome_workload *w = find(o, id);

	if (w && text[word])
		outcome_profile(o, (int)(w - o->workload), text + word + 1);
	free(id);
}

static int actor_named(const char *name)
{
	for (int k = 0; k < ACTORS; k++)
		if (!strcmp(actor_name(k), name))
			return k;
	return ACTOR_TOOL;
}

/* To who is at work, the time since it was last charged. */
static void charge(struct outcome *o)
{
	double now = clock_now();

	o->spent[o->actor] += now - o->mark;
	o->mark = now;
}

int outcome_busiest(struct outcome *o, double *seconds)
{
	int most = LEG_BASELINE;	/* of the others */
	double others = 0;

	charge(o);
	for (int k = 0; k < ACTORS; k++) {
		if (k == LEG_CANDIDATE)
			continue;
		others += o->spent[k];
		if (o->spent[k] > o->spent[most])
			most = k;
	}
	if (o->spent[LEG_CANDIDATE] >= others)
		most = LEG_CANDIDATE;
	*seconds = o->spent[most];
	return most;
}

void outcome_line(struct outcome *o, const char *line)
{
	const char *text = line[0] && line[1] == ' ' ? line + 2 : "";
	size_t word = strcspn(text, " ");
	struct outcome_workload *w;

	switch (line[0]) {
	case PROGRESS_STARTS:
		o->waited = strtod(text, NULL);
		o->mark = clock_now();
		break;
	case PROGRESS_DEVICE:
		keep(&o->device, text);
		break;
	case PROGRESS_WORKLOAD:
		w = find(o, text);
		if (w)
			w->begun = true;
		break;
	case PROGRESS_RESULT:
		take_result(o, text);
		break;
	case PROGRESS_FAILED:
		o->status = status_named(text, word);
		keep(&o->reason, text[word] ? text + word + 1 : "");
		o->ended = true;
		break;
	case PROGRESS_PHASES:
		keep(&o->phases, text);
		break;
	case PROGRESS_AWAY:
		keep(&o->again, text);
		break;
	case PROGRESS_PROFILE:
		take_profile(o, text, word);
		break;
	case PROGRESS_SANITIZER:
		keep(&o->sanitizer, text);
		break;
	case PROGRESS_ACTOR:
		charge(o);
		o->actor = actor_named(text);
		break;
	case PROGRESS_FIGURES:
		buf_addf(&o->figures, "%s\n", text);
		break;
	case PROGRESS_END:
		o->ended = true;
		break;
	default:
		break;
	}
}

void outcome_close(struct outcome *o, int i, enum time_status missing, const char *why)
{
	int first = i < 0 ? 0 : i, last = i < 0 ? o->job->nworkloads : i + 1;

	for (int k = first; k < last; k++)
		if (!o->workload[k].json && (o->workload[k].begun || i >= 0)) {
			o->workload[k].status = missing;
			o->workload[k].message = xstrdup(why);
			o->ended = true;
		}
	if (i < 0 && !o->ended && !o->again.len) {	/* in no workload: nothing of the candidate's ran */
		o->status = TIME_TOOL_ERROR;
		keep(&o->reason, why);
	}
}

/* ---- what the sanitizer found */

/* "memcheck found 3 errors: Invalid __global__ write ..."; or why it is not known. -1: not known, or not asked. */
static long long sanitized(const struct outcome *o, enum sanitizer *tool, struct buf *words)
{
	struct json *j = o->sanitizer.len ? json_parse(o->sanitizer.data, o->sanitizer.len, NULL) : NULL;
	const char *name = json_get_str(j, "tool"), *why = json_get_str(j, "why_not");
	const char *first = json_str(json_first(json_get(j, "lines")));
	long long n = json_get_int(j, "findings", -1);

	*tool = sanitizer_named(name ? name : "");
	if (n > 0)
		buf_addf(words, "%s found %lld error%s%s%s", sanitizer_name[*tool], n, n == 1 ? "" : "s",
			 first ? ": " : "", first ? first : "");
	else if (why)
		buf_addstr(words, why);
	json_free(j);
	return n;
}

bool outcome_sanitizer_words(const struct outcome *o, struct buf *words)
{
	enum sanitizer tool;
	long long n = sanitized(o, &tool, words);

	return words->len && !(n > 0 && sanitizer_proves(tool));
}

/* A correct record in which an error is proven is not correct. */
static void settle_sanitized(struct outcome *o)
{
	struct buf words = BUF_INIT;
	enum sanitizer tool;

	if (sanitized(o, &tool, &words) > 0 && sanitizer_proves(tool)) {
		o->status = TIME_WRONG;
		buf_addbuf(&o->reason, &words);
	}
	buf_release(&words);
}

/* ---- the whole */

void outcome_settle(struct outcome *o)
{
	int bad = -1;

	if (o->status != TIME_CORRECT)
		return;
	for (int k = 0; k < o->job->nworkloads; k++)
		if (o->workload[k].status != TIME_CORRECT && (bad < 0 || o->workload[bad].status == TIME_NOT_RUN))
			bad = k;
	if (bad < 0) {
		settle_sanitized(o);
		return;
	}
	o->status = o->workload[bad].status == TIME_NOT_RUN ? TIME_TOOL_ERROR : o->workload[bad].status;
	buf_addf(&o->reason, "%s: %s", o->job->workloads[bad]->id,
		 o->workload[bad].message ? o->workload[bad].message : time_status_name[o->workload[bad].status]);
}

bool outcome_verdicts(const struct outcome *o, const char *where)
{
	bool same = o->status == TIME_CORRECT;

	for (int k = 0; k < o->job->nworkloads; k++) {
		const struct outcome_workload *w = &o->workload[k];

		if (isnan(w->speedup))
			warn("%s: %s: not timed: %s", where, o->job->workloads[k]->id,
			     w->message ? w->message : time_status_name[w->status]);
		else
			warn("%s: %s: %s: %.5f (%.5f to %.5f), noise floor %.2g %%", where, o->job->workloads[k]->id,
			     w->same ? "same" : "NOT the same", w->speedup, w->low, w->high,
			     50 * (w->high - w->low) / w->speedup);
		same = same && w->same;
	}
	return same;
}

/* Geometric mean over all workloads; NaN when one lacks the figure or the record is not correct. */
static double mean(const struct outcome *o, bool expert)
{
	double *x = xcalloc((size_t)o->job->nworkloads + 1, sizeof(*x)), m;

	for (int k = 0; k < o->job->nworkloads; k++)
		x[k] = expert ? o->workload[k].vs_expert : o->workload[k].speedup;
	m = o->status == TIME_CORRECT && o->job->nworkloads ? stats_geomean(x, (size_t)o->job->nworkloads) : NAN;
	free(x);
	return m;
}

/* A workload nothing is known of but its status. */
static void emit_missing(struct buf *out, const char *id, const struct outcome_workload *w)
{
	struct result r;

	result_init(&r, id);
	r.status = w->status;
	if (w->message)
		buf_addstr(&r.message, w->message);
	result_emit(out, &r, NULL);
	result_release(&r);
}

/* The worker's object, and the profile, which came later, as its last member. */
static void emit_workload(struct buf *out, const char *id, const struct outcome_workload *w)
{
	struct buf object = BUF_INIT;

	if (w->json)
		emit_raw(&object, w->json, strlen(w->json));
	else
		emit_missing(&object, id, w);
	emit_raw(out, object.data, object.len - 1);
	if (w->profile)
		emit_kraw(out, "profile", w->profile, strlen(w->profile));
	else
		emit_knull(out, "profile");
	emit_close(out, '}');
	buf_release(&object);
}

void outcome_emit(struct buf *out, const struct outcome *o)
{
	emit_key(out, "workloads");
	emit_open(out, '[');
	for (int k = 0; k < o->job->nworkloads; k++)
		emit_workload(out, o->job->workloads[k]->id, &o->workload[k]);
	emit_close(out, ']');
	emit_knum(out, "speedup", mean(o, false));
	emit_knum(out, "vs_expert", mean(o, true));
	if (o->sanitizer.len)
		emit_kraw(out, "sanitizer", o->sanitizer.data, o->sanitizer.len);
	else
		emit_knull(out, "sanitizer");
}
