/* The agent loop. Its state is the transcript's (dialog.h): every step looks at the state, does one thing, and appends
 * what happened, so that it can be broken off and taken up anywhere. */
#include "run.h"
#include "child.h"
#include "clock.h"
#include "kept.h"
#include "toolrun.h"
#include <math.h>
#include <stdio.h>
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

/* Ending ---------------------------------------------------------------------------------------------------------- */

/* What is handed in: the submission; else the source of the last check that found it correct; else what was written
 * last. sha is "" when there is nothing. */
static const char *choose(const struct run *r, char sha[HASH_HEX], struct err *e)
{
	struct buf text = BUF_INIT;
	const char *chosen_by = "none";

	sha[0] = '\0';
	if (*r->d.submitted) {
		memcpy(sha, r->d.submitted, HASH_HEX);
		chosen_by = "submit";
	} else if (*r->d.last_correct) {
		memcpy(sha, r->d.last_correct, HASH_HEX);
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
