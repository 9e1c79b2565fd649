/* The agent loop. Its state is the transcript's (dialog.h): every step looks at the state, does one thing, and appends
 * what happened, so that it can be broken off and taken up anywhere. */
#include "run.h"
#include "arm.h"
#include "child.h"
#include "clock.h"
#include "file.h"
#include "kept.h"
#include "prompt.h"
#include "sandbox.h"
#include "task.h"
#include "toolrun.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CALLS_MAX = 32,		/* tool calls run per reply */
	SILENT_MAX = 3,		/* replies in a row without a tool call */
	LOW = 10,		/* turns left from which on the model is told */
	GREW = 8192		/* bytes that must show up in a server's count of tokens */
};

static double elapsed(const struct run *r)
{
	return r->before + clock_now() - r->began;
}

/* Opening --------------------------------------------------------------------------------------------------------- */

static int read_trial(struct run *r, struct err *e)
{
	const struct record *rec = r->record;
	const char *system, *user;
	struct hash_parts h = { BUF_INIT };

	if (!record_str(rec, "id", r->id, sizeof r->id) || !task_is_name(r->id))
		return err_set(e, "no usable 'id'");
	if (!record_str(rec, "task", r->task, sizeof r->task) || !task_is_name(r->task))
		return err_set(e, "no usable 'task'");
	if (!record_str(rec, "arm", r->arm, sizeof r->arm) || arm_find(r->arm) < 0)
		return err_set(e, "no usable 'arm'");
	if (!record_str(rec, "model", r->model_name, sizeof r->model_name))
		return err_set(e, "no usable 'model'");
	r->prompt = record_get(rec, "prompt", e);
	system = json_get_str(r->prompt, "system");
	user = json_get_str(r->prompt, "user");
	r->budget = r->o->turns ? r->o->turns : json_get_int(r->prompt, "turns", 0);
	if (!system || !user || r->budget <= 0)
		return err_set(e, "no usable 'prompt'");
	r->design = arm_find(r->arm) == ARM_DESIGN;
	if (toolbox_open(&r->box, r->design, e))
		return -1;
	buf_addstr(&r->user, user);
	if (r->budget != json_get_int(r->prompt, "turns", 0)) {	/* the prompt names another number */
		buf_addstr(&r->user, "\n\n");
		toolbox_text(&r->box, "budget", 0, r->budget, 0, &r->user);
	}
	hash_partstr(&h, "system", system);
	hash_partstr(&h, "user", r->user.data);
	hash_done(&h, r->prompt_hash);
	return 0;
}

/* Both arms of a pair promise the same task, workloads, tools and texts: refuse a trial made from others. */
static int check_shared(const struct run *r, struct err *e)
{
	const char *promised = json_get_str(r->prompt, "shared_hash"), *target = json_get_str(r->prompt, "target");
	struct task t;
	struct workload *w = NULL;
	struct prompt p;
	int n = 0, failed;

	if (task_load(&t, r->task, e))
		return -1;
	failed = workloads_load(&t, &w, &n, e);
	if (!failed && promised && target) {
		failed = prompt_make(&p, &t, w, n, target, json_get_int(r->prompt, "turns", 0), e);
		if (!failed) {
			if (strcmp(p.shared, promised))
				failed = err_set(e, "the task or the agent's texts changed since the trial was made");
			prompt_release(&p);
		}
	}
	workloads_free(w, n);
	task_release(&t);
	return failed ? -1 : 0;
}

/* What the agent finds when it begins. */
static int fill_workspace(const struct run *r, struct err *e)
{
	char *path = file_in_root("workloads/%s.jsonl", r->task);
	struct buf text = BUF_INIT;
	int failed = file_read(path, &text, e) ||
		     workspace_write(&r->work, "workloads.jsonl", text.data, text.len, e) ||
		     workspace_write(&r->work, "task.md", r->user.data, r->user.len, e);

	buf_release(&text);
	free(path);
	return failed ? -1 : 0;
}

