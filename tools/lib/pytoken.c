/* A tokenizer after Python's own (Lib/tokenize documents the rules): indentation, line joining, every string prefix,
 * f-strings whose fields hold code again. One pass, no copy. */
#include "pytoken.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { INDENTS_MAX = 100, FSTRING_MAX = 50, TAB = 8 };	/* the first two as CPython's limits */

struct lexer {
	const char *s;
	size_t n, pos;
	int line;
	int depth, floor;	/* open brackets; those that belong to an enclosing f-string's field */
	int nesting;		/* f-strings within f-strings */
	int indents[INDENTS_MAX], nindents;
	bool fragment;
	struct pytokens *out;
	struct err *e;
};

static int lex_string(struct lexer *l, size_t start, size_t prefix);

static int fail(struct lexer *l, int line, const char *why)
{
	return err_set(l->e, "line %d: %s", line, why);
}

static char peek(const struct lexer *l, size_t ahead)
{
	return l->pos + ahead < l->n ? l->s[l->pos + ahead] : '\0';
}

static bool at_newline(const struct lexer *l)
{
	return peek(l, 0) == '\n' || peek(l, 0) == '\r';
}

static void skip_newline(struct lexer *l)
{
	l->pos += peek(l, 0) == '\r' && peek(l, 1) == '\n' ? 2 : 1;
	l->line++;
}

/* Moves over n bytes that may hold line ends. */
static void skip(struct lexer *l, size_t n)
{
	size_t end = l->pos + n;

	while (l->pos < end && l->pos < l->n) {
		if (at_newline(l))
			skip_newline(l);
		else
			l->pos++;
	}
}

static void put(struct lexer *l, enum pytoken_kind kind, size_t at, int line)
{
	struct pytokens *t = l->out;

	t->v = xgrow(t->v, &t->cap, t->n + 1, sizeof *t->v);
	t->v[t->n++] = (struct pytoken){ kind, at, l->pos - at, line };
}

/* Bytes of a character above ASCII count as letters: which of them Python allows in a name does not matter here. */
static bool name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool name_char(char c)
{
	return name_start(c) || isdigit((unsigned char)c);
}

static void lex_comment(struct lexer *l)
{
	size_t start = l->pos;

	while (l->pos < l->n && !at_newline(l))
		l->pos++;
	put(l, PY_COMMENT, start, l->line);
}

/* Digits of the base, with single underscores between them. */
static void skip_digits(struct lexer *l, int (*digit)(int))
{
	while (digit((unsigned char)peek(l, 0)) || (peek(l, 0) == '_' && digit((unsigned char)peek(l, 1))))
		l->pos++;
}

/* number = "0" ("x"|"o"|"b") digits | digits ["." [digits]] [exponent] ["j"] | "." digits [exponent] ["j"] */
static void lex_number(struct lexer *l)
{
	size_t start = l->pos, sign;

	if (peek(l, 0) == '0' && peek(l, 1) && strchr("xXoObB", peek(l, 1))) {
		l->pos += 2;
		skip_digits(l, isxdigit);
	} else {
		skip_digits(l, isdigit);
		if (peek(l, 0) == '.') {
			l->pos++;
			skip_digits(l, isdigit);
		}
		sign = peek(l, 1) == '+' || peek(l, 1) == '-';
		if ((peek(l, 0) | 0x20) == 'e' && isdigit((unsigned char)peek(l, 1 + sign))) {
			l->pos += 1 + sign;
			skip_digits(l, isdigit);
		}
		if ((peek(l, 0) | 0x20) == 'j')
			l->pos++;
	}
	put(l, PY_NUMBER, start, l->line);
}

/* Length of the string prefix at pos when a quote follows it, else -1. */
static int string_prefix(const struct lexer *l)
{
	int i = 0;

	while (i < 2 && peek(l, (size_t)i) && strchr("rRbBuUfFtT", peek(l, (size_t)i)))
		i++;
	return peek(l, (size_t)i) == '"' || peek(l, (size_t)i) == '\'' ? i : -1;
}

static int lex_name(struct lexer *l)
{
	size_t start = l->pos;
	int prefix = string_prefix(l);

	if (prefix >= 0)
		return lex_string(l, start, (size_t)prefix);
	while (l->pos < l->n && name_char(l->s[l->pos]))
		l->pos++;
	put(l, PY_NAME, start, l->line);
	return 0;
}

