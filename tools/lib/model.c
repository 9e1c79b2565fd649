/* Models by name: entries of models.json, retries, prices. The wire formats are in files of their own (wire.h). */
#include "model.h"
#include "child.h"
#include "clock.h"
#include "emit.h"
#include "file.h"
#include "hash.h"
#include "wire.h"
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct model_wire *const wires[] = { &wire_chat, &wire_script };

enum { GARBLED_TRIES = 3 };
static const double FIRST_WAIT = 1, LONGEST_WAIT = 60;	/* seconds */

/* Entries --------------------------------------------------------------------------------------------------------- */

/* Keys taken out of the environment, kept for the life of the process. */
static struct {
	char *name, *value;
} keys[64];
static int nkeys;

static const char *key_find(const char *name)
{
	for (int i = 0; i < nkeys; i++)
		if (!strcmp(keys[i].name, name))
			return keys[i].value;
	return NULL;
}

static void hide_key(const char *name)
{
	const char *value = name ? getenv(name) : NULL;

	if (!value || !*value || nkeys == (int)(sizeof keys / sizeof *keys))
		return;
	keys[nkeys].name = xstrdup(name);
	keys[nkeys++].value = xstrdup(value);
	unsetenv(name);
}

static void hide_keys(const struct json *models)
{
	for (const struct json *c = json_first(models); c; c = json_next(c))
		hide_key(json_get_str(c, "key_env"));
}

static struct json *models_read(const char *path, struct err *e)
{
	struct json *file = json_parse_file(path, e);

	if (!file)
		return NULL;
	if (json_get_int(file, "version", 0) != 1 || json_type(json_get(file, "models")) != JSON_OBJ) {
		err_set(e, "'%s' is no models file of version 1", path);
		json_free(file);
		return NULL;
	}
	hide_keys(json_get(file, "models"));
	return file;
}

int model_hide_keys(const char *models_json, struct err *e)
{
	struct json *file = models_read(models_json, e);

	json_free(file);
	return file ? 0 : -1;
}

static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
}

/* "script:PATH" needs no entry: one is made up, its path relative to the current folder. */
static struct json *entry_for_script(const char *path)
{
	struct buf text = BUF_INIT;
	struct json *file;

	emit_open(&text, '{');
	emit_key(&text, "models");
	emit_open(&text, '{');
	emit_key(&text, "script");
	emit_open(&text, '{');
	emit_kstr(&text, "wire", "script");
	emit_kstr(&text, "script", path);
	buf_addstr(&text, "}}}");
	file = json_parse(text.data, text.len, NULL);
	buf_release(&text);
	return file;
}

static void hash_member(struct hash_parts *h, const char *name, const struct json *value)
{
	struct buf text = BUF_INIT;

	json_print(value, &text);
	hash_part(h, name, text.data, text.len);
	buf_release(&text);
}

static void hash_entry(struct model *m)
{
	static const char *const shaping[] = { "wire", "model", "parameters", "max_tokens", "max_tokens_field" };
	struct hash_parts all = { BUF_INIT }, kind = { BUF_INIT };

	hash_member(&all, "entry", m->entry);
	hash_done(&all, m->hash);
	for (size_t i = 0; i < sizeof shaping / sizeof *shaping; i++)
		hash_member(&kind, shaping[i], json_get(m->entry, shaping[i]));
	hash_done(&kind, m->kind);
}

static int model_find(struct model *m, const char *models_json, const char *name, struct err *e)
{
	static const char *const known[] = { "wire", "base_url", "model", "key_env", "parameters", "max_tokens",
		"max_tokens_field", "context", "caches", "prices", "script", "note", NULL };
	static const char *const prices[] = { "fresh_in", "cache_read", "cache_write", "out", NULL };
	const char *script = strncmp(name, "script:", 7) ? NULL : name + 7, *wire;

	m->file = script ? entry_for_script(script) : models_read(models_json, e);
	if (!m->file)
		return -1;
	m->entry = json_get(json_get(m->file, "models"), script ? "script" : name);
	if (json_type(m->entry) != JSON_OBJ)
		return err_set(e, "no model '%s' in '%s'", name, models_json);
	if (json_only_keys(m->entry, known, e))
		return -1;
	if (json_get(m->entry, "prices") && json_only_keys(json_get(m->entry, "prices"), prices, e))
		return -1;
	wire = json_get_str(m->entry, "wire");
	for (size_t i = 0; i < sizeof wires / sizeof *wires; i++)
		if (wire && !strcmp(wires[i]->name, wire))
			m->wire = wires[i];
	if (!m->wire)
		return err_set(e, "unknown wire '%s'", wire ? wire : "");
	hash_entry(m);
	return 0;
}

static int model_take_key(struct model *m, struct err *e)
{
	const char *name = json_get_str(m->entry, "key_env");

	if (!name)
		return 0;
	hide_key(name);
	m->key = key_find(name);
	return m->key ? 0 : err_set(e, "the key variable %s is not set", name);
}

