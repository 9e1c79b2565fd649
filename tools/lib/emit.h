/* JSON written straight into a buf. Commas are put by looking at the last byte, so callers never think of them:
 *
 *     emit_open(b, '{'); emit_kstr(b, "status", "ok"); emit_key(b, "ns"); emit_int(b, 5); emit_close(b, '}');
 *
 * Numbers are printed with %.17g (integers whole; emit_kgiven is for those that a person wrote), a non-finite number as
 * null, NULL strings as null; bytes that are not UTF-8 become U+FFFD. */
#ifndef EMIT_H
#define EMIT_H
#include "buf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void emit_open(struct buf *b, char bracket);	/* '{' or '[' */
void emit_close(struct buf *b, char bracket);	/* '}' or ']' */
void emit_key(struct buf *b, const char *key);
void emit_str(struct buf *b, const char *s);
void emit_strn(struct buf *b, const char *s, size_t n);
void emit_num(struct buf *b, double x);
void emit_int(struct buf *b, long long x);
void emit_seed(struct buf *b, uint64_t seed);	/* "0x00000000000000ff" */
void emit_bool(struct buf *b, bool x);
void emit_null(struct buf *b);
/* JSON text made elsewhere, copied byte for byte. */
void emit_raw(struct buf *b, const char *json, size_t n);

/* Key and value in one call. */
void emit_kstr(struct buf *b, const char *key, const char *s);
void emit_kstrn(struct buf *b, const char *key, const char *s, size_t n);
void emit_knum(struct buf *b, const char *key, double x);
/* With the fewest digits that read back as the same number: 0.035, not 0.035000000000000003. */
void emit_kgiven(struct buf *b, const char *key, double x);
void emit_kint(struct buf *b, const char *key, long long x);
/* Whole and not negative; a negative one means that it is not known: null. */
void emit_kcount(struct buf *b, const char *key, long long x);
void emit_kseed(struct buf *b, const char *key, uint64_t seed);
void emit_kbool(struct buf *b, const char *key, bool x);
void emit_knull(struct buf *b, const char *key);
void emit_kraw(struct buf *b, const char *key, const char *json, size_t n);
#endif
