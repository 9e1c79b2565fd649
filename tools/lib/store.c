/* Files named by the hash of their content, or by a key. */
#include "store.h"
#include "file.h"
#include <stdlib.h>
#include <string.h>

static bool is_hash(const char *s)
{
	return strlen(s) == HASH_HEX - 1 && strspn(s, "0123456789abcdef") == HASH_HEX - 1;
}

static bool content_addressed(const char *kind)
{
	return !strcmp(kind, "bundle");
}

static const char *store_dir(void)
{
	static char *dir;
	const char *given = getenv("D2K_STORE");

	if (given && *given)
		return given;
	if (!dir)
		dir = file_in_root(".d2k");
	return dir;
}

char *store_path(const char *kind, const char *hash)
{
	return xasprintf("%s/%s/%.2s/%s", store_dir(), kind, hash, hash);
}

int store_put_as(const char *kind, const char *key, const void *data, size_t n, struct err *e)
{
	char *path, *slash;
	int rc;

	if (!is_hash(key))
		return err_set(e, "'%s' is not a key of the store", key);
	path = store_path(kind, key);
	slash = strrchr(path, '/');
	*slash = '\0';
	rc = file_mkdirs(path, e);
	*slash = '/';
	if (!rc)
		rc = file_write(path, data, n, e);
	free(path);
	return rc;
}

int store_put(const char *kind, const void *data, size_t n, char hex[HASH_HEX], struct err *e)
{
	hash_hex(data, n, hex);
	return store_put_as(kind, hex, data, n, e);
}

/* Content that does not match its name was damaged; better made again than used. */
static int check(const char *path, const char *key, const struct buf *b, size_t start, struct err *e)
{
	char hex[HASH_HEX];

	hash_hex(b->data + start, b->len - start, hex);
	return strcmp(hex, key) ? err_set(e, "'%s' is damaged: its content does not match its name", path) : 0;
}

int store_get(const char *kind, const char *key, struct buf *b, struct err *e)
{
	char *path;
	size_t start = b->len;
	int rc = 0;

	if (!is_hash(key))
		return err_set(e, "'%s' is not a key of the store", key);
	path = store_path(kind, key);
	if (!file_exists(path))
		rc = 0;
	else if (file_read(path, b, e))
		rc = -1;
	else if (content_addressed(kind) && check(path, key, b, start, e))
		rc = -1;
	else
		rc = 1;
	if (rc < 1)
		b->len = start;
	free(path);
	return rc;
}
