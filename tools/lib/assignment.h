/* What one arm of one task asks for: the prompt with the arm's guidance in it. The records made of it differ only by
 * model and repeat. */
#ifndef ASSIGNMENT_H
#define ASSIGNMENT_H
#include "arm.h"
#include "guidance.h"
#include "prompt.h"

struct assignment {
	enum arm arm;
	const struct task *task;
	const struct prompt *prompt;
	const char *guidance;		/* hash of the guidance given, or NULL */
	struct buf user;		/* the user prompt */
	struct buf missing;		/* requirements the arm leaves out, a JSON array */
};

/* Task, prompt and guidance must live on. */
void assignment_make(struct assignment *a, enum arm arm, const struct task *t, const struct prompt *p,
		     const struct guidance *g);
/* Appends the record of a trial, without a newline. */
void assignment_emit(struct buf *out, const struct assignment *a, const char *model, long long repeat);
void assignment_release(struct assignment *a);
#endif