static size_t operator_length(const struct lexer *l)
{
	static const char *const ops[] = {	/* longer ones first */
		"**=", "//=", ">>=", "<<=", "...", "!=", "->", ":=", "**", "//", "<<", ">>", "<=", ">=", "==",
		"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=", "<>",
	};
	size_t i, n;

	for (i = 0; i < sizeof ops / sizeof *ops; i++) {
		n = strlen(ops[i]);
		if (l->n - l->pos >= n && !memcmp(l->s + l->pos, ops[i], n))
			return n;
	}
	return peek(l, 0) && strchr("+-*/%@&|^~<>()[]{},:.;=", peek(l, 0)) ? 1 : 0;
}

static int lex_operator(struct lexer *l)
{
	size_t start = l->pos, n = operator_length(l);

	if (!n)
		return fail(l, l->line, "a character that is no part of Python");
	if (strchr("([{", l->s[start])) {
		l->depth++;
	} else if (strchr(")]}", l->s[start])) {
		if (l->depth > l->floor)
			l->depth--;
		else if (!l->fragment || l->floor)
			return fail(l, l->line, "a closing bracket that nothing opens");
	}
	l->pos += n;
	put(l, PY_OP, start, l->line);
	return 0;
}

/* One token, or the space before one. */
static int lex_one(struct lexer *l)
{
	char c = peek(l, 0);

	if (c == ' ' || c == '\t' || c == '\f') {
		l->pos++;
		return 0;
	}
	if (c == '\\' && (peek(l, 1) == '\n' || peek(l, 1) == '\r')) {
		l->pos++;
		skip_newline(l);
		return 0;
	}
	if (c == '#') {
		lex_comment(l);
		return 0;
	}
	if (c == '"' || c == '\'')
		return lex_string(l, l->pos, 0);
	if (name_start(c))
		return lex_name(l);
	if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)peek(l, 1)))) {
		lex_number(l);
		return 0;
	}
	return lex_operator(l);
}

/* The delimiters of one string literal. */
struct quoting {
	char quote;
	bool triple, raw;
	int line;		/* where it opens, for messages */
};

static bool at_end_quote(const struct lexer *l, const struct quoting *q)
{
	if (peek(l, 0) != q->quote)
		return false;
	return !q->triple || (peek(l, 1) == q->quote && peek(l, 2) == q->quote);
}

static int unterminated(struct lexer *l, const struct quoting *q)
{
	return fail(l, q->line, "a string that does not end");
}

static int lex_plain_string(struct lexer *l, size_t start, const struct quoting *q)
{
	while (l->pos < l->n && !at_end_quote(l, q)) {
		if (!q->triple && at_newline(l))
			return unterminated(l, q);
		if (peek(l, 0) == '\\' && l->pos + 1 < l->n)
			l->pos++;	/* also in raw strings: \" does not end one */
		skip(l, peek(l, 0) == '\r' && peek(l, 1) == '\n' ? 2 : 1);
	}
	if (l->pos >= l->n)
		return unterminated(l, q);
	l->pos += q->triple ? 3 : 1;
	put(l, PY_STRING, start, q->line);
	return 0;
}

/* Literal text of an f-string, or of a field's format when in_format: up to a field, the end of the format or the end
 * of the string. */
static int lex_middle(struct lexer *l, const struct quoting *q, bool in_format)
{
	size_t start = l->pos;
	int line = l->line;
	char c;

	while (l->pos < l->n && !at_end_quote(l, q)) {
		c = peek(l, 0);
		if (!q->triple && at_newline(l))
			return unterminated(l, q);
		if (c == '\\' && peek(l, 1) != '{' && peek(l, 1) != '}') {
			l->pos++;
			/* \N{NAME OF A CHARACTER} is no field */
			if (!q->raw && peek(l, 0) == 'N' && peek(l, 1) == '{')
				while (l->pos < l->n && peek(l, 0) != '}' && !at_newline(l) && !at_end_quote(l, q))
					l->pos++;
		} else if ((c == '{' || c == '}') && !in_format && peek(l, 1) == c) {
			l->pos++;	/* a doubled brace is one of text */
		} else if (c == '{' || c == '}') {
			break;
		}
		skip(l, peek(l, 0) == '\r' && peek(l, 1) == '\n' ? 2 : 1);
	}
	if (l->pos > start)
		put(l, PY_STRING, start, line);
	return l->pos < l->n ? 0 : unterminated(l, q);
}

static void put_op(struct lexer *l)
{
	l->pos++;
	put(l, PY_OP, l->pos - 1, l->line);
}

static int lex_field(struct lexer *l, const struct quoting *q);

/* The format after a field's ':', which may hold fields itself. */
static int lex_format(struct lexer *l, const struct quoting *q)
{
	for (;;) {
		if (lex_middle(l, q, true))
			return -1;
		if (peek(l, 0) != '{')
			return 0;
		if (lex_field(l, q))
			return -1;
	}
}

