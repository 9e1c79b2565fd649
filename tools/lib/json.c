/* Reading JSON by cJSON, with its leniency and its gaps closed: text goes through scan.c first, and what cJSON would
 * reject or cut short is rewritten in a copy. */
#include "json.h"
#include "emit.h"
#include "file.h"
#include "scan.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CJSON_NUMBER = 63 };	/* longest number, in bytes, that cJSON reads whole */

static const cJSON *node(const struct json *j)
{
	return (const cJSON *)j;
}

static const struct json *wrap(const cJSON *c)
{
	return (const struct json *)c;
}

/* A number longer than cJSON can read, in place: the same double in fewer digits, then spaces. */
static void mend_number(char *p, size_t n)
{
	double x = strtod(p, NULL);
	char shorter[32] = "1e999";

	if (isfinite(x))
		snprintf(shorter, sizeof shorter, "%.17g", x);
	memset(p, ' ', n);
	memcpy(p, shorter, strlen(shorter));
}

/* Rewrites checked text in place so that cJSON takes it: long numbers, NUL and lone surrogates (as U+FFFD). */
static void mend(char *p, const char *end)
{
	bool in_string = false;
	size_t len;

	for (; p < end; p += len) {
		len = 1;
		if (*p == '"') {
			in_string = !in_string;
		} else if (in_string && *p == '\\') {
			len = 2;
			if (p[1] == 'u' && scan_unicode(p, end, &len) == 0xfffd)
				memcpy(p + 2, "fffd", 4);
		} else if (!in_string && *p >= '0' && *p <= '9') {
			len = strspn(p, "+-.0123456789eE");
			if (len >= CJSON_NUMBER)
				mend_number(p, len);
		}
	}
}

struct json *json_parse(const char *text, size_t n, struct err *e)
{
	cJSON *c;
	char *copy;

	if (scan_value(text, n, e))
		return NULL;
	copy = xstrndup(text, n);
	mend(copy, copy + n);
	c = cJSON_ParseWithLength(copy, n);
	free(copy);
	if (!c)
		err_set(e, "cannot read JSON (out of memory?)");
	return (struct json *)c;
}

struct json *json_parse_file(const char *path, struct err *e)
{
	struct buf b = BUF_INIT;
	struct json *j = NULL;
	struct err why;

	if (file_read(path, &b, e) == 0) {
		j = json_parse(b.data, b.len, &why);
		if (!j)
			err_set(e, "'%s': %s", path, why.text);
	}
	buf_release(&b);
	return j;
}

void json_free(struct json *j)
{
	cJSON_Delete((cJSON *)j);
}

enum json_type json_type(const struct json *j)
{
	switch (j ? node(j)->type & 0xff : cJSON_Invalid) {
	case cJSON_NULL:
		return JSON_NULL;
	case cJSON_False:
	case cJSON_True:
		return JSON_BOOL;
	case cJSON_Number:
		return JSON_NUM;
	case cJSON_String:
		return JSON_STR;
	case cJSON_Array:
		return JSON_ARR;
	case cJSON_Object:
		return JSON_OBJ;
	}
	return JSON_NONE;
}

const struct json *json_get(const struct json *obj, const char *key)
{
	return json_type(obj) == JSON_OBJ ? wrap(cJSON_GetObjectItemCaseSensitive(node(obj), key)) : NULL;
}

const struct json *json_path(const struct json *obj, const char *dotted)
{
	const char *dot;

	for (; obj && (dot = strchr(dotted, '.')); dotted = dot + 1) {
		char *key = xstrndup(dotted, (size_t)(dot - dotted));

		obj = json_get(obj, key);
		free(key);
	}
	return json_get(obj, dotted);
}

const char *json_str(const struct json *j)
{
	return json_type(j) == JSON_STR ? node(j)->valuestring : NULL;
}

double json_num(const struct json *j, double fallback)
{
	/* 1e400 is legal text but no double: as unknown as a missing number */
	return json_type(j) == JSON_NUM && isfinite(node(j)->valuedouble) ? node(j)->valuedouble : fallback;
}

long long json_int(const struct json *j, long long fallback)
{
	double x = json_num(j, NAN);

	return fabs(x) < 0x1p53 && x == floor(x) ? (long long)x : fallback;
}

bool json_bool(const struct json *j, bool fallback)
{
	return json_type(j) == JSON_BOOL ? cJSON_IsTrue(node(j)) : fallback;
}

int json_len(const struct json *j)
{
	return json_type(j) == JSON_ARR || json_type(j) == JSON_OBJ ? cJSON_GetArraySize(node(j)) : 0;
}

const struct json *json_first(const struct json *j)
{
	return json_type(j) == JSON_ARR || json_type(j) == JSON_OBJ ? wrap(node(j)->child) : NULL;
}

const struct json *json_next(const struct json *c)
{
	return c ? wrap(node(c)->next) : NULL;
}

const char *json_key(const struct json *c)
{
	return c ? node(c)->string : NULL;
}

const char *json_get_str(const struct json *obj, const char *key)
{
	return json_str(json_get(obj, key));
}

double json_get_num(const struct json *obj, const char *key, double fallback)
{
	return json_num(json_get(obj, key), fallback);
}

long long json_get_int(const struct json *obj, const char *key, long long fallback)
{
	return json_int(json_get(obj, key), fallback);
}

void json_print(const struct json *j, struct buf *out)
{
	switch (json_type(j)) {
	case JSON_NONE:
	case JSON_NULL:
		emit_null(out);
		break;
	case JSON_BOOL:
		emit_bool(out, json_bool(j, false));
		break;
	case JSON_NUM:
		emit_num(out, node(j)->valuedouble);
		break;
	case JSON_STR:
		emit_str(out, json_str(j));
		break;
	case JSON_ARR:
	case JSON_OBJ:
		emit_open(out, json_type(j) == JSON_ARR ? '[' : '{');
		for (const struct json *c = json_first(j); c; c = json_next(c)) {
			if (json_type(j) == JSON_OBJ)
				emit_key(out, json_key(c));
			json_print(c, out);
		}
		emit_close(out, json_type(j) == JSON_ARR ? ']' : '}');
	}
}

int json_only_keys(const struct json *obj, const char *const *allowed, struct err *e)
{
	for (const struct json *c = json_first(obj); c; c = json_next(c)) {
		const char *const *a = allowed;

		while (*a && strcmp(*a, json_key(c)))
			a++;
		if (!*a)
			return err_set(e, "unknown key '%s'", json_key(c));
	}
	return 0;
}
