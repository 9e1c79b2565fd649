/* Running one tool call of the agent: arguments checked, work done, answer in words. Whatever a model sends ends in an
 * answer; only an evaluator that is away (or an interrupt) leaves a call open. */
#ifndef TOOLRUN_H
#define TOOLRUN_H
#include "dialog.h"
#include "evaluate.h"
#include "toolbox.h"
#include "workspace.h"

struct toolrun {
	const struct toolbox *box;
	const struct workspace *work;
	const char *dir;		/* the run's folder, outside the workspace */
	const struct evaluator *evaluator;
	const struct record *trial;
};

enum toolrun_end { TOOLRUN_ANSWERED, TOOLRUN_AWAY };
enum toolrun_end toolrun(const struct toolrun *t, const struct dialog_call *call, struct dialog_result *r,
			 struct err *e);

/* What a run can hand in lies in its folder: a source by its hash, the text of a design likewise. */
int toolrun_keep(const char *dir, const struct buf *text, char sha[HASH_HEX], struct err *e);
/* 0, or -1 when it is missing or is not what its name says. */
int toolrun_kept(const char *dir, const char *sha, struct buf *out, struct err *e);
/* The submission as it lies in the workspace: text in UTF-8, not empty, at most 1 MiB. */
int toolrun_source(const struct workspace *w, const char *path, struct buf *out, struct err *e);
#endif
