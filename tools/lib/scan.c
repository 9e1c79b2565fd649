/* The strict reader of JSON text, by recursive descent (at most SCAN_DEPTH deep).
 *
 * Input is hostile, so every step is linear or nearly so: strings are skipped eight bytes at a time, and the keys of
 * the open objects lie on one stack, where a small object compares each new key with the others by a signature and a
 * large one is sorted when it closes. Keys that are written with escapes are decoded before they are compared. */
#include "scan.h"
#include "utf8.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_INLINE = 64, KEYS_COMPARED = 24 };

struct key {
	const char *p;		/* its text decoded: in the line itself, or allocated where it has escapes */
	size_t n;
	uint64_t signature;	/* equal for equal keys */
	const char *at;		/* where it stands in the line */
};

struct scanner {
	const char *start, *p, *end;
	struct err *e;
	int depth;
	struct key inline_keys[KEYS_INLINE], *keys;
	size_t nkeys, cap;
};

static int fail(struct scanner *s, const char *at, const char *why)
{
	return err_set(s->e, "%s at byte %zu", why, (size_t)(at - s->start) + 1);
}

/* The next byte, or -1 at the end. */
static inline int peek(const struct scanner *s)
{
	return s->p < s->end ? (unsigned char)*s->p : -1;
}

static inline int peek_token(struct scanner *s)
{
	int c;

	while ((c = peek(s)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		s->p++;
	return c;
}

/* Something else stands where a token should be: says why, unless the byte is wrong anywhere. */
static int unexpected(struct scanner *s, const char *why)
{
	int c = peek(s);

	if (c < 0 && s->depth)
		why = "text ends early";
	else if (c == 0)
		why = "raw NUL";
	else if (c >= 0x80 && !utf8_sequence(s->p, (size_t)(s->end - s->p)))
		why = "invalid UTF-8";
	return fail(s, s->p, why);
}

/* True when one of eight bytes is a quote, a backslash, a control byte or not ASCII. */
static inline bool any_special(const char *p)
{
	const uint64_t ones = UINT64_MAX / 255, high = ones << 7;
	uint64_t x, quote, backslash;

	memcpy(&x, p, 8);
	quote = x ^ ones * '"';
	backslash = x ^ ones * '\\';
	return (((x - ones * 0x20) | (quote - ones) | (backslash - ones)) & ~x & high) | (x & high);
}

static inline bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static inline bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* "\" [ "\ / b f n r t ] or "\u" four hex digits */
static int escape(struct scanner *s)
{
	size_t left = (size_t)(s->end - s->p);

	if (left >= 2 && s->p[1] != 'u' && s->p[1] && strchr("\"\\/bfnrt", s->p[1])) {
		s->p += 2;
		return 0;
	}
	if (left < 6 || s->p[1] != 'u')
		return fail(s, s->p, "bad escape");
	for (int i = 2; i < 6; i++)
		if (!is_hex(s->p[i]))
			return fail(s, s->p, "bad escape");
	s->p += 6;
	return 0;
}

/* The string at the scanner's place, which is a quote; `inside` is what lies between the quotes. */
static int string(struct scanner *s, struct span *inside, bool *escaped)
{
	const char *start = s->p + 1;
	size_t len;
	int c;

	*escaped = false;
	for (s->p = start;;) {
		while (s->end - s->p >= 8 && !any_special(s->p))
			s->p += 8;
		while (s->p < s->end && is_plain((unsigned char)*s->p))
			s->p++;
		c = peek(s);
		if (c == '"')
			break;
		if (c == '\\') {
			*escaped = true;
			if (escape(s))
				return -1;
		} else if (c >= 0x80 && (len = utf8_sequence(s->p, (size_t)(s->end - s->p)))) {
			s->p += len;
		} else {
			return unexpected(s, c < 0 ? "no closing quote" : "control byte in a string");
		}
	}
	*inside = (struct span){ start, (size_t)(s->p - start) };
	s->p++;
	return 0;
}

static bool digits(struct scanner *s)
{
	const char *start = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > start;
}

/* ["-"] ("0" | digits not beginning with 0) ["." digits] [("e"|"E") ["+"|"-"] digits] */
static int number(struct scanner *s)
{
	const char *start = s->p;

	if (peek(s) == '-')
		s->p++;
	if (peek(s) == '0')
		s->p++;
	else if (!digits(s))
		return fail(s, start, "bad number");
	if (peek(s) == '.') {
		s->p++;
		if (!digits(s))
			return fail(s, start, "bad number");
	}
	if (peek(s) == 'e' || peek(s) == 'E') {
		s->p++;
		if (peek(s) == '+' || peek(s) == '-')
			s->p++;
		if (!digits(s))
			return fail(s, start, "bad number");
	}
	return 0;
}

static int word(struct scanner *s, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, text, n))
		return unexpected(s, "not a JSON value");
	s->p += n;
	return 0;
}

