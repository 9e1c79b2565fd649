/* Finds comments and string statements among the tokens, and copies the text around them. */
#include "pystrip.h"
#include "pytoken.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A stretch of the text to leave out. */
struct cut {
	size_t at, end;
	bool pass;		/* leave "pass" in its place */
};

struct stripper {
	const char *text;
	size_t len;
	struct pytokens tokens;
	struct cut *cuts;
	size_t ncuts, cap;
};

static bool token_is(const struct stripper *s, const struct pytoken *t, const char *word)
{
	return t->len == strlen(word) && !memcmp(s->text + t->at, word, t->len);
}

static void add_cut(struct stripper *s, size_t at, size_t end, bool pass)
{
	s->cuts = xgrow(s->cuts, &s->cap, s->ncuts + 1, sizeof *s->cuts);
	s->cuts[s->ncuts++] = (struct cut){ at, end, pass };
}

/* Index of the next token at or after i that is no comment; the number of tokens at the end. */
static size_t next_code(const struct stripper *s, size_t i)
{
	while (i < s->tokens.n && s->tokens.v[i].kind == PY_COMMENT)
		i++;
	return i;
}

/* Does the statement that begins with token i have a header with a ':' before its body? "match" and "case" are
 * keywords only where a name could not go on. */
static bool is_compound(const struct stripper *s, size_t i)
{
	static const char *const words[] = {
		"def", "class", "if", "elif", "else", "for", "while", "try", "except", "finally", "with", "async",
	};
	static const char *const goes_on[] = { ":", "=", ".", ",", ")", ":=" };
	const struct pytoken *t = &s->tokens.v[i];
	size_t k;

	for (k = 0; k < sizeof words / sizeof *words; k++)
		if (token_is(s, t, words[k]))
			return true;
	if (!token_is(s, t, "case") && !token_is(s, t, "match"))
		return false;
	i = next_code(s, i + 1);
	for (k = 0; i < s->tokens.n && k < sizeof goes_on / sizeof *goes_on; k++)
		if (token_is(s, &s->tokens.v[i], goes_on[k]))
			return false;
	return i < s->tokens.n && s->tokens.v[i].kind != PY_NEWLINE;
}

/* One simple statement, or the header of a compound one, as it is read. */
struct statement {
	size_t first, last;	/* tokens */
	bool any, string, name;
	bool compound;		/* its ':' is still to come */
	int lambdas;		/* ':' that belong to a lambda */
	bool shares_line;	/* something stands before it on its logical line */
};

static void statement_add(struct stripper *s, struct statement *st, size_t i, int depth)
{
	const struct pytoken *t = &s->tokens.v[i];

	if (!st->any) {
		st->first = i;
		st->compound = t->kind == PY_NAME && is_compound(s, i);
	}
	st->any = true;
	st->last = i;
	st->string |= t->kind == PY_STRING;
	st->name |= t->kind == PY_NAME;
	if (depth == 0 && token_is(s, t, "lambda"))
		st->lambdas++;
}

/* The statement is over; token i ended it. */
static void statement_end(struct stripper *s, struct statement *st, size_t i)
{
	const struct pytoken *v = s->tokens.v;
	bool alone = !st->shares_line && v[i].kind == PY_NEWLINE;
	size_t next = next_code(s, i + 1);
	bool last_of_block = next < s->tokens.n && v[next].kind == PY_DEDENT;

	if (st->any && st->string && !st->name)
		add_cut(s, v[st->first].at, v[st->last].at + v[st->last].len, !alone || last_of_block);
	*st = (struct statement){ .shares_line = v[i].kind == PY_OP };
}

static void find_string_statements(struct stripper *s)
{
	struct statement st = { 0 };
	int depth = 0;
	size_t i;

	for (i = 0; i < s->tokens.n; i++) {
		const struct pytoken *t = &s->tokens.v[i];
		char c = t->kind == PY_OP && t->len == 1 ? s->text[t->at] : '\0';

		if (t->kind == PY_COMMENT)
			continue;
		if (c && strchr("([{", c))
			depth++;
		else if (c && strchr(")]}", c))
			depth--;
		if (t->kind == PY_NEWLINE || t->kind == PY_INDENT || t->kind == PY_DEDENT ||
		    (depth == 0 && (c == ';' || (c == ':' && st.compound && !st.lambdas))))
			statement_end(s, &st, i);
		else
			statement_add(s, &st, i, depth);
		if (depth == 0 && c == ':' && st.lambdas)
			st.lambdas--;
	}
}

static void find_comments(struct stripper *s)
{
	size_t i;

	for (i = 0; i < s->tokens.n; i++)
		if (s->tokens.v[i].kind == PY_COMMENT)
			add_cut(s, s->tokens.v[i].at, s->tokens.v[i].at + s->tokens.v[i].len, false);
}

static int compare_cuts(const void *a, const void *b)
{
	const struct cut *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static void copy_around(const struct stripper *s, struct buf *out)
{
	const struct cut *c = s->cuts, *end = s->cuts + s->ncuts;
	size_t i, inside = 0, start = out->len;
	bool trim = false;	/* something was cut out of this line */

	for (i = 0; i < s->len; i++) {
		char ch = s->text[i];

		for (; c < end && c->at == i; c++) {
			if (i >= inside && c->pass)
				buf_addstr(out, "pass");
			inside = c->end > inside ? c->end : inside;
			trim = true;
		}
		if (ch == '\r' && i + 1 < s->len && s->text[i + 1] == '\n')
			continue;
		if (ch == '\n' || ch == '\r') {
			while (trim && out->len > start && strchr(" \t\f", out->data[out->len - 1]))
				out->len--;
			buf_addch(out, '\n');
			trim = i + 1 < inside;
		} else if (i >= inside) {
			buf_addch(out, ch);
		}
	}
}

int python_strip(const char *text, size_t n, struct buf *out, struct err *e)
{
	struct stripper s = { .text = text, .len = n };
	int r = pytokens_read(&s.tokens, text, n, false, e);

	if (!r) {
		find_comments(&s);
		find_string_statements(&s);
		if (s.ncuts)
			qsort(s.cuts, s.ncuts, sizeof *s.cuts, compare_cuts);
		copy_around(&s, out);
	}
	pytokens_release(&s.tokens);
	free(s.cuts);
	return r;
}
