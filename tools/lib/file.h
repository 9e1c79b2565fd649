/* Whole files, and where the project lies. */
#ifndef FILE_H
#define FILE_H
#include "buf.h"
#include "die.h"
#include <stdbool.h>
#include <stddef.h>

/* Appends the file's bytes to b. 0, or -1 with "cannot open 'PATH': why". */
int file_read(const char *path, struct buf *b, struct err *e);
/* Writes all of it to a descriptor; 0, or -1 with errno. */
int file_write_all(int fd, const void *data, size_t n);
/* Writes a temporary file beside it, fsyncs it, and renames: readers see the old content or the new, never a part. */
int file_write(const char *path, const void *data, size_t n, struct err *e);
/* mkdir -p. */
int file_mkdirs(const char *path, struct err *e);
bool file_exists(const char *path);

/* The project's root, holding tasks/ and tools/: $D2K_ROOT, else the parent of the running program's directory. */
const char *file_root(void);
/* root + "/" + formatted path; the caller frees. */
char *file_in_root(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The Python of the private environment: $D2K_PYTHON, else ROOT/.venv/bin/python3. */
const char *file_python(void);
#endif
