/* CUDA C++ to a cubin: the one door to NVRTC, loaded when first needed. No GPU and no toolkit is needed for it. */
#ifndef NVRTC_H
#define NVRTC_H
#include "buf.h"
#include "die.h"

/* Finds and loads the library: $D2K_NVRTC (a file or its folder), the private Python environment, the system's, the
 * toolkit's. version is "13.0". Loaded once. */
int nvrtc_load(char version[16], struct err *e);
/* Compiles for a real architecture such as "sm_90"; doubles and floats are never contracted to fma. Appends the cubin.
 * On a compile error e has the first error of the log. */
int nvrtc_compile(const char *source, const char *arch, struct buf *cubin, struct err *e);
#endif
