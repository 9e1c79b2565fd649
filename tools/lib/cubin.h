/* What a cubin holds besides code: an ELF file whose sections say which memory its kernels share. Read as hostile text:
 * nothing in it is trusted to lie where it says. */
#ifndef CUBIN_H
#define CUBIN_H
#include "die.h"
#include <stddef.h>

/* Whether kernels keep memory of their own from one launch to the next: static device memory, in which they could
 * remember what they have seen. The read-only tables of libdevice lie there too and are no such memory. 0 no (nor
 * does code that is not a GPU's at all), 1 yes (e says how much), -1 not a cubin (e says why). */
int cubin_remembers(const unsigned char *image, size_t n, struct err *e);
#endif
