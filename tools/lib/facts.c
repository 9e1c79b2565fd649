/* Static facts of kernels and plans, for people and models to look at. */
#include "facts.h"
#include "die.h"
#include "emit.h"
#include <stdlib.h>
#include <string.h>

enum { GRIDS = 8 };	/* different ones listed per kernel */

struct use {
	int launches;		/* steps that may launch it, all workloads together */
	int variants;		/* largest number of choices in such a step */
	struct buf grids;	/* JSON, without the outer brackets */
	int ngrids;
};

static void add_grid(struct use *u, const struct json *grid)
{
	struct buf b = BUF_INIT;

	json_print(grid, &b);
	if (u->ngrids < GRIDS && (!u->grids.len || !strstr(u->grids.data, b.data))) {
		if (u->ngrids++)
			buf_addch(&u->grids, ',');
		buf_addbuf(&u->grids, &b);
	}
	buf_release(&b);
}

static void add_step(struct use *uses, int n, const struct json *variants)
{
	int choices = json_len(variants);
	bool *seen = xcalloc((size_t)n + 1, sizeof *seen);

	for (const struct json *v = json_first(variants); v; v = json_next(v)) {
		long long k = json_get_int(v, "kernel", -1);

		if (k < 0 || k >= n)
			continue;
		add_grid(&uses[k], json_get(v, "grid"));
		uses[k].launches += !seen[k];
		if (choices > uses[k].variants)
			uses[k].variants = choices;
		seen[k] = true;
	}
	free(seen);
}

static struct use *count_uses(const struct json *result, int n)
{
	struct use *uses = xcalloc((size_t)n + 1, sizeof *uses);

	for (const struct json *p = json_first(json_get(result, "plans")); p; p = json_next(p))
		for (const struct json *s = json_first(json_get(p, "steps")); s; s = json_next(s))
			add_step(uses, n, json_get(s, "variants"));
	return uses;
}

void facts_kernels(const struct json *result, struct buf *out)
{
	static const char *const figures[][2] = {
		{ "registers", "registers" }, { "spills_bytes", "spills" }, { "stack_bytes", "stack" },
		{ "shared_bytes", "shared" }, { "num_warps", "num_warps" }, { "num_ctas", "num_ctas" },
	};
	const struct json *kernels = json_get(result, "kernels");
	struct use *uses = count_uses(result, json_len(kernels)), *u = uses;

	emit_open(out, '[');
	for (const struct json *k = json_first(kernels); k; k = json_next(k), u++) {
		emit_open(out, '{');
		emit_kstr(out, "name", json_get_str(k, "name"));
		emit_kstr(out, "hash", json_get_str(k, "hash"));
		for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
			emit_kcount(out, figures[i][0], json_get_int(k, figures[i][1], -1));
		emit_kint(out, "launches", u->launches);
		emit_kint(out, "variants", u->variants);
		emit_key(out, "grids");
		emit_open(out, '[');
		emit_raw(out, u->grids.data ? u->grids.data : "", u->grids.len);
		emit_close(out, ']');
		emit_close(out, '}');
		buf_release(&u->grids);
	}
	emit_close(out, ']');
	free(uses);
}

void facts_plans(const struct json *result, struct buf *out)
{
	emit_open(out, '[');
	for (const struct json *p = json_first(json_get(result, "plans")); p; p = json_next(p)) {
		long long launches = 0, fills = 0, scratch = 0;

		for (const struct json *s = json_first(json_get(p, "steps")); s; s = json_next(s))
			*(json_get(s, "variants") ? &launches : &fills) += 1;
		for (const struct json *b = json_first(json_get(p, "buffers")); b; b = json_next(b)) {
			const char *role = json_get_str(b, "role");

			if (role && !strcmp(role, "scratch"))
				scratch += json_get_int(b, "bytes", 0);
		}
		emit_open(out, '{');
		emit_kstr(out, "workload", json_get_str(p, "workload"));
		emit_kint(out, "launches", launches);
		emit_kint(out, "fills", fills);
		emit_kint(out, "scratch_bytes", scratch);
		emit_close(out, '}');
	}
	emit_close(out, ']');
}
