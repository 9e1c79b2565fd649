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
#endif
