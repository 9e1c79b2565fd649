/* The section `agent` of a run that has ended. */
#include "emit.h"
#include "kept.h"
#include "opt.h"
#include "run.h"
#include <string.h>

static void emit_counts(const struct run *r, struct buf *out)
{
	int known = 0, all = 0;
	const char *name;

	emit_key(out, "tool_calls");
	emit_open(out, '{');
	for (int i = 0; (name = toolbox_name(&r->box, i)); i++) {
		known += dialog_count_of(&r->d, name);
		emit_kint(out, name, dialog_count_of(&r->d, name));
	}
	for (int i = 0; i < r->d.ncounts; i++)
		all += r->d.counts[i].n;
	emit_kint(out, "unknown", all - known);
	emit_close(out, '}');
}

int run_section(const struct run *r, struct buf *out, struct err *e)
{
	const struct dialog *d = &r->d;
	struct buf text = BUF_INIT;
	char sha[HASH_HEX];

	if ((*d->source && kept_get(r->dir, d->source, &text, e)) || transcript_hash(&r->log, sha, e)) {
		buf_release(&text);
		return -1;
	}
	emit_open(out, '{');
	emit_kstr(out, "tool", "d2k-agent " D2K_VERSION);
	emit_kstr(out, "status", d->status);
	emit_kstr(out, "reason", d->reason);
	emit_kstr(out, "chosen_by", d->chosen_by);
	emit_kstrn(out, "submission", r->design ? NULL : text.data, text.len);
	emit_kstrn(out, "design", r->design ? text.data : NULL, text.len);
	emit_kstr(out, "submission_sha256", *d->source ? d->source : NULL);
	emit_kint(out, "turns", d->turns);
	emit_kint(out, "budget", r->budget);
	emit_counts(r, out);
	emit_kraw(out, "checks", d->checks.data, d->checks.len);
	emit_key(out, "usage");
	usage_emit(out, &d->usage);
	emit_knum(out, "cost_usd", model_cost(r->model, &d->usage));
	emit_kstr(out, "model_id", model_id(r->model));
	emit_kstr(out, "model_hash", model_hash(r->model));
	emit_kint(out, "attempts", d->attempts);
	emit_knum(out, "wall_s", d->elapsed);
	emit_kstr(out, "transcript", r->log.path);
	emit_kstr(out, "transcript_sha256", sha);
	emit_close(out, '}');
	buf_release(&text);
	return 0;
}
