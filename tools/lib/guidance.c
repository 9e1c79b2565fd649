/* Reads guidance/NAME.json and refuses what would make a level mean something else than it says: an item under the
 * wrong level, a requirement that does not exist, a circle of requirements, a misspelt key. */
#include "guidance.h"
#include "file.h"
#include "json.h"
#include <stdlib.h>
#include <string.h>

/* "kind" and "headline" are for people's tables: neither agent nor judge is shown them */
static const char *const top_keys[] = { "version", "task", "kind", "headline", "items", NULL };
static const char *const item_keys[] = {
	"id", "level", "text", "property", "requires", "weight", "evidence", "truth", NULL
};
static const char *const truth_keys[] = { "baseline", "expert", NULL };
static const char *const verdicts[] = { "yes", "partly", "no", NULL };

const char *const level_name[LEVELS] = { "L1", "L2", "L3" };
static const char *const level_title[LEVELS] = {
	"L1: the algorithm",
	"L2: the flow of data",
	"L3: technique",
};

static bool listed(const char *s, const char *const *list)
{
	for (; *list; list++)
		if (s && !strcmp(s, *list))
			return true;
	return false;
}

/* A string member with at least one character, copied; NULL and the reason otherwise. */
static char *text_member(const struct json *obj, const char *key, const char *id, struct err *e)
{
	const char *s = json_get_str(obj, key);

	if (!s || !*s) {
		err_set(e, "item '%s': '%s' must be a string with text", id, key);
		return NULL;
	}
	return xstrdup(s);
}

static int read_requires(struct guidance_item *it, const struct json *j, struct err *e)
{
	const struct json *c;

	if (json_type(j) != JSON_ARR)
		return err_set(e, "item '%s': 'requires' must be a list of ids", it->id);
	it->requires = xcalloc((size_t)json_len(j) + 1, sizeof *it->requires);
	for (c = json_first(j); c; c = json_next(c)) {
		if (!json_str(c))
			return err_set(e, "item '%s': 'requires' must be a list of ids", it->id);
		it->requires[it->nrequires++] = xstrdup(json_str(c));
	}
	return 0;
}

/* What the judge should answer for the task's own two kernels: checked here, used by the tests of the task. */
static int check_truth(const char *id, const struct json *truth, struct err *e)
{
	struct err why;

	if (json_type(truth) != JSON_OBJ)
		return err_set(e, "item '%s': 'truth' must name baseline and expert", id);
	if (json_only_keys(truth, truth_keys, &why))
		return err_set(e, "item '%s': truth: %s", id, why.text);
	for (const char *const *k = truth_keys; *k; k++)
		if (!listed(json_get_str(truth, *k), verdicts))
			return err_set(e, "item '%s': truth of %s must be yes, partly or no", id, *k);
	return 0;
}

static int read_item(struct guidance_item *it, const struct json *j, struct err *e)
{
	struct err why;
	const char *level;

	it->id = text_member(j, "id", "?", e);
	if (!it->id)
		return -1;
	if (json_only_keys(j, item_keys, &why))
		return err_set(e, "item '%s': %s", it->id, why.text);
	level = json_get_str(j, "level");
	if (!level || level[0] != 'L' || level[1] < '1' || level[1] > '0' + LEVELS || level[2])
		return err_set(e, "item '%s': 'level' must be L1, L2 or L3", it->id);
	it->level = level[1] - '1';
	if (strncmp(it->id, level, 2) || it->id[2] != '.' || !it->id[3])
		return err_set(e, "item '%s': the id must begin with '%s.'", it->id, level);
	if (!(it->text = text_member(j, "text", it->id, e)) || !(it->property = text_member(j, "property", it->id, e)))
		return -1;
	it->weight = json_get_num(j, "weight", 0);
	if (!(it->weight > 0))
		return err_set(e, "item '%s': 'weight' must be a number above 0", it->id);
	if (!json_get_str(j, "evidence"))
		return err_set(e, "item '%s': 'evidence' must be a string", it->id);
	if (check_truth(it->id, json_get(j, "truth"), e))
		return -1;
	return read_requires(it, json_get(j, "requires"), e);
}

static int check_ids(const struct guidance *g, struct err *e)
{
	for (int i = 0; i < g->n; i++) {
		if (guidance_find(g, g->items[i].id) != i)
			return err_set(e, "item '%s' is there twice", g->items[i].id);
		for (int k = 0; k < g->items[i].nrequires; k++)
			if (guidance_find(g, g->items[i].requires[k]) < 0)
				return err_set(e, "item '%s' requires '%s', which does not exist", g->items[i].id,
					       g->items[i].requires[k]);
	}
	return 0;
}

