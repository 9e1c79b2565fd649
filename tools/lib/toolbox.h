/* The tools as the model sees them: tools/agent/tools.json holds their definitions and every other text the loop puts
 * in front of a model, so that one file's hash covers all of it. Arguments are checked against the definition before a
 * tool runs. */
#ifndef TOOLBOX_H
#define TOOLBOX_H
#include "buf.h"
#include "die.h"
#include "json.h"

struct toolbox {
	struct json *file;
	const struct json *tools;	/* those offered */
	struct buf offered;		/* the same as JSON text, for requests */
};

/* design: the arm that asks for words only. */
int toolbox_open(struct toolbox *t, bool design, struct err *e);
void toolbox_release(struct toolbox *t);
/* The name of tool i, NULL past the last. */
const char *toolbox_name(const struct toolbox *t, int i);
/* The arguments of a call, parsed and checked; NULL, with words for the model in e, when the tool is not offered or the
 * arguments are not what its definition says. The caller frees. */
struct json *toolbox_arguments(const struct toolbox *t, const char *name, const char *text, struct err *e);
/* Appends a text with {left}, {turns} and {calls} filled in. */
void toolbox_text(const struct toolbox *t, const char *key, long long left, long long turns, long long calls,
		  struct buf *out);
#endif
