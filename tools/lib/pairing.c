/* Marks duplicates and pairs that must not be compared. */
#include "pairing.h"
#include <stdlib.h>
#include <string.h>

static int compare_order(const struct trial *a, const struct trial *b)
{
	return (a->order > b->order) - (a->order < b->order);
}

static int by_id(const void *x, const void *y)
{
	const struct trial *a = x, *b = y;
	int c = strcmp(a->id, b->id);

	return c ? c : compare_order(a, b);
}

static int by_pair(const void *x, const void *y)
{
	const struct trial *a = x, *b = y;
	int c = strcmp(a->model, b->model);

	if (!c)
		c = strcmp(a->task, b->task);
	if (!c)
		c = (a->repeat > b->repeat) - (a->repeat < b->repeat);
	if (!c)
		c = (int)a->arm - (int)b->arm;
	return c ? c : compare_order(a, b);
}

static void find_duplicates(struct pairing *p, struct trials *t)
{
	size_t i;

	qsort(t->v, t->n, sizeof *t->v, by_id);
	for (i = 1; i < t->n; i++) {
		if (strcmp(t->v[i].id, t->v[i - 1].id))
			continue;
		t->v[i].left_out = true;
		p->duplicates = xgrow(p->duplicates, &p->duplicates_cap, p->nduplicates + 1, sizeof *p->duplicates);
		p->duplicates[p->nduplicates++] = xstrdup(t->v[i].id);
	}
}

/* A missing hash agrees with nothing: what cannot be checked is not compared. */
static bool agree(const struct trial *a, const struct trial *b)
{
	return a->shared_hash && b->shared_hash && !strcmp(a->shared_hash, b->shared_hash);
}

static bool takes_part(const struct trial *t)
{
	return !t->left_out && t->arm != ARM_DESIGN;
}

static void refuse(struct pairing *p, struct trial *a, struct trial *b, bool a_out, bool b_out)
{
	p->refusals = xgrow(p->refusals, &p->refusals_cap, p->nrefusals + 1, sizeof *p->refusals);
	p->refusals[p->nrefusals++] = (struct refusal){ xstrdup(a->id), xstrdup(b->id), a_out, b_out };
	a->left_out |= a_out;
	b->left_out |= b_out;
}

/* Is there another trial of this repeat, in the given arm (ARMS: any but t's own)? */
static bool has_partner(const struct trial *v, size_t n, const struct trial *t, enum arm arm)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (takes_part(&v[i]) && v[i].repeat == t->repeat && v[i].arm != t->arm &&
		    (arm == ARMS || v[i].arm == arm))
			return true;
	return false;
}

static bool with_agrees(const struct trial *v, size_t n, const struct trial *without)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (v[i].arm == ARM_WITH && v[i].repeat == without->repeat && takes_part(&v[i]) &&
		    agree(&v[i], without))
			return true;
	return false;
}

/* The trials of one model and task, pair by pair. */
static void check_repeats(struct pairing *p, struct trial *v, size_t n, enum arm arm)
{
	size_t i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < n && v[i].arm == ARM_WITHOUT; k++)
			if (v[k].arm == arm && v[k].repeat == v[i].repeat && takes_part(&v[i]) && takes_part(&v[k]) &&
			    !agree(&v[i], &v[k]))
				refuse(p, &v[i], &v[k], arm == ARM_WITH || !with_agrees(v, n, &v[i]), true);
}

static void check_strays(struct pairing *p, struct trial *v, size_t n)
{
	size_t i, k;
	bool a_stray, b_stray;

	for (i = 0; i < n; i++) {
		for (k = 0; k < n && v[i].arm == ARM_WITHOUT; k++) {
			if (v[k].arm == ARM_WITHOUT || v[k].repeat == v[i].repeat || !takes_part(&v[i]) ||
			    !takes_part(&v[k]) || agree(&v[i], &v[k]))
				continue;
			a_stray = !has_partner(v, n, &v[i], ARMS);
			b_stray = !has_partner(v, n, &v[k], ARM_WITHOUT);
			if (a_stray || b_stray)
				refuse(p, &v[i], &v[k], a_stray, b_stray);
		}
	}
}

static bool all_agree(const struct trial *v, size_t n)
{
	const struct trial *first = NULL;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!takes_part(&v[i]))
			continue;
		if (first && !agree(first, &v[i]))
			return false;
		first = &v[i];
	}
	return true;
}

static void check_cell(struct pairing *p, struct trial *v, size_t n)
{
	if (all_agree(v, n))
		return;
	check_repeats(p, v, n, ARM_WITH);
	check_repeats(p, v, n, ARM_L1);
	check_repeats(p, v, n, ARM_L1_L2);
	check_strays(p, v, n);
	p->mixed += !all_agree(v, n);
}

void pairing_find(struct pairing *p, struct trials *t)
{
	size_t i, from = 0;

	if (!t->n)
		return;
	find_duplicates(p, t);
	qsort(t->v, t->n, sizeof *t->v, by_pair);
	for (i = 1; i <= t->n; i++) {
		if (i < t->n && !strcmp(t->v[i].model, t->v[from].model) && !strcmp(t->v[i].task, t->v[from].task))
			continue;
		check_cell(p, t->v + from, i - from);
		from = i;
	}
}

void pairing_release(struct pairing *p)
{
	size_t i;

	for (i = 0; i < p->nrefusals; i++) {
		free(p->refusals[i].a);
		free(p->refusals[i].b);
	}
	for (i = 0; i < p->nduplicates; i++)
		free(p->duplicates[i]);
	free(p->refusals);
	free(p->duplicates);
	*p = (struct pairing){ 0 };
}