static uint64_t signature(const char *p, size_t n)
{
	uint64_t head = 0, tail = 0;

	if (n >= 8) {
		memcpy(&head, p, 8);
		memcpy(&tail, p + n - 8, 8);
	} else {
		for (size_t i = 0; i < n; i++)
			head = head << 8 | (unsigned char)p[i];
	}
	return (head ^ tail * 0x9e3779b97f4a7c15) + n;
}

static int key_order(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->signature != y->signature)
		return x->signature < y->signature ? -1 : 1;
	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return memcmp(x->p, y->p, x->n);
}

static int duplicate(struct scanner *s, const struct key *a, const struct key *b)
{
	const struct key *later = a->at > b->at ? a : b;
	char why[120];

	snprintf(why, sizeof why, "duplicate key '%.*s'", (int)utf8_cut(later->p, later->n, 60), later->p);
	return fail(s, later->at, why);
}

static struct key *key_push(struct scanner *s)
{
	if (s->nkeys == s->cap) {
		bool first = s->keys == s->inline_keys;

		s->cap *= 2;
		s->keys = xrealloc(first ? NULL : s->keys, s->cap * sizeof *s->keys);
		if (first)
			memcpy(s->keys, s->inline_keys, sizeof s->inline_keys);
	}
	return &s->keys[s->nkeys++];
}

/* Puts a key of the object whose keys begin at `first` on the stack. */
static int key_add(struct scanner *s, size_t first, struct span text, bool escaped)
{
	struct key *k = key_push(s);
	struct buf b = BUF_INIT;

	*k = (struct key){ text.p, text.n, 0, text.p };
	if (escaped) {
		scan_decode(text, &b);
		k->n = b.len;
		k->p = buf_detach(&b);
	}
	k->signature = signature(k->p, k->n);
	if (s->nkeys - first > KEYS_COMPARED)
		return 0;
	for (const struct key *other = s->keys + first; other < k; other++)
		if (other->signature == k->signature && !key_order(other, k))
			return duplicate(s, other, k);
	return 0;
}

static void keys_drop(struct scanner *s, size_t first)
{
	for (const struct key *k = s->keys + first; k < s->keys + s->nkeys; k++)
		if (k->p != k->at)
			free((char *)k->p);
	s->nkeys = first;
}

static int keys_close(struct scanner *s, size_t first)
{
	struct key *k = s->keys + first;
	size_t n = s->nkeys - first;

	if (n > KEYS_COMPARED) {
		qsort(k, n, sizeof *k, key_order);
		for (size_t i = 1; i < n; i++)
			if (!key_order(&k[i - 1], &k[i]))
				return duplicate(s, &k[i - 1], &k[i]);
	}
	keys_drop(s, first);
	return 0;
}

static int value(struct scanner *s);

/* key ":" value; m (may be NULL) gets the spans */
static int member(struct scanner *s, size_t first, struct scan_member *m)
{
	struct span key, raw;
	bool escaped;

	if (peek_token(s) != '"')
		return unexpected(s, "no key");
	if (string(s, &key, &escaped) || key_add(s, first, key, escaped))
		return -1;
	if (peek_token(s) != ':')
		return unexpected(s, "no ':'");
	s->p++;
	peek_token(s);
	raw.p = s->p;
	if (value(s))
		return -1;
	raw.n = (size_t)(s->p - raw.p);
	if (m)
		*m = (struct scan_member){ key, raw };
	return 0;
}

static int too_deep(struct scanner *s)
{
	char why[60];

	snprintf(why, sizeof why, "nested deeper than %d levels", SCAN_DEPTH);
	return fail(s, s->p, why);
}

/* "{" [member {"," member}] "}"; out (may be NULL) collects the members */
static int object(struct scanner *s, struct scan *out)
{
	size_t first = s->nkeys;

	if (++s->depth > SCAN_DEPTH)
		return too_deep(s);
	s->p++;
	if (peek_token(s) != '}') {
		for (;; s->p++) {
			if (out && out->n == SCAN_MEMBERS)
				return fail(s, s->p, "too many members");
			if (member(s, first, out ? &out->member[out->n++] : NULL))
				return -1;
			if (peek_token(s) != ',')
				break;
		}
		if (peek(s) != '}')
			return unexpected(s, "no ',' or '}'");
	}
	if (out)
		out->end = (size_t)(s->p - s->start);
	s->p++;
	s->depth--;
	return keys_close(s, first);
}

