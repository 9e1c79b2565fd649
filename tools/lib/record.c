/* One record: where its members lie in its line, and the line with one member put in. */
#include "record.h"
#include "emit.h"
#include <string.h>

int record_open(struct record *r, const char *line, size_t len, struct err *e)
{
	r->line = line;
	r->len = len;
	return scan_object(line, len, &r->scan, e);
}

bool record_has(const struct record *r, const char *key)
{
	return scan_find(&r->scan, key) != NULL;
}

struct span record_raw(const struct record *r, const char *key)
{
	const struct scan_member *m = scan_find(&r->scan, key);

	return m ? m->value : (struct span){ NULL, 0 };
}

struct json *record_get(const struct record *r, const char *key, struct err *e)
{
	struct span raw = record_raw(r, key);

	if (e)
		e->text[0] = '\0';
	return raw.p ? json_parse(raw.p, raw.n, e) : NULL;
}

bool record_str(const struct record *r, const char *key, char *out, size_t n)
{
	struct span raw = record_raw(r, key);
	struct buf b = BUF_INIT;
	bool fits = false;

	out[0] = '\0';
	if (raw.p && raw.p[0] == '"') {
		scan_decode((struct span){ raw.p + 1, raw.n - 2 }, &b);
		fits = b.len < n;
		if (fits && b.len)
			memcpy(out, b.data, b.len + 1);
	}
	buf_release(&b);
	return fits;
}

void record_put(const struct record *r, const char *key, const struct buf *json, struct buf *out)
{
	const struct scan_member *m = scan_find(&r->scan, key);
	size_t until = m ? (size_t)(m->value.p - r->line) : r->scan.end;

	buf_reserve(out, r->len + json->len + strlen(key) + 4);
	buf_add(out, r->line, until);
	if (!m) {
		if (r->scan.n)
			buf_addch(out, ',');
		buf_addch(out, '"');
		buf_addstr(out, key);
		buf_addstr(out, "\":");
	}
	buf_addbuf(out, json);
	until += m ? m->value.n : 0;
	buf_add(out, r->line + until, r->len - until);
}
