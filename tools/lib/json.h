/* Reading JSON: the one door to cJSON. Input is checked by scan.h first, and what cJSON cannot hold (\u0000, a lone
 * surrogate) is read as U+FFFD. Key lookup is exact and case-sensitive. Numbers are doubles: ids, hashes and seeds are
 * therefore strings everywhere. Every getter takes NULL and returns NULL or the fallback. */
#ifndef JSON_H
#define JSON_H
#include "buf.h"
#include "die.h"
#include <stdbool.h>
#include <stddef.h>

struct json;	/* an owned tree at its root, a borrowed node below it */

struct json *json_parse(const char *text, size_t n, struct err *e);	/* NULL on error */
struct json *json_parse_file(const char *path, struct err *e);		/* NULL on error; the text names the file */
void json_free(struct json *j);

enum json_type { JSON_NONE, JSON_NULL, JSON_BOOL, JSON_NUM, JSON_STR, JSON_ARR, JSON_OBJ };
enum json_type json_type(const struct json *j);	/* JSON_NONE for NULL */

const struct json *json_get(const struct json *obj, const char *key);
const struct json *json_path(const struct json *obj, const char *dotted);	/* "build.status" */
const char *json_str(const struct json *j);			/* NULL unless a string */
double json_num(const struct json *j, double fallback);
long long json_int(const struct json *j, long long fallback);	/* fallback unless a whole number below 2^53 */
bool json_bool(const struct json *j, bool fallback);
int json_len(const struct json *j);				/* elements of an array or object */
/* Children in order: for (c = json_first(j); c; c = json_next(c)) ... json_key(c) */
const struct json *json_first(const struct json *j);
const struct json *json_next(const struct json *c);
const char *json_key(const struct json *c);			/* the key of an object's child */

const char *json_get_str(const struct json *obj, const char *key);
double json_get_num(const struct json *obj, const char *key, double fallback);
long long json_get_int(const struct json *obj, const char *key, long long fallback);

/* Prints a tree compactly (numbers by %.17g, so doubles survive). */
void json_print(const struct json *j, struct buf *out);
/* 0, or -1 when obj has a key outside the NULL-terminated list: a misspelt key must not be silently ignored. */
int json_only_keys(const struct json *obj, const char *const *allowed, struct err *e);
#endif
