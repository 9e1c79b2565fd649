/* Puts the guidance into the prompt, and writes the records that d2k-prompt makes. */
#include "assignment.h"
#include "emit.h"
#include "opt.h"
#include <stdlib.h>

static void add_missing(const char *id, const char *needs, void *missing)
{
	char *line = xasprintf("%s requires %s", id, needs);

	emit_str(missing, line);
	free(line);
}

void assignment_make(struct assignment *a, enum arm arm, const struct task *t, const struct prompt *p,
		     const struct guidance *g)
{
	unsigned levels = arm_levels[arm];

	*a = (struct assignment){ .arm = arm, .task = t, .prompt = p, .guidance = levels ? g->hash : NULL };
	buf_addbuf(&a->user, &p->head);
	guidance_text(g, levels, &a->user);
	if (levels)
		buf_addstr(&a->user, "\n");
	buf_addbuf(&a->user, arm == ARM_DESIGN ? &p->design : &p->work);
	emit_open(&a->missing, '[');
	guidance_missing(g, levels, add_missing, &a->missing);
	emit_close(&a->missing, ']');
}

void assignment_release(struct assignment *a)
{
	buf_release(&a->user);
	buf_release(&a->missing);
}

/* What the arms of a pair must have in common. */
static void emit_shared(struct buf *out, const struct assignment *a)
{
	const struct prompt *p = a->prompt;

	emit_open(out, '{');
	emit_kstr(out, "task_text", p->text);
	emit_kstr(out, "workloads", a->task->workloads_hash);
	emit_kstr(out, "oracle", a->task->oracle_hash);
	emit_kstr(out, "tools", p->tools);
	emit_kstr(out, "target", p->target);
	emit_kint(out, "turns", p->turns);
	emit_close(out, '}');
}

static void emit_prompt(struct buf *out, const struct assignment *a)
{
	const struct prompt *p = a->prompt;

	emit_open(out, '{');
	emit_kstr(out, "tool", "d2k-prompt " D2K_VERSION);
	emit_kstrn(out, "system", p->system.data, p->system.len);
	emit_kstrn(out, "user", a->user.data, a->user.len);
	emit_kint(out, "turns", p->turns);
	emit_kstr(out, "target", p->target);
	emit_kstr(out, "guidance", a->guidance);
	emit_kraw(out, "missing", a->missing.data, a->missing.len);
	emit_key(out, "shared");
	emit_shared(out, a);
	emit_kstr(out, "shared_hash", p->shared);
	emit_close(out, '}');
}

/* The id is a function of the trial's content alone: the same command makes the same trials tomorrow. */
static void trial_id(const struct assignment *a, const char *model, long long repeat, char hex[HASH_HEX])
{
	struct hash_parts h = { BUF_INIT };

	hash_partstr(&h, "task", a->task->name);
	hash_partstr(&h, "arm", arm_name[a->arm]);
	hash_partstr(&h, "model", model);
	hash_part(&h, "repeat", &repeat, sizeof repeat);
	hash_part(&h, "system", a->prompt->system.data, a->prompt->system.len);
	hash_part(&h, "user", a->user.data, a->user.len);
	hash_partstr(&h, "shared", a->prompt->shared);
	hash_done(&h, hex);
	hex[16] = '\0';
}

void assignment_emit(struct buf *out, const struct assignment *a, const char *model, long long repeat)
{
	char id[HASH_HEX];

	trial_id(a, model, repeat, id);
	emit_open(out, '{');
	emit_kstr(out, "id", id);
	emit_kstr(out, "task", a->task->name);
	emit_kstr(out, "arm", arm_name[a->arm]);
	emit_key(out, "levels");
	emit_open(out, '[');
	for (int level = 0; level < LEVELS; level++)
		if (arm_levels[a->arm] >> level & 1)
			emit_str(out, level_name[level]);
	emit_close(out, ']');
	emit_kstr(out, "model", model);
	emit_kint(out, "repeat", repeat);
	emit_key(out, "prompt");
	emit_prompt(out, a);
	emit_close(out, '}');
}