/* field = "{" code ["!" name] [":" format] "}" */
static int lex_field(struct lexer *l, const struct quoting *q)
{
	int depth = l->depth, floor = l->floor;

	if (++l->nesting > FSTRING_MAX)
		return fail(l, l->line, "f-strings nested too deep");
	l->depth = l->floor = depth + 1;
	put_op(l);
	while (l->pos < l->n) {
		char c = peek(l, 0);

		if (at_newline(l)) {
			skip_newline(l);
		} else if (l->depth > l->floor || !c || !strchr("}:!", c) || (c == '!' && peek(l, 1) == '=')) {
			if (lex_one(l))
				return -1;
		} else if (c == '!') {
			put_op(l);
		} else {
			if (c == ':') {
				put_op(l);
				if (lex_format(l, q))
					return -1;
				if (peek(l, 0) != '}')
					return unterminated(l, q);
			}
			put_op(l);
			l->depth = depth;
			l->floor = floor;
			l->nesting--;
			return 0;
		}
	}
	return unterminated(l, q);
}

static int lex_fstring(struct lexer *l, size_t start, const struct quoting *q)
{
	put(l, PY_STRING, start, q->line);
	for (;;) {
		if (lex_middle(l, q, false))
			return -1;
		if (at_end_quote(l, q))
			break;
		if (peek(l, 0) == '}')
			return fail(l, l->line, "a single '}' in an f-string");
		if (lex_field(l, q))
			return -1;
	}
	start = l->pos;
	l->pos += q->triple ? 3 : 1;
	put(l, PY_STRING, start, l->line);
	return 0;
}

static int lex_string(struct lexer *l, size_t start, size_t prefix)
{
	struct quoting q = { l->s[start + prefix], false, false, l->line };
	bool fields = false;
	size_t i;

	for (i = start; i < start + prefix; i++) {
		q.raw |= (l->s[i] | 0x20) == 'r';
		fields |= strchr("fFtT", l->s[i]) != NULL;
	}
	l->pos = start + prefix;
	q.triple = peek(l, 1) == q.quote && peek(l, 2) == q.quote;
	l->pos += q.triple ? 3 : 1;
	return fields ? lex_fstring(l, start, &q) : lex_plain_string(l, start, &q);
}

/* The space a line starts with, in columns; the position moves behind it. */
static int read_indent(struct lexer *l)
{
	int col = 0;

	for (;; l->pos++) {
		if (peek(l, 0) == ' ')
			col++;
		else if (peek(l, 0) == '\t')
			col = (col / TAB + 1) * TAB;
		else if (peek(l, 0) == '\f')
			col = 0;
		else
			return col;
	}
}

static int set_indent(struct lexer *l, int col)
{
	if (l->fragment)
		return 0;
	if (col > l->indents[l->nindents]) {
		if (l->nindents + 1 >= INDENTS_MAX)
			return fail(l, l->line, "indented too deep");
		l->indents[++l->nindents] = col;
		put(l, PY_INDENT, l->pos, l->line);
	}
	while (col < l->indents[l->nindents]) {
		l->nindents--;
		put(l, PY_DEDENT, l->pos, l->line);
	}
	if (col != l->indents[l->nindents])
		return fail(l, l->line, "unindent that matches no outer level");
	return 0;
}

/* One logical line, or a line that holds no code. */
static int lex_line(struct lexer *l)
{
	int col = read_indent(l);
	size_t start;

	if (peek(l, 0) == '#')
		lex_comment(l);
	if (l->pos >= l->n)
		return 0;
	if (at_newline(l)) {
		skip_newline(l);
		return 0;
	}
	if (set_indent(l, col))
		return -1;
	while (l->pos < l->n) {
		if (!at_newline(l)) {
			if (lex_one(l))
				return -1;
		} else if (l->depth) {
			skip_newline(l);
		} else {
			break;
		}
	}
	if (l->depth && !l->fragment)
		return fail(l, l->line, "a bracket that nothing closes");
	start = l->pos;
	put(l, PY_NEWLINE, start, l->line);
	if (l->pos < l->n)
		skip_newline(l);
	return 0;
}

int pytokens_read(struct pytokens *t, const char *text, size_t n, bool fragment, struct err *e)
{
	struct lexer l = { .s = text, .n = n, .line = 1, .fragment = fragment, .out = t, .e = e };

	if (n && memchr(text, '\0', n))
		return err_set(e, "a NUL byte");
	if (n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3))
		l.pos = 3;	/* a byte order mark is no token */
	while (l.pos < n)
		if (lex_line(&l))
			return -1;
	return set_indent(&l, 0);
}

void pytokens_release(struct pytokens *t)
{
	free(t->v);
	*t = (struct pytokens){ NULL, 0, 0 };
}
