/* Puts the question together. Whatever is not a parameter of inquiry_make() cannot reach the judge. */
#include "inquiry.h"
#include "emit.h"
#include "file.h"
#include "pystrip.h"
#include <stdlib.h>
#include <string.h>

enum { MARK_DIGITS = 16 };

const char *const inquiry_kind_name[] = {
	[INQUIRY_IMPLEMENTATION] = "implementation",
	[INQUIRY_DESIGN] = "design",
};

static const char *const material_name[] = {
	[INQUIRY_IMPLEMENTATION] = "source",
	[INQUIRY_DESIGN] = "design",
};

static int read_in_root(struct buf *out, struct err *e, const char *folder, const char *name, const char *rest)
{
	char *path = file_in_root("%s/%s%s", folder, name, rest);
	int r = file_read(path, out, e);

	free(path);
	return r;
}

/* 0, or 1 and why nothing can be judged. */
static int read_material(struct inquiry *q, enum inquiry_kind kind, const char *material, struct buf *out,
			 struct err *e)
{
	size_t n = strlen(material);
	struct err why = { "" };

	if (kind == INQUIRY_DESIGN) {
		buf_add(out, material, n);
		quotable_prose(&q->text, material, n);
	} else if (python_strip(material, n, out, &why) ||
		   quotable_python(&q->text, out->data ? out->data : "", out->len, &why)) {
		err_set(e, "the source is not Python: %s", why.text);
		return 1;
	}
	if (!q->text.n)
		err_set(e, "the %s is empty", material_name[kind]);
	return !q->text.n;
}

static void list_properties(const struct guidance *g, struct buf *out)
{
	int i;

	for (i = 0; i < g->n; i++)
		buf_addf(out, "%s: %s\n", g->items[i].id, g->items[i].property);
}

static void make_mark(const struct buf *system, const struct buf *const part[3], char mark[HASH_HEX])
{
	struct hash_parts h = { BUF_INIT };
	int i;

	hash_part(&h, "system", system->data, system->len);
	for (i = 0; i < 3; i++)
		hash_part(&h, "part", part[i]->data, part[i]->len);
	hash_done(&h, mark);
	mark[MARK_DIGITS] = '\0';
}

static void add_part(struct buf *out, const char *name, const char *mark, const struct buf *text)
{
	buf_addf(out, "<%s %s>\n", name, mark);
	buf_addbuf(out, text);
	if (text->len && text->data[text->len - 1] != '\n')
		buf_addch(out, '\n');
	buf_addf(out, "</%s %s>\n\n", name, mark);
}

static void hash_question(struct inquiry *q)
{
	struct hash_parts h = { BUF_INIT };

	hash_part(&h, "system", q->system.data, q->system.len);
	hash_part(&h, "user", q->user.data, q->user.len);
	hash_done(&h, q->hash);
}

int inquiry_make(struct inquiry *q, enum inquiry_kind kind, const struct guidance *g, const char *material,
		 struct err *e)
{
	struct buf task = BUF_INIT, properties = BUF_INIT, text = BUF_INIT;
	const struct buf *const parts[3] = { &task, &properties, &text };
	char mark[HASH_HEX];
	int r;

	memset(q, 0, sizeof *q);
	r = read_in_root(&q->system, e, "tools/judge", inquiry_kind_name[kind], ".md") ||
	    read_in_root(&task, e, "tasks", g->task, "/task.md") ? -1 : read_material(q, kind, material, &text, e);
	if (r)
		goto done;
	list_properties(g, &properties);
	make_mark(&q->system, parts, mark);
	add_part(&q->user, "task", mark, &task);
	add_part(&q->user, "properties", mark, &properties);
	add_part(&q->user, material_name[kind], mark, &text);
	buf_addf(&q->user, "Judge the %s by the %d properties and answer with the JSON object.\n", material_name[kind],
		 g->n);
	hash_question(q);
done:
	buf_release(&task);
	buf_release(&properties);
	buf_release(&text);
	if (r)
		inquiry_release(q);
	return r;
}

void inquiry_release(struct inquiry *q)
{
	buf_release(&q->system);
	buf_release(&q->user);
	quotable_release(&q->text);
}

static void add_message(struct buf *out, const char *role, const struct buf *text)
{
	emit_open(out, '{');
	emit_kstr(out, "role", role);
	emit_kstrn(out, "content", text->data, text->len);
	emit_close(out, '}');
}

void inquiry_messages(const struct inquiry *q, struct buf *out)
{
	emit_open(out, '[');
	add_message(out, "system", &q->system);
	add_message(out, "user", &q->user);
	emit_close(out, ']');
}
