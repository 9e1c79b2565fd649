/* Asks the judge and writes down what it said, or why that is no score. */
#include "judging.h"
#include "emit.h"
#include "hash.h"
#include "opt.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_KEPT = 4096 };	/* bytes of an unreadable answer that go into the record */

static const char *const status_name[] = {
	[JUDGING_SCORED] = "scored",
	[JUDGING_UNSCORED] = "unscored",
	[JUDGING_NOTHING] = "nothing_to_judge",
};

int judging_start(struct judging *j, const struct guidance *g, struct err *e)
{
	int r = 1;

	j->usage = (struct usage)USAGE_UNKNOWN;
	if (j->material)
		r = inquiry_make(&j->inquiry, j->kind, g, j->material, &j->reason);
	else
		err_set(&j->reason, "the agent handed in no %s", j->kind == INQUIRY_DESIGN ? "design" : "source");
	j->status = r > 0 ? JUDGING_NOTHING : JUDGING_UNSCORED;
	return r < 0 ? err_set(e, "%s", j->reason.text) : 0;
}

/* Vendors' words for "the limit on tokens was reached". */
static bool was_cut_off(const char *finish)
{
	return finish && (!strcmp(finish, "length") || !strcmp(finish, "max_tokens"));
}

static int read_answer(struct judging *j, const struct guidance *g, const struct model_reply *r)
{
	free(j->answer);
	j->answer = r->content ? xstrdup(r->content) : NULL;
	if (was_cut_off(r->finish))
		return err_set(&j->reason, "the answer was cut off");
	if (!r->content || !*r->content)
		return err_set(&j->reason, "no answer (finish reason '%s')", r->finish ? r->finish : "none");
	return verdicts_read(&j->verdicts, r->content, g, &j->inquiry.text, &j->reason);
}

/* Adds the unreadable answer, and the wish for a better one, to the conversation. */
static void add_complaint(struct buf *messages, const struct model_reply *r, const struct err *why)
{
	char *text = xasprintf("That answer cannot be used: %s. Answer again with exactly one JSON object as "
			       "described, with one entry for every property, and nothing else.", why->text);

	messages->len--;	/* the list's ']' */
	emit_raw(messages, r->message, strlen(r->message));
	emit_open(messages, '{');
	emit_kstr(messages, "role", "user");
	emit_kstr(messages, "content", text);
	emit_close(messages, '}');
	emit_close(messages, ']');
	free(text);
}

/* One answer taken in; the status tells whether it could be read. */
static void take_answer(struct judging *j, const struct guidance *g, const struct model_reply *r, struct buf *messages)
{
	if (j->asked++)
		usage_add(&j->usage, &r->usage);
	else
		j->usage = r->usage;
	j->requests += r->attempts;
	if (!read_answer(j, g, r))
		j->status = JUDGING_SCORED;
	else if (r->message)
		add_complaint(messages, r, &j->reason);
}

enum model_end judging_ask(struct judging *j, struct model *m, const struct guidance *g, int retries, struct err *e)
{
	struct buf messages = BUF_INIT;
	enum model_end end = MODEL_OK;

	inquiry_messages(&j->inquiry, &messages);
	while (j->status == JUDGING_UNSCORED && j->asked <= retries && end == MODEL_OK) {
		struct model_reply r = { 0 };

		end = model_ask(m, &messages, NULL, NULL, j->asked, &r, e);
		if (end == MODEL_OK)
			take_answer(j, g, &r, &messages);
		model_reply_release(&r);
	}
	buf_release(&messages);
	if (end == MODEL_SCRIPT_END && j->asked)
		return MODEL_OK;	/* a script without a second try */
	if (end != MODEL_OVERFLOW)
		return end;
	err_set(&j->reason, "the request does not fit the judge's context: %s", e->text);
	return MODEL_OK;
}

static void emit_result(struct buf *out, const struct judging *j, const struct guidance *g)
{
	struct verdict_scores plain, gated;

	if (j->status != JUDGING_SCORED) {
		emit_knull(out, "verdicts");
		emit_knull(out, "scores");
		emit_knull(out, "gated");
		return;
	}
	verdicts_score(&j->verdicts, g, false, &plain);
	verdicts_score(&j->verdicts, g, true, &gated);
	emit_key(out, "verdicts");
	verdicts_emit(out, &j->verdicts, g);
	emit_key(out, "scores");
	verdict_scores_emit(out, &plain);
	emit_key(out, "gated");
	verdict_scores_emit(out, &gated);
}

/* For people who ask why there is no score. */
static void emit_unreadable(struct buf *out, const struct judging *j)
{
	size_t n = j->answer ? strlen(j->answer) : 0;

	if (j->status == JUDGING_UNSCORED && n)
		emit_kstrn(out, "answer", j->answer, n < ANSWER_KEPT ? n : ANSWER_KEPT);
	else
		emit_knull(out, "answer");
}

static void emit_cost(struct buf *out, const struct judging *j, const struct model *m)
{
	emit_key(out, "usage");
	usage_emit(out, &j->usage);
	emit_knum(out, "cost_usd", j->asked ? model_cost(m, &j->usage) : NAN);
	emit_kint(out, "attempts", j->asked);
	emit_kint(out, "requests", j->requests);
}

void judging_emit(struct buf *out, const struct judging *j, const char *name, const struct model *m,
		  const struct guidance *g)
{
	char hash[HASH_HEX];

	if (j->material)
		hash_hex(j->material, strlen(j->material), hash);
	emit_open(out, '{');
	emit_kstr(out, "tool", "d2k-judge " D2K_VERSION);
	emit_kstr(out, "kind", inquiry_kind_name[j->kind]);
	emit_kstr(out, "status", status_name[j->status]);
	emit_kstr(out, "reason", j->status == JUDGING_SCORED ? NULL : j->reason.text);
	emit_kstr(out, "judge", name);
	emit_kstr(out, "judge_id", model_id(m));
	emit_kstr(out, "judge_hash", model_hash(m));
	emit_kstr(out, "source_sha256", j->material ? hash : NULL);
	emit_kstr(out, "properties_sha256", g->hash);
	emit_kstr(out, "request_sha256", j->status == JUDGING_NOTHING ? NULL : j->inquiry.hash);
	emit_result(out, j, g);
	emit_unreadable(out, j);
	emit_cost(out, j, m);
	emit_close(out, '}');
}

void judging_release(struct judging *j)
{
	inquiry_release(&j->inquiry);
	verdicts_release(&j->verdicts);
	free(j->answer);
}
