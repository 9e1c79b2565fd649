/* Building sources into bundles, each once: a source that was built before, for the same task, tier and target and by
 * the same recorder, comes from the store. The bundle is put together here; the source in it is ours, not what Python
 * says. */
#ifndef BUILD_H
#define BUILD_H
#include "buf.h"
#include "die.h"
#include "hash.h"
#include "recorder.h"
#include "task.h"
#include <stdbool.h>

/* What is built for. */
struct build_for {
	const struct task *task;
	const char *tier;		/* "bench", "smoke" or "all" */
	const char *target;		/* "sm_90" */
	double timeout;			/* seconds for one source */
	bool again;			/* what failed before is tried again */
	char version[HASH_HEX];		/* recorder_version() */
};

/* One source and what became of it. Facts are JSON values as the record has them. */
struct build {
	const char *source;		/* borrowed; NULL: nothing to build */
	char key[HASH_HEX], source_sha256[HASH_HEX];
	enum build_status status;
	struct buf log, kernels, plans;
	char triton[32];		/* "" when unknown */
	char bundle[HASH_HEX];		/* "" when there is none */
	double seconds, compile_seconds;	/* of the build itself, also when cached; NaN when unknown */
	bool cached;
};

enum { BUILD_MAX = 3 };
/* Builds the n sources (at most BUILD_MAX), those that the store lacks at the same time. -1: nothing can be built. */
int build_all(struct build *builds, int n, const struct build_for *what, struct err *e);
void build_release(struct build *b);
#endif
