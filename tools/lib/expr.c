/* Arithmetic by recursive descent: one function per line of the grammar in expr.h. */
#include "expr.h"
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ARGS = 8, MAX_DEPTH = 100 };

struct parser {
	const char *text, *p;
	const struct var *vars;
	int n, depth;
	bool failed;
	struct err *e;
};

static double fail(struct parser *s, const char *why, const char *name, size_t n)
{
	if (!s->failed)
		err_set(s->e, "%s '%.*s' in expression '%s'", why, (int)n, name, s->text);
	s->failed = true;
	return NAN;
}

static char token(struct parser *s)
{
	s->p += strspn(s->p, " \t");
	return s->failed ? '\0' : *s->p;
}

static bool take(struct parser *s, char c)
{
	if (token(s) != c)
		return false;
	s->p++;
	return true;
}

static double expr(struct parser *s);

static double variable(struct parser *s, const char *name, size_t n)
{
	for (int i = 0; i < s->n; i++)
		if (strlen(s->vars[i].name) == n && !memcmp(s->vars[i].name, name, n))
			return s->vars[i].value;
	return fail(s, "unknown name", name, n);
}

static double cdiv(double a, double b)
{
	return ceil(a / b);
}

/* name "(" expr {"," expr} ")", with the name already read */
static double call(struct parser *s, const char *name, size_t n)
{
	static const struct {
		const char *name;
		double (*one)(double), (*two)(double, double);
	} functions[] = {
		{ "min", NULL, fmin }, { "max", NULL, fmax },	{ "cdiv", NULL, cdiv },
		{ "pow", NULL, pow },  { "floor", floor, NULL }, { "ceil", ceil, NULL },
	};
	double arg[MAX_ARGS];
	int nargs = 0;

	do
		arg[nargs++] = expr(s);
	while (nargs < MAX_ARGS && take(s, ','));
	if (!take(s, ')'))
		return fail(s, "no ')' after the arguments of", name, n);
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		if (strlen(functions[i].name) != n || memcmp(functions[i].name, name, n))
			continue;
		if (nargs != (functions[i].one ? 1 : 2))
			return fail(s, "wrong number of arguments for", name, n);
		return functions[i].one ? functions[i].one(arg[0]) : functions[i].two(arg[0], arg[1]);
	}
	return fail(s, "unknown function", name, n);
}

static size_t name_length(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '_')
		n++;
	return n;
}

static double number(struct parser *s)
{
	char *end;
	double x = strtod(s->p, &end);

	if (end == s->p)
		return fail(s, "bad number", s->p, 1);
	s->p = end;
	return x;
}

static double atom(struct parser *s)
{
	char c = token(s);
	const char *start = s->p;
	size_t n;
	double x;

	if (take(s, '(')) {
		x = expr(s);
		return take(s, ')') ? x : fail(s, "no ')' before", s->p, strlen(s->p));
	}
	if (isdigit((unsigned char)c) || c == '.')
		return number(s);
	n = name_length(start);
	if (n == 0)
		return fail(s, "no value before", start, strlen(start));
	s->p += n;
	return take(s, '(') ? call(s, start, n) : variable(s, start, n);
}

static double unary(struct parser *s)
{
	double x;

	if (++s->depth > MAX_DEPTH)
		return fail(s, "too deep at", s->p, strnlen(s->p, 20));
	x = take(s, '-') ? -atom(s) : atom(s);
	s->depth--;
	return x;
}

static double term(struct parser *s)
{
	double x = unary(s);

	for (;;) {
		if (take(s, '*'))
			x *= unary(s);
		else if (take(s, '/'))
			x /= unary(s);
		else if (take(s, '%'))
			x = fmod(x, unary(s));
		else
			return x;
	}
}

static double expr(struct parser *s)
{
	double x = term(s);

	for (;;) {
		if (take(s, '+'))
			x += term(s);
		else if (take(s, '-'))
			x -= term(s);
		else
			return x;
	}
}

int expr_eval(const char *text, const struct var *vars, int n, double *out, struct err *e)
{
	struct parser s = { .text = text, .p = text, .vars = vars, .n = n, .e = e };
	double x = expr(&s);

	if (token(&s))
		fail(&s, "unexpected", s.p, 1);
	if (s.failed)
		return -1;
	if (!isfinite(x))
		return err_set(e, "expression '%s' has no finite value", text);
	*out = x;
	return 0;
}