/* "[" [value {"," value}] "]" */
static int array(struct scanner *s)
{
	if (++s->depth > SCAN_DEPTH)
		return too_deep(s);
	s->p++;
	if (peek_token(s) != ']') {
		for (;; s->p++) {
			if (value(s))
				return -1;
			if (peek_token(s) != ',')
				break;
		}
		if (peek(s) != ']')
			return unexpected(s, "no ',' or ']'");
	}
	s->p++;
	s->depth--;
	return 0;
}

static int value(struct scanner *s)
{
	struct span inside;
	bool escaped;

	switch (peek_token(s)) {
	case '{':
		return object(s, NULL);
	case '[':
		return array(s);
	case '"':
		return string(s, &inside, &escaped);
	case 't':
		return word(s, "true");
	case 'f':
		return word(s, "false");
	case 'n':
		return word(s, "null");
	case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
		return number(s);
	}
	return unexpected(s, "not a JSON value");
}

/* One value, or one object whose members go to out, and nothing after it. */
static int whole(const char *text, size_t n, struct scan *out, struct err *e)
{
	struct scanner s = { .start = text, .p = text, .end = text + n, .e = e, .cap = KEYS_INLINE };
	int rc;

	s.keys = s.inline_keys;
	if (out && peek_token(&s) != '{')
		rc = unexpected(&s, "not a JSON object");
	else
		rc = out ? object(&s, out) : value(&s);
	if (rc == 0 && peek_token(&s) >= 0)
		rc = unexpected(&s, "text after the end");
	keys_drop(&s, 0);
	if (s.keys != s.inline_keys)
		free(s.keys);
	return rc;
}

int scan_object(const char *line, size_t n, struct scan *s, struct err *e)
{
	s->n = 0;
	return whole(line, n, s, e);
}

static bool key_is(struct span key, const char *name)
{
	struct buf b = BUF_INIT;
	bool same;

	if (!memchr(key.p, '\\', key.n))
		return key.n == strlen(name) && !memcmp(key.p, name, key.n);
	scan_decode(key, &b);
	same = b.len == strlen(name) && !memcmp(b.data, name, b.len);
	buf_release(&b);
	return same;
}

const struct scan_member *scan_find(const struct scan *s, const char *key)
{
	for (int i = 0; i < s->n; i++)
		if (key_is(s->member[i].key, key))
			return &s->member[i];
	return NULL;
}

int scan_value(const char *text, size_t n, struct err *e)
{
	return whole(text, n, NULL, e);
}

static unsigned hex4(const char *p)
{
	unsigned x = 0;

	for (int i = 0; i < 4; i++)
		x = x << 4 | (unsigned)(p[i] <= '9' ? p[i] - '0' : (p[i] | 0x20) - 'a' + 10);
	return x;
}

static void add_utf8(struct buf *out, unsigned c)
{
	if (c < 0x80) {
		buf_addch(out, (char)c);
		return;
	}
	if (c < 0x800) {
		buf_addch(out, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			buf_addch(out, (char)(0xe0 | c >> 12));
		} else {
			buf_addch(out, (char)(0xf0 | c >> 18));
			buf_addch(out, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		buf_addch(out, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	buf_addch(out, (char)(0x80 | (c & 0x3f)));
}

unsigned scan_unicode(const char *p, const char *end, size_t *len)
{
	unsigned c = hex4(p + 2), low = 0;

	*len = 6;
	if (c >= 0xd800 && c < 0xdc00 && end - p >= 12 && p[6] == '\\' && p[7] == 'u')
		low = hex4(p + 8);
	if (low >= 0xdc00 && low < 0xe000) {
		*len = 12;
		return 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
	}
	return c == 0 || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c;
}

void scan_decode(struct span inside, struct buf *out)
{
	static const char plain[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
	const char *p = inside.p, *end = p + inside.n;

	while (p < end) {
		const char *backslash = memchr(p, '\\', (size_t)(end - p));
		size_t len = 2;

		buf_add(out, p, (size_t)((backslash ? backslash : end) - p));
		if (!backslash)
			break;
		if (backslash[1] == 'u')
			add_utf8(out, scan_unicode(backslash, end, &len));
		else
			buf_addch(out, meaning[strchr(plain, backslash[1]) - plain]);
		p = backslash + len;
	}
}
