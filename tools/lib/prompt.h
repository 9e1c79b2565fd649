/* What an agent is told about a task, apart from guidance: the text is made once per task and the guidance block set in
 * between byte for byte, so that the arms of a pair cannot differ anywhere else.
 *
 * user prompt = head, guidance block (may be empty), then work or design. */
#ifndef PROMPT_H
#define PROMPT_H
#include "buf.h"
#include "die.h"
#include "hash.h"
#include "task.h"

struct prompt {
	const char *target;	/* borrowed */
	long long turns;
	struct buf system;	/* who the reader is, what counts, the device */
	struct buf head;	/* task.md, the interface and workloads, how a submission looks */
	struct buf work;	/* how to work with the tools, and the budget */
	struct buf design;	/* instead of work: hand in a design in words */
	char text[HASH_HEX];	/* of the task as told: task.md, interface, workloads */
	char tools[HASH_HEX];	/* of all other text, holes unfilled, and of the agent's tools */
	char shared[HASH_HEX];	/* over text, workloads, oracle, tools, target, turns */
};

/* turns: the agent's budget. target: "sm_90"; tools/prompt/TARGET.md describes its device. */
int prompt_make(struct prompt *p, const struct task *t, const struct workload *w, int n, const char *target,
		long long turns, struct err *e);
void prompt_release(struct prompt *p);
/* Appends a number with the fewest digits that read back as the same double: 1e-06, 8192. */
void prompt_number(struct buf *out, double x);
#endif
