/* Reads, checks and counts what a judge answered; the judge itself adds up nothing. */
#include "verdict.h"
#include "emit.h"
#include "json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const verdict_name[] = {
	[VERDICT_NO] = "no",
	[VERDICT_PARTLY] = "partly",
	[VERDICT_YES] = "yes",
};

static const double verdict_value[] = { [VERDICT_NO] = 0, [VERDICT_PARTLY] = 0.5, [VERDICT_YES] = 1 };

/* Narrows the text to what stands between blanks, and between a fence's first and last line if it is fenced. */
static void unwrap(const char **text, size_t *n)
{
	static const char blanks[] = " \t\r\n";
	const char *s = *text, *end = s + *n, *line_end;

	while (s < end && strchr(blanks, *s))
		s++;
	while (end > s && strchr(blanks, end[-1]))
		end--;
	line_end = memchr(s, '\n', (size_t)(end - s));
	if (end - s > 6 && !memcmp(s, "```", 3) && !memcmp(end - 3, "```", 3) && line_end) {
		s = line_end + 1;
		end -= 3;
	}
	*text = s;
	*n = (size_t)(end - s);
}

static int read_quotes(struct verdict_item *it, const char *id, const struct json *list, const struct quotable *text,
		       struct err *e)
{
	const struct json *c;
	bool shown = false, absent = false;

	if (json_type(list) != JSON_ARR)
		return err_set(e, "'%s': quotes must be a list", id);
	it->quotes = xcalloc((size_t)json_len(list) + 1, sizeof *it->quotes);
	for (c = json_first(list); c; c = json_next(c)) {
		struct verdict_quote *q = &it->quotes[it->nquotes];
		enum quote_found found;

		if (!json_str(c))
			return err_set(e, "'%s': a quote is not a string", id);
		q->text = xstrdup(json_str(c));
		it->nquotes++;
		found = quote_find(text, q->text, &q->line);
		shown |= found == QUOTE_PRESENT;
		absent |= found == QUOTE_ABSENT;
	}
	it->counted = shown && !absent ? it->verdict : VERDICT_NO;
	return 0;
}

static int read_item(struct verdicts *v, const struct json *j, const struct guidance *g, const struct quotable *text,
		     struct err *e)
{
	static const char *const keys[] = { "id", "verdict", "quotes", "reason", NULL };
	const char *id = json_get_str(j, "id"), *said = json_get_str(j, "verdict"), *reason = json_get_str(j, "reason");
	int i = id ? guidance_find(g, id) : -1, k;
	struct verdict_item *it;
	struct err why = { "" };

	if (json_type(j) != JSON_OBJ || !id)
		return err_set(e, "a verdict without an id");
	if (i < 0)
		return err_set(e, "unknown id '%.40s'", id);
	if (json_only_keys(j, keys, &why))
		return err_set(e, "'%s': %s", id, why.text);
	it = &v->v[i];
	if (it->given)
		return err_set(e, "'%s' is answered twice", id);
	it->given = true;
	for (k = VERDICT_YES; k >= 0 && (!said || strcmp(said, verdict_name[k])); k--)
		;
	if (k < 0)
		return err_set(e, "'%s': the verdict must be yes, partly or no", id);
	if (!reason)
		return err_set(e, "'%s': no reason", id);
	it->verdict = (enum verdict)k;
	it->reason = xstrdup(reason);
	return read_quotes(it, id, json_get(j, "quotes"), text, e);
}

static int read_all(struct verdicts *v, const struct json *j, const struct guidance *g, const struct quotable *text,
		    struct err *e)
{
	static const char *const keys[] = { "verdicts", NULL };
	const struct json *list = json_get(j, "verdicts"), *c;
	int i;

