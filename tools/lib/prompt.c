/* Puts together what an agent is told. The interface and the workloads are written from task.json and the workload
 * lines, so that they cannot disagree with what is checked. */
#include "prompt.h"
#include "file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_text(const char *name, struct buf *out, struct err *e)
{
	char *path = file_in_root("tools/%s", name);
	int r = file_read(path, out, e);

	free(path);
	return r;
}

/* Appends text with {turns} put in; braces of anything else stay as they are. */
static void add_filled(struct buf *out, const char *text, long long turns)
{
	static const char hole[] = "{turns}";

	for (const char *at; (at = strstr(text, hole)); text = at + strlen(hole)) {
		buf_add(out, text, (size_t)(at - text));
		buf_addf(out, "%lld", turns);
	}
	buf_addstr(out, text);
}

void prompt_number(struct buf *out, double x)
{
	char s[40];
	int digits = 1;

	do
		snprintf(s, sizeof s, "%.*g", digits, x);
	while (strtod(s, NULL) != x && ++digits <= 17);
	if (x >= -1e15 && x <= 1e15 && x == (double)(long long)x)
		snprintf(s, sizeof s, "%lld", (long long)x);
	buf_addstr(out, s);
}

static void add_check(struct buf *out, const struct check *c)
{
	switch (c->metric) {
	case METRIC_RFE:
		buf_addstr(out, "relative Frobenius error at most ");
		prompt_number(out, c->max);
		break;
	case METRIC_ROWS:
		buf_addstr(out, "in each row (along the last dimension) relative error at most ");
		prompt_number(out, c->max);
		break;
	case METRIC_MAXN:
		buf_addstr(out, "largest error at most ");
		prompt_number(out, c->max);
		buf_addstr(out, " times the reference's rms");
		break;
	case METRIC_EXACT:
		buf_addstr(out, "exact");
		break;
	case METRIC_ULP:
		buf_addstr(out, "at least ");
		prompt_number(out, 100 * c->share);
		buf_addstr(out, " % of the elements within one step of the type");
		buf_addstr(out, c->equal > 0 || c->max > 0 ? ", " : "");
		if (c->equal > 0) {
			buf_addstr(out, "at least ");
			prompt_number(out, 100 * c->equal);
			buf_addstr(out, c->max > 0 ? " % equal, " : " % equal");
		}
		if (c->max > 0) {
			buf_addstr(out, "none over ");
			prompt_number(out, c->max);
		}
		break;
	}
}

static void add_tensor(struct buf *out, const struct tensor *x)
{
	buf_addf(out, "| `%s` | %s | %s | [", x->name, role_name[x->role], dtype_name[x->dtype]);
	for (int d = 0; d < x->ndim; d++)
		buf_addf(out, "%s%s", d ? ", " : "", x->shape[d]);
	buf_addstr(out, "] | ");
	for (int k = 0; k < x->nchecks; k++) {
		buf_addstr(out, k ? "; " : "");
		add_check(out, &x->check[k]);
	}
	buf_addstr(out, " |\n");
}

static void add_interface(struct buf *out, const struct task *t)
{
	buf_addstr(out, "## The interface\n\n```python\ndef run(");
	for (int i = 0; i < t->ntensors; i++)
		buf_addf(out, "%s%s", i ? ", " : "", t->tensors[i].name);
	for (int i = 0; i < t->nparams; i++)
		buf_addf(out, "%s%s", i ? ", " : ", *, ", t->params[i]);
	buf_addstr(out, "):\n```\n\n| tensor | role | type | shape | tolerance |\n|---|---|---|---|---|\n");
	for (int i = 0; i < t->ntensors; i++)
		add_tensor(out, &t->tensors[i]);
	buf_addstr(out, "\n");
}

static void add_workloads(struct buf *out, const struct workload *w, int n)
{
	buf_addstr(out, "## The workloads\n\nThe bench workloads are checked and timed. The smoke ones are small, only "
		   "checked, and serve where there is no GPU.\n\n| workload | tier |");
	for (int k = 0; n && k < w[0].nvars; k++)
		buf_addf(out, " %s |", w[0].vars[k].name);
	buf_addstr(out, " origin |\n|---|---|---|");
	for (int k = 0; n && k < w[0].nvars; k++)
		buf_addstr(out, "---|");
	for (int i = 0; i < n; i++) {
		buf_addf(out, "\n| %s | %s |", w[i].id, w[i].tier);
		for (int k = 0; k < w[i].nvars; k++) {
			buf_addstr(out, " ");
			prompt_number(out, w[i].vars[k].value);
			buf_addstr(out, " |");
		}
		buf_addf(out, " %s |", w[i].origin);
	}
	buf_addstr(out, "\n\n");
}

static int add_task(struct buf *out, const struct task *t, const struct workload *w, int n, struct err *e)
{
	char *path = xasprintf("%s/task.md", t->dir);
	int r = file_read(path, out, e);

	free(path);
	if (r)
		return r;
	buf_addstr(out, "\n");
	add_interface(out, t);
	add_workloads(out, w, n);
	return 0;
}

/* Everything that is told apart from the task, as written, and the tools' own text. */
static int hash_told(char out[HASH_HEX], const char *device, struct err *e)
{
	const char *const files[] = {
		"prompt/system.md", device, "prompt/submission.md", "prompt/work.md", "prompt/design.md",
		"agent/tools.json"
	};
	struct hash_parts h = { BUF_INIT };
	struct buf text = BUF_INIT;
	int r = 0;

	for (size_t i = 0; !r && i < sizeof files / sizeof *files; i++) {
		buf_reset(&text);
		r = read_text(files[i], &text, e);
		hash_part(&h, files[i], text.data, text.len);
	}
	hash_done(&h, out);
	buf_release(&text);
	return r;
}

static int add_texts(struct prompt *p, const char *device, long long turns, struct err *e)
{
	struct buf text = BUF_INIT;
	int r = -1;

	if (read_text("prompt/system.md", &p->system, e))
		goto done;
	buf_addstr(&p->system, "\n");
	if (read_text(device, &p->system, e) || read_text("prompt/submission.md", &p->head, e))
		goto done;
	buf_addstr(&p->head, "\n");
	if (read_text("prompt/work.md", &text, e) || read_text("prompt/design.md", &p->design, e))
		goto done;
	add_filled(&p->work, text.data, turns);
	r = hash_told(p->tools, device, e);
done:
	buf_release(&text);
	return r;
}

int prompt_make(struct prompt *p, const struct task *t, const struct workload *w, int n, const char *target,
		long long turns, struct err *e)
{
	char *device = xasprintf("prompt/%s.md", target);
	struct hash_parts h = { BUF_INIT };
	int r = -1;

	*p = (struct prompt){ .target = target, .turns = turns };
	if (add_task(&p->head, t, w, n, e))
		goto done;
	hash_hex(p->head.data, p->head.len, p->text);
	if (add_texts(p, device, turns, e))
		goto done;
	hash_partstr(&h, "task_text", p->text);
	hash_partstr(&h, "workloads", t->workloads_hash);
	hash_partstr(&h, "oracle", t->oracle_hash);
	hash_partstr(&h, "tools", p->tools);
	hash_partstr(&h, "target", target);
	hash_part(&h, "turns", &turns, sizeof turns);
	hash_done(&h, p->shared);
	r = 0;
done:
	free(device);
	if (r)
		prompt_release(p);
	return r;
}

void prompt_release(struct prompt *p)
{
	buf_release(&p->system);
	buf_release(&p->head);
	buf_release(&p->work);
	buf_release(&p->design);
}