static int begin(struct run *r, struct err *e)
{
	const struct dialog_start s = { r->id, r->model_name, model_id(r->model), model_kind(r->model), r->prompt_hash };
	struct buf line = BUF_INIT;

	if (!r->design && fill_workspace(r, e))
		return -1;
	dialog_emit_start(&line, &s);
	return dialog_add(&r->d, &r->log, &line, e);
}

/* RUNS/ID becomes RUNS/ID.1, or the first number that is free. */
static int set_aside(const char *dir, struct err *e)
{
	char *to = NULL;
	int failed;

	for (int i = 1; !to || file_exists(to); i++) {
		free(to);
		to = xasprintf("%s.%d", dir, i);
	}
	failed = rename(dir, to) ? err_set(e, "cannot rename '%s':", dir) : 0;
	free(to);
	return failed;
}

static enum run_end open_log(struct run *r, struct err *e)
{
	enum transcript_end end = transcript_open(&r->log, r->dir, e);

	dialog_release(&r->d);
	dialog_init(&r->d, json_get_str(r->prompt, "system"), r->user.data);
	if (end != TRANSCRIPT_OK)
		return end == TRANSCRIPT_BUSY ? RUN_AGAIN : RUN_BAD;
	return dialog_resume(&r->d, &r->log, e) ? RUN_BAD : RUN_DONE;
}

/* A run goes on only with what it began with. */
static int check_same(const struct run *r, struct err *e)
{
	if (strcmp(r->d.prompt, r->prompt_hash))
		return err_set(e, "'%s' holds a run with another prompt; move it away", r->dir);
	if (!r->d.ended && strcmp(r->d.model_kind, model_kind(r->model)))
		return err_set(e, "'%s' holds a run begun with other parameters or script of model '%s'; move it away",
			       r->dir, r->model_name);
	return 0;
}

enum run_end run_open(struct run *r, const struct run_options *o, const struct record *record, bool again,
		      struct err *e)
{
	enum run_end end;
	char *work;

	memset(r, 0, sizeof *r);
	r->o = o;
	r->record = record;
	r->work.fd = r->log.fd = r->log.lock = -1;
	r->began = clock_now();
	if (read_trial(r, e) || check_shared(r, e) || (!r->design && sandbox_works(e)))
		return RUN_BAD;
	r->model = model_open(o->models, r->model_name, r->task, r->arm, e);
	if (!r->model)
		return RUN_BAD;
	model_limits(r->model, o->max_wait, o->request_timeout);
	r->dir = xasprintf("%s/%s", o->runs, r->id);
	end = open_log(r, e);
	if (end == RUN_DONE && again && r->d.ended) {
		if (set_aside(r->dir, e))
			return RUN_BAD;
		transcript_close(&r->log);
		end = open_log(r, e);
	}
	if (end != RUN_DONE)
		return end;
	work = xasprintf("%s/work", r->dir);
	if (workspace_open(&r->work, work, e))
		end = RUN_BAD;
	free(work);
	r->resumed = r->d.started;
	r->before = r->d.elapsed;
	if (end == RUN_DONE && (r->d.started ? check_same(r, e) : begin(r, e)))
		end = RUN_BAD;
	return end;
}

void run_release(struct run *r)
{
	dialog_release(&r->d);
	transcript_close(&r->log);
	workspace_release(&r->work);
	toolbox_release(&r->box);
	model_close(r->model);
	json_free(r->prompt);
	buf_release(&r->user);
	free(r->dir);
}

/* Ending ---------------------------------------------------------------------------------------------------------- */

/* What is handed in: the submission; else the source of the last check that found it correct; else what was written
 * last. sha is "" when there is nothing. */
static const char *choose(const struct run *r, char sha[HASH_HEX], struct err *e)
{
	struct buf text = BUF_INIT;
	const char *chosen_by = "none";

	sha[0] = '\0';
	if (*r->d.submitted) {
		strcpy(sha, r->d.submitted);
		chosen_by = "submit";
	} else if (*r->d.last_correct) {
		strcpy(sha, r->d.last_correct);
		chosen_by = "last_correct_check";
	} else if (!r->design && !kept_source(&r->work, "submission.py", &text, NULL)) {
		chosen_by = kept_put(r->dir, &text, sha, e) ? NULL : "last_write";
	}
	buf_release(&text);
	return chosen_by;
}

