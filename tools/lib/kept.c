/* Texts kept by their hash. */
#include "kept.h"
#include "file.h"
#include "utf8.h"
#include <stdlib.h>
#include <string.h>

enum { SOURCE_MAX = 1 << 20 };

static char *kept_path(const char *dir, const char *sha)
{
	return xasprintf("%s/kept/%s", dir, sha);
}

int kept_put(const char *dir, const struct buf *text, char sha[HASH_HEX], struct err *e)
{
	char *folder = xasprintf("%s/kept", dir), *path;
	int failed;

	hash_hex(text->data, text->len, sha);
	path = kept_path(dir, sha);
	failed = file_mkdirs(folder, e) || file_write(path, text->data, text->len, e);
	free(path);
	free(folder);
	return failed ? -1 : 0;
}

int kept_get(const char *dir, const char *sha, struct buf *out, struct err *e)
{
	char *path = kept_path(dir, sha), found[HASH_HEX];
	int failed = file_read(path, out, e);

	if (!failed) {
		hash_hex(out->data ? out->data : "", out->len, found);
		if (strcmp(found, sha))
			failed = err_set(e, "'%s' was changed", path);
	}
	free(path);
	return failed;
}

static bool is_text(const struct buf *b)
{
	size_t len;

	for (size_t i = 0; i < b->len; i += len) {
		len = utf8_sequence(b->data + i, b->len - i);
		if (!len || !b->data[i])
			return false;
	}
	return true;
}

int kept_source(const struct workspace *w, const char *path, struct buf *out, struct err *e)
{
	if (workspace_read(w, path, out, e))
		return -1;
	if (!out->len)
		return err_set(e, "'%s' is empty", path);
	if (out->len > SOURCE_MAX)
		return err_set(e, "'%s' has %zu bytes, more than %d", path, out->len, SOURCE_MAX);
	return is_text(out) ? 0 : err_set(e, "'%s' is not UTF-8 text", path);
}
