/* A set of buffers: everything one run of a plan touches, in one piece of memory with guard bands between.
 *
 * The whole set is poisoned first with words that only (poison, position) determines, outputs of an odd poison with
 * bytes 0xff (NaN, -1); generated inputs then overwrite part of it. So unwritten outputs and scratch hold garbage no
 * one can guess, and afterwards every byte of the bands can be checked. Buffers start on 512-byte boundaries; behind each lie at least 4 KiB of band. */
#ifndef SETS_H
#define SETS_H
#include "oracle.h"

enum { SET_ALIGN = 512, SET_GUARD = 4096 };

static inline size_t set_round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

struct slot {
	size_t offset, bytes;
};

/* Where things lie in every set of an instance. */
struct layout {
	struct instance *in;
	struct slot *tensor;	/* per tensor of the task */
	size_t scratch;		/* where scratch begins */
	size_t size;		/* of a whole set, a multiple of SET_ALIGN */
};

/* The scratch buffers of a plan. */
struct scratch {
	struct slot *slot;
	char **name;
	int n;
};

/* One set, and what it was last made from. */
struct set {
	uint64_t base;		/* its address on the engine */
	uint64_t seed, poison;
};

/* A set with room for scratch_bytes (slot_pack's total) behind the tensors. The instance must stay where it is. */
void layout_init(struct layout *l, struct instance *in, size_t scratch_bytes);
void layout_release(struct layout *l);
/* Places n buffers of given sizes one behind the other, from `start`; returns where the next could begin. */
size_t slot_pack(struct slot *s, const size_t *bytes, int n, size_t start);

/* Address of tensor number i. */
uint64_t set_tensor(const struct layout *l, const struct set *s, int i);
/* Poison everywhere, and the inputs of a seed. */
int set_make(const struct layout *l, struct set *s, uint64_t seed, uint64_t poison, struct err *e);
/* The inputs of its seed once more. */
int set_generate(const struct layout *l, const struct set *s, struct err *e);
/* The instance's references, from the inputs that lie in the set. */
int set_reference(const struct layout *l, const struct set *s, struct err *e);

/* The data and poison of another set once more, in p, and their references. */
int set_pristine(const struct layout *l, struct set *p, const struct set *of, struct err *e);

/* Checks the bands in front of, between and behind the tensors and the scratch buffers (NULL: none). 0 whole,
 * 1 damaged (words says which buffer's), -1 error. */
int set_bands(const struct layout *l, const struct set *s, const struct scratch *scratch, struct buf *words,
	      struct err *e);
/* Compares the inputs of two sets. 0 equal, 1 different (words says which), -1 error. */
int set_inputs(const struct layout *l, const struct set *s, const struct set *pristine, struct buf *words,
	       struct err *e);
#endif
