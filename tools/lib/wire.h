/* What model.c and the wire formats share. A wire turns one request into one reply and says what an error means;
 * retrying, waiting, prices and keys are model.c's. A new wire is one file and one line in model.c's table. */
#ifndef WIRE_H
#define WIRE_H
#include "hash.h"
#include "model.h"

/* One entry of models.json, opened. */
struct model {
	const struct model_wire *wire;
	struct json *file;		/* owns entry */
	const struct json *entry;
	char *id;
	char hash[HASH_HEX], kind[HASH_HEX];
	const char *key;		/* NULL when the entry names none */
	double max_wait, timeout;	/* seconds */
	void *state;			/* the wire's own */
};

struct wire_request {
	const struct buf *messages, *tools, *extra;	/* tools, extra: NULL or JSON */
	int turn;
};

enum wire_end {
	WIRE_OK,
	WIRE_RETRY,		/* may pass; *wait has the seconds the server asks for, or NaN */
	WIRE_GARBLED,		/* an answer that cannot be read: worth a few more tries only */
	WIRE_OVERFLOW,
	WIRE_SCRIPT_END,
	WIRE_FINAL
};

struct model_wire {
	const char *name;
	/* Checks the entry and fills id and state. dir is the folder that relative paths in the entry start from. */
	int (*open)(struct model *m, const char *dir, const char *task, const char *arm, struct err *e);
	enum wire_end (*ask)(struct model *m, const struct wire_request *q, struct model_reply *r, double *wait,
			     struct err *e);
	void (*close)(struct model *m);
};
extern const struct model_wire wire_chat, wire_script;

/* Appends a call, giving it an id of its own when the server's is missing or taken. */
void reply_add_call(struct model_reply *r, const char *id, const char *name, const char *arguments);
/* Sets r->message from content and calls; arguments that are no JSON object become {} so that later requests stay
 * valid. echo (may be NULL) is an object whose members are kept as they are. */
void reply_set_message(struct model_reply *r, const struct json *echo);
#endif
