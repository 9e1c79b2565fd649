/* A set of buffers: everything one run of a plan touches, in one piece of memory with guard bands between.
 *
 * The whole set is poisoned first with words that only (seed, position) determines; generated inputs then overwrite
 * part of it. So unwritten outputs and scratch hold garbage no one can guess, and afterwards every byte of the bands
 * can be checked. Buffers start on 512-byte boundaries; behind each lie at least 4 KiB of band. */
#ifndef SETS_H
#define SETS_H
#include "oracle.h"

enum { SET_ALIGN = 512, SET_GUARD = 4096 };

struct slot {
	size_t offset, bytes;
};

struct layout {
	struct slot *tensor;
	int ntensors;
	size_t scratch;		/* where scratch begins */
	size_t size;		/* of a whole set, a multiple of SET_ALIGN */
};

/* A set with room for scratch_bytes (slot_pack's total) behind the tensors. */
void layout_init(struct layout *l, const struct instance *in, size_t scratch_bytes);
void layout_release(struct layout *l);
/* Places n buffers of given sizes one behind the other, from `start`; returns where the next could begin. */
size_t slot_pack(struct slot *s, const size_t *bytes, int n, size_t start);

/* Addresses of all tensors of the set at base. */
void set_addresses(const struct layout *l, uint64_t base, uint64_t *out);
int set_poison(struct engine *x, const struct layout *l, uint64_t base, uint64_t seed, struct err *e);
/* The same for one buffer alone. */
int slot_poison(struct engine *x, const struct slot *s, uint64_t base, uint64_t seed, struct err *e);

/* Checks the bands in front of, between and behind the tensors and the n scratch slots. 0 whole, 1 damaged (words
 * says which buffer's), -1 error. names: per scratch slot. */
int set_bands(struct engine *x, const struct layout *l, const struct instance *in, const struct slot *scratch,
	      char *const *names,
	      int n, uint64_t base, uint64_t seed, struct buf *words, struct err *e);
/* Compares the inputs of two sets. 0 equal, 1 different (words says which), -1 error. */
int set_inputs(struct engine *x, const struct layout *l, const struct instance *in, uint64_t base, uint64_t pristine,
	       struct buf *words, struct err *e);
#endif