static enum run_end finish(struct run *r, const char *status, const char *reason, struct err *e)
{
	char sha[HASH_HEX];
	const char *chosen_by = choose(r, sha, e);
	struct buf line = BUF_INIT;

	if (!chosen_by)
		return RUN_BAD;
	dialog_emit_end(&line, status, reason, chosen_by, sha, elapsed(r));
	return dialog_add(&r->d, &r->log, &line, e) ? RUN_BAD : RUN_DONE;
}

/* The design arm's plain reply is the design. */
static enum run_end finish_design(struct run *r, struct err *e)
{
	struct buf text = BUF_INIT;
	int failed;

	buf_addstr(&text, r->d.content);
	failed = kept_put(r->dir, &text, r->d.submitted, e);
	buf_release(&text);
	return failed ? RUN_BAD : finish(r, "submitted", "a reply in words", e);
}

/* Answering ------------------------------------------------------------------------------------------------------- */

/* Tells how little is left of the budget. */
static void add_low(const struct run *r, struct buf *text)
{
	long long left = r->budget - r->d.turns;

	if (r->design || *r->d.submitted || left > LOW || left < 1)
		return;
	buf_addstr(text, "\n\n");
	toolbox_text(&r->box, "low", left, r->budget, 0, text);
}

static enum run_end answer(struct run *r, int i, struct dialog_result *result, struct err *e)
{
	const struct toolrun t = { &r->box, &r->work, r->dir, &r->o->evaluator, r->record };
	const struct dialog_call *call = &r->d.calls[i];
	struct buf line = BUF_INIT;

	result->speedup = NAN;
	if (r->resumed)
		toolbox_text(&r->box, "interrupted", 0, 0, 0, &result->text);
	else if (i >= CALLS_MAX)
		toolbox_text(&r->box, "too_many", 0, 0, CALLS_MAX, &result->text);
	else if (*r->d.submitted)
		toolbox_text(&r->box, "finished", 0, 0, 0, &result->text);
	else if (toolrun(&t, call, result, e) == TOOLRUN_AWAY)
		return RUN_AGAIN;
	if (i == r->d.ncalls - 1 && !*result->submitted)
		add_low(r, &result->text);
	dialog_emit_result(&line, &r->d, call, result, elapsed(r));
	return dialog_add(&r->d, &r->log, &line, e) ? RUN_BAD : RUN_DONE;
}

static enum run_end answer_calls(struct run *r, struct err *e)
{
	enum run_end end = RUN_DONE;

	for (int i = 0; i < r->d.ncalls && end == RUN_DONE; i++) {
		struct dialog_result result = { .text = BUF_INIT };

		if (!r->d.calls[i].answered)
			end = answer(r, i, &result, e);
		buf_release(&result.text);
	}
	return end;
}

static enum run_end nudge(struct run *r, struct err *e)
{
	bool cut_off = r->d.finish && !strcmp(r->d.finish, "length");
	struct buf text = BUF_INIT, line = BUF_INIT;
	int failed;

	toolbox_text(&r->box, r->design ? "nudge_design" : cut_off ? "cut_off" : "nudge", 0, 0, 0, &text);
	add_low(r, &text);
	dialog_emit_note(&line, text.data, elapsed(r));
	failed = dialog_add(&r->d, &r->log, &line, e);
	buf_release(&text);
	return failed ? RUN_BAD : RUN_DONE;
}

/* Asking ---------------------------------------------------------------------------------------------------------- */

static long long tokens_in(const struct usage *u)
{
	return u->fresh_in < 0 || u->cache_read < 0 || u->cache_write < 0 ? -1 : u->fresh_in + u->cache_read + u->cache_write;
}

