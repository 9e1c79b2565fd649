/* A survey of wrong elements in words. */
#include "pattern.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD_MAX = 1024 };

/* ---- where: along one dimension */

/* The coordinates that wrong elements have: all, from a on, up to b, a to b, a to b of every `period`, or `some`. */
struct places {
	enum { PLACES_ALL, PLACES_ONE, PLACES_FIRST, PLACES_LAST, PLACES_RANGE, PLACES_PERIODIC, PLACES_SOME } kind;
	long long a, b;		/* both included */
	long long period;
	long long n;		/* how many coordinates */
};

/* Marks the bins that hold at least half as many as the fullest: so a stray element elsewhere does no harm. */
static long long mark(const uint64_t *count, long long bins, unsigned char *in)
{
	uint64_t most = 0;
	long long n = 0;

	for (long long c = 0; c < bins; c++)
		most = count[c] > most ? count[c] : most;
	for (long long c = 0; c < bins; c++) {
		in[c] = count[c] > 0 && count[c] >= most - most / 2;
		n += in[c];
	}
	return n;
}

/* The smallest period after which the marks repeat; 0: none, or too long to be one. */
static long long find_period(const unsigned char *in, long long bins)
{
	long long most = bins / 2 < PERIOD_MAX ? bins / 2 : PERIOD_MAX;

	for (long long p = 2; p <= most; p++)
		if (!memcmp(in, in + p, (size_t)(bins - p)))
			return p;
	return 0;
}

/* The first run of marks in the first n bins, from *a to *b; false when there is another one behind it. */
static bool one_run(const unsigned char *in, long long n, long long *a, long long *b)
{
	const unsigned char *from = memchr(in, 1, (size_t)n), *to = from ? memchr(from, 0, (size_t)(in + n - from)) : NULL;

	*a = from ? from - in : 0;
	*b = to ? to - in - 1 : n - 1;
	return from && (!to || !memchr(to, 1, (size_t)(in + n - to)));
}

static struct places describe(const unsigned char *in, long long bins, long long marked)
{
	struct places p = { .kind = PLACES_SOME, .n = marked };

	if (marked == bins) {
		p.kind = PLACES_ALL;
	} else if (one_run(in, bins, &p.a, &p.b)) {
		p.kind = p.a == p.b ? PLACES_ONE : p.a == 0 ? PLACES_FIRST : p.b == bins - 1 ? PLACES_LAST : PLACES_RANGE;
	} else if ((p.period = find_period(in, bins)) && one_run(in, p.period, &p.a, &p.b)) {
		p.kind = PLACES_PERIODIC;
	}
	return p;
}

/* Bins as coordinates, where a bin is several. */
static void widen(struct places *p, long long width, long long extent)
{
	if (width == 1)
		return;
	p->a *= width;
	p->b = p->b * width + width - 1;
	p->b = p->b < extent ? p->b : extent - 1;
	p->period *= width;
	p->n = p->n * width < extent ? p->n * width : extent;
	if (p->kind == PLACES_ONE)
		p->kind = PLACES_RANGE;
}

static struct places places_of(const struct spread *s, int d)
{
	long long bins = (s->shape[d] + s->width[d] - 1) / s->width[d];
	struct places p = { .kind = PLACES_ALL, .n = 1 };
	unsigned char *in;

	if (s->shape[d] == 1)
		return p;
	in = xcalloc((size_t)bins, 1);
	p = describe(in, bins, mark(s->count[d], bins, in));
	free(in);
	widen(&p, s->width[d], s->shape[d]);
	return p;
}

/* "row 3", "the last 4 columns", "every 2nd of dimension 1 (HQ) from 1" */
static void add_places(struct buf *out, const struct spread *s, int d, const struct places *p)
{
	static const char *const plain[2][2] = { { "element", NULL }, { "row", "column" } };
	const char *name = s->ndim <= 2 ? plain[s->ndim - 1][d] : "index", *plural = s->ndim <= 2 ? "s" : "";
	static const char *const ordinal[] = { "th", "st", "nd", "rd" };
	long long ten = p->period % 100;

	switch (p->kind) {
	case PLACES_ALL:
		return;
	case PLACES_ONE:
		if (p->a == s->shape[d] - 1)
			buf_addf(out, "the last %s", name);
		else
			buf_addf(out, "%s %lld", name, p->a);
		break;
	case PLACES_FIRST:
	case PLACES_LAST:
		buf_addf(out, "the %s %lld %s", p->kind == PLACES_FIRST ? "first" : "last", p->b - p->a + 1,
			 s->ndim <= 2 ? name : "indices");
		break;
	case PLACES_RANGE:
		buf_addf(out, "%s%s %lld to %lld", s->ndim <= 2 ? name : "indices", plural, p->a, p->b);
		break;
	case PLACES_PERIODIC:
		if (p->a == p->b)
			buf_addf(out, "every %lld%s %s from %lld on", p->period,
				 ten / 10 != 1 && ten % 10 < 4 ? ordinal[ten % 10] : "th", name, p->a);
		else
			buf_addf(out, "%s%s %lld to %lld of every %lld", s->ndim <= 2 ? name : "indices", plural, p->a,
				 p->b, p->period);
		break;
	case PLACES_SOME:
		buf_addf(out, "%lld of the %lld %s", p->n, s->shape[d], s->ndim <= 2 ? name : "indices");
		break;
	}
	if ((p->kind == PLACES_FIRST || p->kind == PLACES_LAST || p->kind == PLACES_SOME) && p->n != 1)
		buf_addstr(out, plural);
	if (s->ndim > 2)
		buf_addf(out, " of dimension %d (%.24s)", d, s->name[d]);
}

