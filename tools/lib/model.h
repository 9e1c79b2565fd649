/* A language model behind one small interface: a chat endpoint, or a script of replies played through the same loop.
 *
 * Conversations are a JSON array of chat-completions messages (role, content, tool_calls, tool_call_id); tools the
 * matching "tools" array. Adding a wire format is one file with a struct model_wire and one line in model.c. */
#ifndef MODEL_H
#define MODEL_H
#include "buf.h"
#include "die.h"
#include "json.h"

/* Tokens of one reply, or summed over a run. -1 is unknown, never 0. reasoning is part of out. */
struct usage {
	long long fresh_in, cache_read, cache_write, out, reasoning;
};
#define USAGE_UNKNOWN { -1, -1, -1, -1, -1 }
/* Adds b to a; a class unknown in either is unknown in the sum. */
void usage_add(struct usage *a, const struct usage *b);
void usage_emit(struct buf *out, const struct usage *u);	/* {"fresh_in":..,...}, unknown as null */
void usage_read(struct usage *u, const struct json *j);		/* the reverse; what is missing is unknown */

struct tool_call {
	char *id;		/* unique within the reply, made up where the server gave none */
	char *name;
	char *arguments;	/* the text the model sent; may be no valid JSON */
};

struct model_reply {
	char *content;		/* NULL when absent */
	struct tool_call *calls;
	int ncalls;
	char *finish;		/* the server's finish_reason, or NULL */
	struct usage usage;
	char *message;		/* the assistant message as JSON, sanitised, to append to the conversation */
	int attempts;		/* requests made, retries counted */
};
void model_reply_release(struct model_reply *r);

enum model_end {
	MODEL_OK,
	MODEL_AGAIN,		/* endpoint away, rate limit over the wait limit: exit status 75 */
	MODEL_OVERFLOW,		/* the conversation does not fit the context */
	MODEL_FAILED,		/* final: refused, bad key, bad request, unusable reply */
	MODEL_SCRIPT_END	/* a script has no reply for this turn */
};

struct model;
/* Opens the entry `name` of pipelines/models.json (or the file named); "script:PATH" is a script without an entry.
 * {task} in a script's path is replaced by task, {arm} by arm ("+" kept); arm NULL where the caller must not know it.
 * NULL and the reason when the entry is missing or incomplete (null identifier, key variable not set). */
struct model *model_open(const char *models_json, const char *name, const char *task, const char *arm, struct err *e);
void model_close(struct model *m);
/* How long one reply may be retried in all (default 600 s), and how long one request may take (1800 s). */
void model_limits(struct model *m, double max_wait, double timeout);
/* Asks for the next reply. tools and extra (members merged into the request, e.g. response_format) may be NULL.
 * A script plays its reply number `turn` (0-based), so that a resumed run goes on where it was. */
enum model_end model_ask(struct model *m, const struct buf *messages, const struct buf *tools, const struct buf *extra,
			 int turn, struct model_reply *r, struct err *e);
/* US dollars for the usage by the entry's prices; NaN where a needed price or count is unknown. */
double model_cost(const struct model *m, const struct usage *u);
/* The identifier sent on the wire and the entry's hash (prices and parameters; no key), for records. */
const char *model_id(const struct model *m);
const char *model_hash(const struct model *m);
/* Hash of what shapes the replies: wire, identifier, parameters, script; not where it runs, nor prices. A run that was
 * broken off goes on only with the same. */
const char *model_kind(const struct model *m);
/* Tokens the model's context holds; 0 when the entry does not say. */
long long model_context(const struct model *m);
/* Takes the keys of all entries out of this process's environment, so that no child inherits one; model_open() still
 * finds them. It calls this itself; a tool that starts children before opening a model calls it first. */
int model_hide_keys(const char *models_json, struct err *e);
#endif
