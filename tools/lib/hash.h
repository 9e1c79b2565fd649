/* SHA-256 in lower-case hex: the one door to libmd. */
#ifndef HASH_H
#define HASH_H
#include "buf.h"
#include "die.h"
#include <stddef.h>

enum { HASH_HEX = 65 };	/* 64 digits and the NUL */

void hash_hex(const void *data, size_t n, char out[HASH_HEX]);
int hash_file(const char *path, char out[HASH_HEX], struct err *e);

/* A hash over several named parts, each length-prefixed so that no two lists of parts collide. */
struct hash_parts {
	struct buf text;
};
void hash_part(struct hash_parts *h, const char *name, const void *data, size_t n);
void hash_partstr(struct hash_parts *h, const char *name, const char *s);
void hash_done(struct hash_parts *h, char out[HASH_HEX]);	/* releases h */
#endif
