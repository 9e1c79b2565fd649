/* The door to Python: tools/triton/record.py, run in the sandbox on one submission. What comes back was made beside
 * code that nobody trusts, so it is read as such. */
#ifndef RECORDER_H
#define RECORDER_H
#include "buf.h"
#include "child.h"
#include "die.h"
#include "hash.h"
#include "json.h"
#include "task.h"
#include <stdbool.h>

/* How a build ended; the names are the record's. */
enum build_status {
	BUILD_OK, BUILD_NO_SUBMISSION, BUILD_SYNTAX_ERROR, BUILD_FORBIDDEN_IMPORT, BUILD_COMPILE_ERROR,
	BUILD_OUT_OF_RESOURCES, BUILD_HOST_READS_TENSOR, BUILD_NO_LAUNCH, BUILD_UNSTABLE_PLAN, BUILD_HOST_ERROR,
	BUILD_TIMEOUT, BUILD_CRASHED, BUILD_TOOL_ERROR, BUILD_STATUSES
};
extern const char *const build_status_name[BUILD_STATUSES];

/* One run of the recorder. The command is made in recorder_prepare(); recorder_run() may then go on in a thread. */
struct recorder {
	struct argv command;
	struct buf job;
	double timeout;				/* seconds */
	/* results */
	enum build_status status;
	struct buf log;		/* what went wrong, notes of the compiler, what the submission printed */
	struct buf text;	/* the recorder's JSON; tree is it parsed, NULL without a readable one */
	struct json *tree;
	double seconds;
};

/* tier: "bench", "smoke" or "all". -1 with the reason when nothing can be run here. r starts zeroed. */
int recorder_prepare(struct recorder *r, const struct task *t, const char *tier, const char *target, const char *source,
		     double timeout, struct err *e);
void recorder_run(struct recorder *r);
void recorder_release(struct recorder *r);
/* The hash over everything that decides what comes out of a source: recorder, Triton, this tool's version. */
int recorder_version(char hex[HASH_HEX], struct err *e);
#endif
