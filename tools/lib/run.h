/* One trial worked through: the loop of request, reply, tool calls and answers, from the transcript's last whole event
 * to the end of the run. The run's folder is RUNS/ID: transcript.jsonl, lock, work/ (the agent's workspace), kept/
 * (sources that were checked or handed in, by hash). */
#ifndef RUN_H
#define RUN_H
#include "buf.h"
#include "dialog.h"
#include "evaluate.h"
#include "model.h"
#include "record.h"
#include "toolbox.h"
#include "workspace.h"
#include <stdbool.h>

struct run_options {
	const char *runs, *models;
	struct evaluator evaluator;
	long long turns;		/* 0: as the prompt says */
	double timeout;			/* seconds of work on one trial */
	double max_wait, request_timeout;
	bool progress;			/* a line per turn on stderr */
};

struct run {
	const struct run_options *o;
	const struct record *record;
	char id[65], task[128], arm[64], model_name[256];
	bool design;			/* words only */
	long long budget;		/* turns */
	struct json *prompt;
	struct buf user;		/* the first message */
	char prompt_hash[HASH_HEX];
	char *dir;
	struct model *model;
	struct toolbox box;
	struct workspace work;
	struct transcript log;
	struct dialog d;
	bool resumed;			/* calls open from an earlier process are not run again */
	double began, before;		/* clock, and seconds worked by earlier processes */
	size_t asked_bytes;		/* the last request in this process, to notice a server that forgets */
	long long asked_tokens;
};

enum run_end { RUN_DONE, RUN_BAD, RUN_AGAIN };

/* Everything up to the first request. again: a finished run in the folder is set aside and a new one begun. */
enum run_end run_open(struct run *r, const struct run_options *o, const struct record *record, bool again,
		      struct err *e);
/* Works until the run has ended. */
enum run_end run_work(struct run *r, struct err *e);
/* Appends the record's section for an ended run. */
int run_section(const struct run *r, struct buf *out, struct err *e);
void run_release(struct run *r);
#endif