/* ---- where: all dimensions together */

/* How much of the box that the dimensions' coordinates span is wrong. */
static double fill(const struct spread *s, const struct places *p)
{
	double volume = 1;

	for (int d = 0; d < s->ndim; d++)
		volume *= (double)(s->shape[d] == 1 ? 1 : p[d].n);
	return (double)s->traits.wrong / volume;
}

static void add_where(struct buf *out, const struct spread *s)
{
	struct places p[TASK_DIMS];
	const struct traits *t = &s->traits;
	bool dense, whole = t->wrong >= s->elements - s->elements / 10, run = t->wrong == t->last - t->first + 1;
	size_t start = out->len;

	for (int d = 0; d < s->ndim; d++)
		p[d] = places_of(s, d);
	dense = fill(s, p) >= 0.5;
	if (t->wrong == 1 && s->elements > 1) {
		buf_addstr(out, "a single element");
		return;
	}
	if (run && !whole && fill(s, p) < 0.9) {	/* one run of memory that is no box */
		if (t->last == s->elements - 1)
			buf_addf(out, "the last %lld elements in memory", t->wrong);
		else
			buf_addf(out, "elements %lld to %lld in memory", t->first, t->last);
		return;
	}
	for (int d = 0; d < s->ndim; d++)
		if (p[d].kind != PLACES_ALL && (dense || p[d].kind != PLACES_SOME)) {
			buf_addstr(out, out->len > start ? ", " : dense ? "" : "scattered over ");
			add_places(out, s, d, &p[d]);
		}
	if (out->len == start)
		buf_addstr(out, whole ? "everywhere" : "scattered");
}

/* ---- what they are like */

/* Nearly all of the wrong elements. */
static bool most(const struct traits *t, long long n)
{
	return n > 0 && n >= t->wrong - t->wrong / 20;
}

/* A neighbour's value, or a transposed place's, where most of them fit; -1: none. */
static int find_place(const struct traits *t)
{
	int best = -1;

	for (int k = 0; k < SURVEY_PLACES; k++)
		if (t->tried[k] * 2 > t->wrong && t->fits[k] >= t->tried[k] - t->tried[k] / 20 &&
		    (best < 0 || t->fits[k] > t->fits[best]))
			best = k;
	return best;
}

static void add_place(struct buf *out, const struct spread *s, int k)
{
	int d = k / 2;

	if (k == SURVEY_TRANSPOSED) {
		buf_addstr(out, ", as if the last two dimensions were transposed");
		return;
	}
	buf_addf(out, ", the value that belongs one %s", k % 2 ? "further" : "before");
	if (s->ndim > 1)
		buf_addf(out, " along dimension %d (%.24s)", d, s->name[d]);
}

/* A common factor, where it explains most of the error; how far off otherwise, where that is little. */
static void add_factor(struct buf *out, const struct traits *t)
{
	double factor = t->got_ref / t->ref2, rest = t->got2 - factor * t->got_ref,
	       error = t->got2 - 2 * t->got_ref + t->ref2;
	double off = sqrt(fmax(error, 0) / t->ref2);

	if (!(t->ref2 > 0) || !isfinite(t->got2) || !most(t, t->wrong - t->nan - t->infinite))
		return;
	if (fabs(factor + 1) < 1e-3 && fmax(rest, 0) < 0.01 * t->ref2)
		buf_addstr(out, ", of the opposite sign");
	else if (fmax(rest, 0) < 0.06 * (factor - 1) * (factor - 1) * t->ref2)
		buf_addf(out, ", about %.4g times what is expected", factor);
	else if (off < 0.2)
		buf_addf(out, ", off by about %.2g %% each (lower precision?)", 100 * off);
}

static void add_what(struct buf *out, const struct spread *s)
{
	const struct traits *t = &s->traits;
	int place = find_place(t);

	if (most(t, t->unwritten))
		buf_addstr(out, ", not written");
	else if (most(t, t->nan))
		buf_addstr(out, ", NaN");
	else if (most(t, t->infinite))
		buf_addstr(out, ", infinite");
	else if (most(t, t->nan + t->infinite))
		buf_addstr(out, ", NaN or infinite");
	else if (most(t, t->zero))
		buf_addstr(out, ", zero");
	else if (t->wrong > 1 && !t->nan && !t->infinite && t->least == t->greatest)
		buf_addf(out, ", all %.6g", t->least);
	else if (t->wrong > 1 && place >= 0)
		add_place(out, s, place);
	else if (t->wrong > 1)
		add_factor(out, t);
}

void pattern_words(const struct spread *s, struct buf *words)
{
	if (!s->traits.wrong) {
		buf_addstr(words, "small errors throughout, none stands out (lower precision?)");
		return;
	}
	add_where(words, s);
	add_what(words, s);
}
