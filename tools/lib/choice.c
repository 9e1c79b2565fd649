/* Choices in the store: the objects that walk_choose() makes, in an array. */
#include "choice.h"
#include "json.h"
#include "store.h"

enum { FORMAT = '1' };	/* of what is kept, and of how it is chosen */

static void key_of(const struct choice *c, char key[HASH_HEX])
{
	struct hash_parts h = { BUF_INIT };
	const char format = FORMAT;

	hash_part(&h, "format", &format, 1);
	hash_partstr(&h, "uuid", c->device->uuid);
	hash_partstr(&h, "driver", c->device->driver);
	hash_part(&h, "bundle", c->bundle->data, c->bundle->len);
	hash_partstr(&h, "workload", c->workload);
	hash_done(&h, key);
}

/* One object of walk_choose(): for some steps the variant chosen. */
static int apply(struct replay *r, const struct json *object)
{
	long long chosen = json_get_int(object, "chosen", -1);

	for (const struct json *j = json_first(json_get(object, "steps")); j; j = json_next(j)) {
		long long s = json_int(j, -1);

		if (s < 0 || s >= r->plan->nsteps || chosen < 0 || chosen >= r->plan->steps[s].nvariants)
			return -1;
		r->chosen[s] = (int)chosen;
	}
	return 0;
}

bool choice_load(const struct choice *c, struct replay *r, struct buf *objects)
{
	struct buf text = BUF_INIT;
	struct json *array = NULL;
	struct err ignored;
	char key[HASH_HEX];
	int rc = -1;

	key_of(c, key);
	if (store_get("choice", key, &text, &ignored) == 1 && (array = json_parse(text.data, text.len, &ignored)))
		rc = json_len(array) ? 0 : -1;
	for (const struct json *j = json_first(array); j && !rc; j = json_next(j))
		rc = apply(r, j);
	if (!rc)
		buf_add(objects, text.data + 1, text.len - 2);	/* without the brackets */
	json_free(array);
	buf_release(&text);
	return !rc;
}

void choice_keep(const struct choice *c, const struct buf *objects)
{
	struct buf text = BUF_INIT;
	struct err ignored;
	char key[HASH_HEX];

	key_of(c, key);
	buf_addch(&text, '[');
	buf_addbuf(&text, objects);
	buf_addch(&text, ']');
	store_put_as("choice", key, text.data, text.len, &ignored);
	buf_release(&text);
}
