/* A task's oracle: the source made from task.json and oracle.c, and one workload of it ready to run on an engine:
 * inputs from a seed, references from inputs, comparison of outputs with the references.
 *
 * Tensor addresses are passed per call as an array with one entry per tensor of the task (those a stage does not use
 * may be 0), so the same instance serves many sets of buffers. */
#ifndef LIB_ORACLE_H
#define LIB_ORACLE_H
#include "engine.h"
#include "task.h"

/* Header, struct task, tasks/NAME/oracle.c and the timer's own kernels, in one text. */
int oracle_source(const struct task *t, struct buf *out, struct err *e);

struct instance {
	struct engine *engine;
	const struct task *task;
	const struct workload *workload;
	long long *elements;	/* per tensor */
	size_t *bytes;		/* per tensor */
	uint64_t *ref;		/* per tensor; 0 for inputs, and where there is none yet */
	uint64_t *temp;		/* per temp */
	long long *temp_count;	/* doubles */
	long long *gen_count, *ref_count;	/* indices per stage; 0 for a product */
	long long (*product)[4];		/* per oracle stage: batch, m, n, k */
	double least_bytes, least_flops;	/* the task's formulas */
	uint64_t partials;	/* working memory of comparisons */
};

/* Evaluates sizes; memory on the engine is taken when needed. Releasable after a failure too. */
int instance_open(struct instance *in, struct engine *x, const struct task *t, const struct workload *w, struct err *e);
void instance_release(struct instance *in);
int instance_generate(struct instance *in, uint64_t seed, const uint64_t *tensors, struct err *e);
int instance_reference(struct instance *in, uint64_t seed, const uint64_t *tensors, struct err *e);
/* Bytes that references, draws and temps take. */
double instance_memory(const struct instance *in);
/* Overwrites the draws. */
int instance_spoil(struct instance *in, uint8_t with, struct err *e);
/* Gives back all memory on the engine but the draws', so that nothing there holds an answer any more. */
void instance_forget(struct instance *in);
#endif
