/* The vendor's command-line tools, any of which may be missing: nvdisasm, ncu, compute-sanitizer. */
#ifndef NVTOOL_H
#define NVTOOL_H
#include "die.h"

enum nvtool { NVTOOL_NVDISASM, NVTOOL_NCU, NVTOOL_SANITIZER };

/* The tool's path, which the caller frees, or NULL with words that tell where it was looked for. Its variable
 * ($D2K_NVDISASM, $D2K_NCU, $D2K_SANITIZER) names the file or its folder, and is then all that counts; else the private
 * Python environment, PATH and the toolkit's folders are searched in this order. */
char *nvtool_find(enum nvtool tool, struct err *e);
#endif
