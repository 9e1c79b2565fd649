/* What a run may hand in, kept in its folder (RUN/kept/SHA-256) from the moment it is checked or submitted, so that
 * later changes to the workspace cannot touch it. */
#ifndef KEPT_H
#define KEPT_H
#include "buf.h"
#include "die.h"
#include "hash.h"
#include "workspace.h"

int kept_put(const char *dir, const struct buf *text, char sha[HASH_HEX], struct err *e);
/* 0, or -1 when it is missing or is not what its name says. */
int kept_get(const char *dir, const char *sha, struct buf *out, struct err *e);
/* A submission as it lies in the workspace: text in UTF-8, not empty, at most 1 MiB. */
int kept_source(const struct workspace *w, const char *path, struct buf *out, struct err *e);
#endif
