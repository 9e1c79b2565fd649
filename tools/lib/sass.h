/* What a kernel is made of: the machine instructions of its disassembly, counted by what they are for.
 *
 * A count is of instructions as they stand in the program, not of how often they run: one in a loop counts once. All
 * functions of the cubin count, and padding (NOP) does not. An instruction may be of several kinds (DMMA is both tensor
 * and fp64), and many are of none. */
#ifndef SASS_H
#define SASS_H
#include "buf.h"
#include "die.h"

enum sass_kind {
	SASS_TENSOR,		/* HMMA, HGMMA, QGMMA, IMMA, DMMA, UTCHMMA, ... */
	SASS_TENSOR_MEMORY,	/* LDTM, STTM, UTCCP */
	SASS_ASYNC_COPY,	/* LDGSTS: cp.async */
	SASS_BULK_COPY,		/* UTMALDG, UTMASTG, UBLKCP, ...: the tensor memory accelerator */
	SASS_LOAD_256, SASS_LOAD_128, SASS_LOAD_64, SASS_LOAD_32, SASS_LOAD_16, SASS_LOAD_8,	/* global */
	SASS_STORE_256, SASS_STORE_128, SASS_STORE_64, SASS_STORE_32, SASS_STORE_16, SASS_STORE_8,
	SASS_ATOMIC,		/* on global memory, reductions included */
	SASS_SHARED_LOAD, SASS_SHARED_STORE,
	SASS_MATRIX_LOAD, SASS_MATRIX_STORE,	/* LDSM, STSM; these count as shared loads and stores too */
	SASS_LOCAL_LOAD, SASS_LOCAL_STORE,	/* spills, and arrays indexed at run time */
	SASS_BARRIER,		/* of a block: BAR */
	SASS_MBARRIER,		/* SYNCS: arrivals and waits on barriers in shared memory */
	SASS_SHUFFLE,
	SASS_SPECIAL,		/* MUFU: exp2, rcp, rsqrt, ... */
	SASS_FP64, SASS_FP32, SASS_FP16, SASS_INTEGER,
	SASS_CONVERSION,
	SASS_BRANCH, SASS_CALL,
	SASS_TOTAL,
	SASS_KINDS
};
/* Their names in records: "tensor", "global_load_128", ... */
extern const char *const sass_name[SASS_KINDS];

struct sass {
	long long count[SASS_KINDS];
};

/* Counts the instructions in the output of nvdisasm or of cuobjdump -sass. 0, or -1 when there is none in it. */
int sass_parse(const char *text, size_t n, struct sass *s, struct err *e);
/* Disassembles a cubin, in a sandbox where there is one, and counts. A cubin is hostile; so, then, is what the
 * disassembler says. 0, or -1 with the reason. */
int sass_disassemble(const void *cubin, size_t n, struct sass *s, struct err *e);
/* Emits an object with one member for each kind. */
void sass_emit(struct buf *out, const struct sass *s);
/* Reads such an object; what is missing is 0. 0, or -1 when there is no total. */
struct json;
int sass_read(const struct json *j, struct sass *s);
#endif
