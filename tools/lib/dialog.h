/* The state of a run as a function of its transcript. Each event is written by a dialog_emit_*() and read by
 * one function, for a new event as for one from the file, so a resumed run stands exactly where the first one did:
 *
 *     {"event":"start","version":1,"tool":..,"id":..,"model":..,"model_id":..,"model_kind":..,"prompt":SHA}
 *     {"event":"reply","turn":n,"elapsed":s,"attempts":n,"request":{..},"finish":..,"usage":{..},"content":..,
 *      "calls":[{"id","name","arguments"}],"message":{..}}
 *     {"event":"result","turn":n,"elapsed":s,"id":..,"name":..,"ok":..,"text":..,"check":{..},"submitted":SHA}
 *     {"event":"note","elapsed":s,"text":..}              a user message that is no answer to a call
 *     {"event":"end","elapsed":s,"status":..,"reason":..,"chosen_by":..,"source":SHA or null}
 *
 * elapsed counts seconds of work over all processes that had a part in the run. */
#ifndef DIALOG_H
#define DIALOG_H
#include "hash.h"
#include "model.h"
#include "transcript.h"
#include <stdbool.h>

struct dialog_call {
	char *id, *name, *arguments;	/* arguments as the model sent them */
	bool answered;
};

struct dialog_count {
	char *name;
	int n;
};

struct dialog {
	struct buf messages;		/* the conversation, a JSON array */
	int turns;			/* replies so far */
	int silent;			/* replies without a tool call, in a row */
	bool spoken_to;			/* the model has something to answer: its last reply is followed by a message */
	char *content;			/* words of the last reply, or NULL */
	char *finish;			/* of the last reply, or NULL */
	struct dialog_call *calls;	/* of the last reply, in order */
	int ncalls;
	struct usage usage;		/* sum over all replies */
	struct usage last;		/* of the last reply */
	int attempts;
	double elapsed;
	struct dialog_count *counts;	/* calls by name */
	int ncounts;
	struct buf checks;		/* JSON array, for the record */
	char last_correct[HASH_HEX];	/* source of the last check that found it correct, or "" */
	char submitted[HASH_HEX];	/* what was handed in, or "" */
	bool started, ended;
	char *prompt, *model_kind;	/* from start */
	char *status, *reason, *chosen_by;	/* from end */
	char source[HASH_HEX];
};

void dialog_init(struct dialog *d, const char *system, const char *user);
void dialog_release(struct dialog *d);
/* Reads what the transcript has. */
int dialog_resume(struct dialog *d, struct transcript *t, struct err *e);
/* Appends an event to the transcript, then applies it. Releases line. */
int dialog_add(struct dialog *d, struct transcript *t, struct buf *line, struct err *e);
int dialog_count_of(const struct dialog *d, const char *name);

struct dialog_start {
	const char *id, *model, *model_id, *model_kind, *prompt;
};
void dialog_emit_start(struct buf *out, const struct dialog_start *s);
void dialog_emit_reply(struct buf *out, const struct dialog *d, const struct model_reply *r, double elapsed);

/* The answer to one call. */
struct dialog_result {
	bool ok;
	struct buf text;		/* what the model is told */
	char check[32];			/* status of a check, or "" */
	double speedup;			/* of a check; NaN when it has none */
	char source[HASH_HEX];		/* what the check looked at */
	char submitted[HASH_HEX];	/* what was handed in, or "" */
};
void dialog_emit_result(struct buf *out, const struct dialog *d, const struct dialog_call *call,
			const struct dialog_result *r, double elapsed);
void dialog_emit_note(struct buf *out, const char *text, double elapsed);
void dialog_emit_end(struct buf *out, const char *status, const char *reason, const char *chosen_by,
		     const char *source, double elapsed);
#endif