struct model *model_open(const char *models_json, const char *name, const char *task, const char *arm, struct err *e)
{
	struct model *m = xcalloc(1, sizeof *m);
	struct err why = { "" };
	char *dir = strncmp(name, "script:", 7) ? folder_of(models_json) : xstrdup(".");

	model_limits(m, 600, 1800);
	if (model_find(m, models_json, name, &why) || model_take_key(m, &why) ||
	    m->wire->open(m, dir, task, arm, &why)) {
		err_set(e, "model '%s': %s", name, why.text);
		model_close(m);
		m = NULL;
	}
	free(dir);
	return m;
}

void model_close(struct model *m)
{
	if (!m)
		return;
	if (m->state)
		m->wire->close(m);
	free(m->id);
	json_free(m->file);
	free(m);
}

void model_limits(struct model *m, double max_wait, double timeout)
{
	m->max_wait = max_wait;
	m->timeout = timeout;
}

const char *model_id(const struct model *m)
{
	return m->id;
}

const char *model_hash(const struct model *m)
{
	return m->hash;
}

const char *model_kind(const struct model *m)
{
	return m->kind;
}

long long model_context(const struct model *m)
{
	return json_get_int(m->entry, "context", 0);
}

/* Prices -------------------------------------------------------------------------------------------------------- */

/* Dollars for one class: nothing used costs nothing, whatever the price. */
static double class_cost(const struct json *prices, const char *key, long long count)
{
	double price = json_get_num(prices, key, NAN);	/* per million tokens */

	if (count == 0 || price == 0)
		return 0;
	return count < 0 ? NAN : price * (double)count / 1e6;
}

double model_cost(const struct model *m, const struct usage *u)
{
	const struct json *prices = json_get(m->entry, "prices");

	return class_cost(prices, "fresh_in", u->fresh_in) + class_cost(prices, "cache_read", u->cache_read) +
	       class_cost(prices, "cache_write", u->cache_write) + class_cost(prices, "out", u->out);
}

/* Asking ---------------------------------------------------------------------------------------------------------- */

/* A number in [0, 1) that differs between processes started together; not for anything secret. */
static double jitter(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)((unsigned long)t.tv_nsec * 2654435761u % 1000003) / 1000003;
}

/* False when interrupted. */
static bool wait_seconds(double seconds)
{
	double end = clock_now() + seconds, left;

	while (!child_interrupted && (left = end - clock_now()) > 0) {
		double step = left < 0.2 ? left : 0.2;
		struct timespec t = { 0, (long)(step * 1e9) };

		nanosleep(&t, NULL);
	}
	return !child_interrupted;
}

/* Seconds to wait before another try: what the server asks for, or twice as long each time; jitter spreads a fleet. */
static double next_wait(double asked, int tries)
{
	double wait = fmin(LONGEST_WAIT, FIRST_WAIT * exp2(tries - 1));

	return isnan(asked) ? wait * (0.5 + 0.5 * jitter()) : asked * (1 + 0.1 * jitter());
}

static enum model_end give_up(const char *what, const struct err *why, struct err *e)
{
	err_set(e, "%s: %s", what, why->text);
	return MODEL_AGAIN;
}

enum model_end model_ask(struct model *m, const struct buf *messages, const struct buf *tools, const struct buf *extra,
			 int turn, struct model_reply *r, struct err *e)
{
	const struct wire_request q = { messages, tools, extra, turn };
	double give_up_at = clock_now() + m->max_wait, wait;
	struct err why = { "" };
	int garbled = 0;

	memset(r, 0, sizeof *r);
	malloc_trim(0);	/* a process that waits for minutes holds no memory it does not use */
	for (int tries = 1;; tries++) {
		enum wire_end end;

		wait = NAN;
		end = m->wire->ask(m, &q, r, &wait, &why);
		r->attempts = tries;
		switch (end) {
		case WIRE_OK:
			return MODEL_OK;
		case WIRE_GARBLED:
			if (++garbled == GARBLED_TRIES)
				break;
			/* fall through */
		case WIRE_RETRY:
			model_reply_release(r);
			r->attempts = tries;
			wait = next_wait(wait, tries);
			if (child_interrupted)
				return give_up("interrupted", &why, e);
			if (clock_now() + wait > give_up_at)
				return give_up("gave up waiting", &why, e);
			if (!wait_seconds(wait))
				return give_up("interrupted", &why, e);
			continue;
		case WIRE_OVERFLOW:
			err_set(e, "%s", why.text);
			return MODEL_OVERFLOW;
		case WIRE_SCRIPT_END:
			err_set(e, "%s", why.text);
			return MODEL_SCRIPT_END;
		case WIRE_FINAL:
			break;
		}
		err_set(e, "%s", why.text);
		return MODEL_FAILED;
	}
}
