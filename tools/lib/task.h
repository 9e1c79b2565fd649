/* A task and its workloads, as tasks/NAME/task.json and workloads/NAME.jsonl define them (format: tasks/README.md).
 * Nothing here knows any task by name. */
#ifndef TASK_H
#define TASK_H
#include "die.h"
#include "dtype.h"
#include "expr.h"
#include "hash.h"
#include <stdbool.h>
#include <stddef.h>

enum role { ROLE_IN, ROLE_OUT, ROLE_INOUT };
enum metric { METRIC_RFE, METRIC_ROWS, METRIC_MAXN, METRIC_EXACT, METRIC_ULP };
extern const char *const role_name[];	/* "in" "out" "inout" */
extern const char *const metric_name[];	/* "rfe" "rows" "maxn" "exact" "ulp" */

/* One condition an output must meet; all of a tensor's must hold. */
struct check {
	enum metric metric;
	double max;		/* rfe, rows, maxn: largest allowed figure; ulp: steps no element may exceed; 0: no condition */
	double share;		/* ulp: least share of elements within one step */
	double equal;		/* ulp: least share of elements that are equal; 0: no condition */
};

enum { TASK_DIMS = 8, TASK_CHECKS = 4 };

struct tensor {
	char *name;
	enum role role;
	enum dtype dtype;
	char *shape[TASK_DIMS];	/* expressions over the workload's dims */
	int ndim;
	struct check check[TASK_CHECKS];
	int nchecks;
};

/* A double-precision array of the oracle. Stages that generate inputs have but those listed as draws. */
struct temp {
	char *name, *count;	/* count: expression */
	bool draw;
};

/* One step of generate or oracle: a stage function over `count` indices, or a double-precision matrix product
 * c[b] = op(a[b]) op(b[b]) over temps, op the transpose where ta/tb. */
struct stage {
	char *name, *count;			/* stage; name NULL for a product */
	char *a, *b, *c, *batch, *m, *n, *k;	/* product */
	bool ta, tb;
};

struct task {
	char *name, *title;
	char *dir;				/* ROOT/tasks/NAME */
	char **dims;	int ndims;		/* names every workload must give a whole number for */
	char **params;	int nparams;		/* the same, any number; keyword arguments of run() */
	struct tensor *tensors;	int ntensors;	/* in the order of run()'s arguments */
	struct temp *temps;	int ntemps;	/* draws first */
	struct stage *generate;	int ngenerate;	/* fills in and inout tensors from the seed */
	struct stage *oracle;	int noracle;	/* fills ref_NAME of out and inout tensors */
	char *bytes, *flops;			/* expressions; least traffic and arithmetic, for the floors */
	char *flop_unit;			/* "bf16", "fp32", ...: whose peak applies (peaks.h) */
	/* hashes both arms of a pair share */
	char text_hash[HASH_HEX], workloads_hash[HASH_HEX], oracle_hash[HASH_HEX];
};

struct workload {
	char *id, *tier, *origin;		/* tier: "bench" or "smoke" */
	struct var *vars;	int nvars;	/* dims, then params; the names are the task's, which must live on */
	char *params;				/* JSON object, as written */
};

/* Fit to name a task, a workload, a file: letters, digits, '.', '_', '-', and no '.' first. */
bool task_is_name(const char *s);
int task_load(struct task *t, const char *name, struct err *e);
void task_release(struct task *t);
/* All workloads of a task, in file order. */
int workloads_load(const struct task *t, struct workload **out, int *n, struct err *e);
void workloads_free(struct workload *w, int n);
/* Elements and bytes of a tensor for a workload; shape (may be NULL) gets the extents. */
int tensor_elements(const struct tensor *t, const struct workload *w, long long *shape, long long *n, struct err *e);
/* Names of all tasks (folders of tasks/ with a task.json), sorted; the caller frees each and the array. */
int task_names(char ***names, int *n, struct err *e);
#endif
