/* Opening a run: the trial read and checked, the model opened, the run's folder locked and what it has read, or a new
 * one begun. And closing it. */
#include "run.h"
#include "arm.h"
#include "clock.h"
#include "file.h"
#include "prompt.h"
#include "sandbox.h"
#include "task.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