/* A server that drops the front of a long conversation says so only by counting no more tokens than before. */
static bool server_forgets(struct run *r, size_t bytes, const struct usage *u)
{
	long long tokens = tokens_in(u);
	bool forgets = r->asked_bytes && bytes >= r->asked_bytes + GREW && tokens >= 0 && tokens <= r->asked_tokens;

	r->asked_bytes = tokens < 0 ? 0 : bytes;
	r->asked_tokens = tokens;
	return forgets;
}

static enum run_end ask(struct run *r, struct err *e)
{
	struct model_reply reply;
	struct buf line = BUF_INIT;
	size_t bytes = r->d.messages.len;
	enum run_end end;

	switch (model_ask(r->model, &r->d.messages, &r->box.offered, NULL, r->d.turns, &reply, e)) {
	case MODEL_OK:
		dialog_emit_reply(&line, &r->d, &reply, elapsed(r));
		end = dialog_add(&r->d, &r->log, &line, e) ? RUN_BAD : RUN_DONE;
		if (end == RUN_DONE && server_forgets(r, bytes, &reply.usage))
			end = finish(r, "overflow", "the server drops the front of the conversation", e);
		break;
	case MODEL_AGAIN:
		end = RUN_AGAIN;
		break;
	case MODEL_OVERFLOW:
		end = finish(r, "overflow", e->text, e);
		break;
	case MODEL_SCRIPT_END:
		end = finish(r, "script_end", e->text, e);
		break;
	default:
		warn("%s: %s", r->id, e->text);
		end = finish(r, "failed", e->text, e);
	}
	model_reply_release(&reply);
	return end;
}

static void show_progress(const struct run *r)
{
	const struct dialog *d = &r->d;
	char names[200] = "";
	size_t len = 0;

	if (!r->o->progress || !d->turns)
		return;
	for (int i = 0; i < d->ncalls && len < sizeof names - 1; i++)
		len += (size_t)snprintf(names + len, sizeof names - len, " %s", d->calls[i].name);
	warn("%s %s %s: turn %d of %lld:%s%s (%.1f s)", r->id, r->task, r->arm, d->turns, r->budget,
	     d->ncalls ? names : " no tool call", d->ended ? ", ended" : "", elapsed(r));
}

/* Whether the state ends the run; limits are looked at before a request, never in the middle of a turn. */
static const char *ending(const struct run *r, const char **reason)
{
	const struct dialog *d = &r->d;
	long long context = model_context(r->model), used = tokens_in(&d->last);

	*reason = NULL;
	if (*d->submitted)
		return "submitted";
	if (d->silent >= SILENT_MAX) {
		*reason = "replies without a tool call";
		return "no_tool_calls";
	}
	if (d->turns >= r->budget) {
		*reason = "turns used up";
		return "budget";
	}
	if (r->o->timeout > 0 && elapsed(r) >= r->o->timeout) {
		*reason = "time used up";
		return "budget";
	}
	if (context > 0 && used >= 0 && d->last.out >= 0 && used + d->last.out >= context) {
		*reason = "the context is full";
		return "overflow";
	}
	return NULL;
}

static bool has_open_calls(const struct dialog *d)
{
	return d->ncalls && !d->calls[d->ncalls - 1].answered;
}

static enum run_end step(struct run *r, struct err *e)
{
	struct dialog *d = &r->d;
	const char *reason, *status;

	if (has_open_calls(d))
		return answer_calls(r, e);
	r->resumed = false;
	if (d->turns && !d->spoken_to && r->design && d->content && d->content[strspn(d->content, " \t\r\n")])
		return finish_design(r, e);
	status = ending(r, &reason);
	if (status)
		return finish(r, status, reason, e);
	if (!d->spoken_to)
		return nudge(r, e);
	return ask(r, e);
}

enum run_end run_work(struct run *r, struct err *e)
{
	enum run_end end = RUN_DONE;
	int shown = r->d.turns;

	while (!r->d.ended && end == RUN_DONE) {
		if (child_interrupted) {
			err_set(e, "interrupted");
			return RUN_AGAIN;
		}
		end = step(r, e);
		if (r->d.turns > shown && (r->d.spoken_to || r->d.ended)) {	/* the turn is over */
			show_progress(r);
			shown = r->d.turns;
		}
	}
	return end;
}
