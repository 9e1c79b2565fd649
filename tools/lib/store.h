/* The content-addressed store: $D2K_STORE, else ROOT/.d2k. Kinds are folders: "bundle" and "oracle" hold files named by
 * the SHA-256 of their content ("oracle" by that of their source and target), "index" maps a key hash to one line of
 * text, "device" to what was measured of a GPU, "choice" to what autotuning chose there. Files are replaced by rename, so concurrent writers are safe. */
#ifndef STORE_H
#define STORE_H
#include "buf.h"
#include "die.h"
#include "hash.h"

/* The file's path; the caller frees. Nothing is created. */
char *store_path(const char *kind, const char *hash);
/* Puts bytes under the hash of their content, which is written to hex. */
int store_put(const char *kind, const void *data, size_t n, char hex[HASH_HEX], struct err *e);
/* Puts bytes under a given key. */
int store_put_as(const char *kind, const char *key, const void *data, size_t n, struct err *e);
/* 1 and the bytes in b, 0 when absent, -1 on error. For "bundle" the content is checked against its name. */
int store_get(const char *kind, const char *key, struct buf *b, struct err *e);
#endif