	if (json_type(j) != JSON_OBJ || json_type(list) != JSON_ARR)
		return err_set(e, "no object with a list 'verdicts'");
	if (json_only_keys(j, keys, e))
		return -1;
	for (c = json_first(list); c; c = json_next(c))
		if (read_item(v, c, g, text, e))
			return -1;
	for (i = 0; i < g->n; i++)
		if (!v->v[i].given)
			return err_set(e, "no verdict for '%s'", g->items[i].id);
	return 0;
}

int verdicts_read(struct verdicts *v, const char *answer, const struct guidance *g, const struct quotable *text,
		  struct err *e)
{
	size_t n = strlen(answer);
	struct json *j;
	int r;

	v->n = g->n;
	v->v = xcalloc((size_t)g->n, sizeof *v->v);
	unwrap(&answer, &n);
	j = json_parse(answer, n, e);
	r = j ? read_all(v, j, g, text, e) : -1;
	json_free(j);
	if (r)
		verdicts_release(v);
	return r;
}

void verdicts_release(struct verdicts *v)
{
	int i, k;

	for (i = 0; i < v->n; i++) {
		for (k = 0; k < v->v[i].nquotes; k++)
			free(v->v[i].quotes[k].text);
		free(v->v[i].quotes);
		free(v->v[i].reason);
	}
	free(v->v);
	*v = (struct verdicts){ NULL, 0 };
}

static void emit_item(struct buf *out, const struct verdict_item *it, const struct guidance_item *g)
{
	int k;

	emit_open(out, '{');
	emit_kstr(out, "id", g->id);
	emit_kstr(out, "level", level_name[g->level]);
	emit_kstr(out, "verdict", verdict_name[it->verdict]);
	emit_kstr(out, "counted", verdict_name[it->counted]);
	emit_kbool(out, "void", it->counted != it->verdict);
	emit_key(out, "quotes");
	emit_open(out, '[');
	for (k = 0; k < it->nquotes; k++) {
		emit_open(out, '{');
		emit_kstr(out, "text", it->quotes[k].text);
		if (it->quotes[k].line)
			emit_kint(out, "line", it->quotes[k].line);
		else
			emit_knull(out, "line");
		emit_close(out, '}');
	}
	emit_close(out, ']');
	emit_kstr(out, "reason", it->reason);
	emit_close(out, '}');
}

void verdicts_emit(struct buf *out, const struct verdicts *v, const struct guidance *g)
{
	int i;

	emit_open(out, '[');
	for (i = 0; i < v->n; i++)
		emit_item(out, &v->v[i], &g->items[i]);
	emit_close(out, ']');
}

static bool rests_on_counted(const struct verdicts *v, const struct guidance *g, int i)
{
	const struct guidance_item *it = &g->items[i];
	int k, need;

	for (k = 0; k < it->nrequires; k++) {
		need = guidance_find(g, it->requires[k]);
		if (v->v[need].counted == VERDICT_NO || !rests_on_counted(v, g, need))
			return false;
	}
	return true;
}

void verdicts_score(const struct verdicts *v, const struct guidance *g, bool gated, struct verdict_scores *s)
{
	double weight[LEVELS] = { 0 }, sum[LEVELS] = { 0 }, total = 0;
	int i, level, present = 0;

	for (i = 0; i < g->n; i++) {
		level = g->items[i].level;
		weight[level] += g->items[i].weight;
		if (!gated || rests_on_counted(v, g, i))
			sum[level] += g->items[i].weight * verdict_value[v->v[i].counted];
	}
	for (level = 0; level < LEVELS; level++) {
		s->level[level] = weight[level] > 0 ? 100 * sum[level] / weight[level] : NAN;
		if (weight[level] > 0) {
			total += s->level[level];
			present++;
		}
	}
	s->combined = present ? total / present : NAN;
}

void verdict_scores_emit(struct buf *out, const struct verdict_scores *s)
{
	int level;

	emit_open(out, '{');
	for (level = 0; level < LEVELS; level++)
		emit_knum(out, level_name[level], s->level[level]);
	emit_knum(out, "combined", s->combined);
	emit_close(out, '}');
}
