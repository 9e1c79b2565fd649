/* Choices in the store: the objects that walk_choose() makes, in an array. */
#include "choice.h"
#include "store.h"
#include <stdlib.h>
#include <string.h>

enum { FORMAT = '1' };	/* of what is kept, and of how it is chosen */

static void key_of(const struct gpu_info *device, const struct replay *r, char key[HASH_HEX])
{
	struct hash_parts h = { BUF_INIT };
	const char format = FORMAT;

	hash_part(&h, "format", &format, 1);
	hash_partstr(&h, "uuid", device->uuid);
	hash_partstr(&h, "driver", device->driver);
	hash_partstr(&h, "bundle", r->bundle->hash);
	hash_partstr(&h, "workload", r->plan->workload);
	hash_done(&h, key);
}

/* One object of walk_choose(): for some steps the variant chosen. -1 when the plan has no such thing. */
static int apply(struct replay *r, const struct json *object)
{
	long long chosen = json_get_int(object, "chosen", -1);

	if (chosen < 0)
		return -1;
	for (const struct json *j = json_first(json_get(object, "steps")); j; j = json_next(j)) {
		long long s = json_int(j, -1);

		if (s < 0 || s >= r->plan->nsteps || chosen >= r->plan->steps[s].nvariants)
			return -1;
		r->chosen[s] = (int)chosen;
	}
	return 0;
}

int choice_apply(struct replay *r, const struct json *array)
{
	for (const struct json *j = json_first(array); j; j = json_next(j))
		if (apply(r, j))
			return -1;
	return json_type(array) == JSON_ARR && json_len(array) ? 0 : -1;
}

bool choice_load(const struct gpu_info *device, struct replay *r, struct buf *objects)
{
	size_t steps = (size_t)r->plan->nsteps * sizeof(*r->chosen);
	int *before = xcalloc(1, steps + 1);
	struct buf text = BUF_INIT;
	struct json *array = NULL;
	struct err ignored;
	char key[HASH_HEX];
	bool found;

	memcpy(before, r->chosen, steps);
	key_of(device, r, key);
	if (store_get("choice", key, &text, &ignored) == 1)
		array = json_parse(text.data, text.len, &ignored);
	found = array && !choice_apply(r, array);
	if (found)
		buf_add(objects, text.data + 1, text.len - 2);	/* without the brackets */
	else
		memcpy(r->chosen, before, steps);
	free(before);
	json_free(array);
	buf_release(&text);
	return found;
}

void choice_keep(const struct gpu_info *device, const struct replay *r, const struct buf *objects)
{
	struct buf text = BUF_INIT;
	struct err ignored;
	char key[HASH_HEX];

	key_of(device, r, key);
	buf_addch(&text, '[');
	buf_addbuf(&text, objects);
	buf_addch(&text, ']');
	store_put_as("choice", key, text.data, text.len, &ignored);
	buf_release(&text);
}