/* Items whose requirements are all settled are settled; what never is stands in a circle or behind one. */
static int check_circles(const struct guidance *g, struct err *e)
{
	bool *settled = xcalloc((size_t)g->n, sizeof *settled);
	int open = -1, r = 0;

	for (bool moved = true; moved;) {
		moved = false;
		open = -1;
		for (int i = 0; i < g->n; i++) {
			bool ready = true;

			for (int k = 0; k < g->items[i].nrequires; k++)
				ready = ready && settled[guidance_find(g, g->items[i].requires[k])];
			if (ready && !settled[i])
				settled[i] = moved = true;
			if (!settled[i])
				open = i;
		}
	}
	if (open >= 0)
		r = err_set(e, "item '%s' requires itself through a circle", g->items[open].id);
	free(settled);
	return r;
}

static int read_items(struct guidance *g, const struct json *items, struct err *e)
{
	const struct json *c;

	if (json_type(items) != JSON_ARR || json_len(items) == 0)
		return err_set(e, "'items' must be a list with at least one item");
	g->items = xcalloc((size_t)json_len(items), sizeof *g->items);
	for (c = json_first(items); c; c = json_next(c))
		if (read_item(&g->items[g->n++], c, e))
			return -1;
	return check_ids(g, e) ? -1 : check_circles(g, e);
}

int guidance_load(struct guidance *g, const char *task, struct err *e)
{
	char *path = file_in_root("guidance/%s.json", task);
	struct buf text = BUF_INIT;
	struct json *j = NULL;
	struct err why = { "" };
	int r = -1;

	memset(g, 0, sizeof *g);
	g->task = xstrdup(task);
	if (file_read(path, &text, e))
		goto done;
	hash_hex(text.data, text.len, g->hash);
	if (!(j = json_parse(text.data, text.len, &why)))
		goto named;
	if (json_type(j) != JSON_OBJ) {
		err_set(&why, "not a JSON object");
		goto named;
	}
	if (json_only_keys(j, top_keys, &why))
		goto named;
	if (json_get_int(j, "version", 0) != 1) {
		err_set(&why, "'version' must be 1");
		goto named;
	}
	if (!json_get_str(j, "task") || strcmp(json_get_str(j, "task"), task)) {
		err_set(&why, "'task' must be '%s'", task);
		goto named;
	}
	if (read_items(g, json_get(j, "items"), &why))
		goto named;
	r = 0;
	goto done;
named:
	err_set(e, "%s: %s", path, why.text);
done:
	json_free(j);
	buf_release(&text);
	free(path);
	if (r)
		guidance_release(g);
	return r;
}

void guidance_release(struct guidance *g)
{
	for (int i = 0; i < g->n; i++) {
		struct guidance_item *it = &g->items[i];

		for (int k = 0; k < it->nrequires; k++)
			free(it->requires[k]);
		free(it->requires);
		free(it->id);
		free(it->text);
		free(it->property);
	}
	free(g->items);
	free(g->task);
	memset(g, 0, sizeof *g);
}

int guidance_find(const struct guidance *g, const char *id)
{
	for (int i = 0; i < g->n; i++)
		if (!strcmp(g->items[i].id, id))
			return i;
	return -1;
}

static bool inside(const struct guidance *g, unsigned mask, const char *id)
{
	return mask >> g->items[guidance_find(g, id)].level & 1;
}

/* "- L2.1 (builds on L1.2): text"; requirements outside the mask are not named: the reader has no such item. */
static void item_text(const struct guidance *g, unsigned mask, const struct guidance_item *it, struct buf *out)
{
	bool named = false;

	buf_addf(out, "- %s", it->id);
	for (int k = 0; k < it->nrequires; k++) {
		if (!inside(g, mask, it->requires[k]))
			continue;
		buf_addf(out, "%s%s", named ? ", " : " (builds on ", it->requires[k]);
		named = true;
	}
	buf_addf(out, "%s: %s\n", named ? ")" : "", it->text);
}

void guidance_text(const struct guidance *g, unsigned mask, struct buf *out)
{
	if (!(mask & ((1u << LEVELS) - 1)))
		return;
	buf_addstr(out, "## Design guidance\n\n"
		   "How an expert designed a kernel for this task, in words. You decide whether and how to follow it.\n");
	for (int level = 0; level < LEVELS; level++) {
		if (!(mask >> level & 1))
			continue;
		buf_addf(out, "\n### %s\n\n", level_title[level]);
		for (int i = 0; i < g->n; i++)
			if (g->items[i].level == level)
				item_text(g, mask, &g->items[i], out);
	}
}

int guidance_missing(const struct guidance *g, unsigned mask,
		     void (*report)(const char *id, const char *needs, void *ctx), void *ctx)
{
	int n = 0;

	for (int i = 0; i < g->n; i++) {
		const struct guidance_item *it = &g->items[i];

		for (int k = 0; mask >> it->level & 1 && k < it->nrequires; k++) {
			if (inside(g, mask, it->requires[k]))
				continue;
			if (report)
				report(it->id, it->requires[k], ctx);
			n++;
		}
	}
	return n;
}
