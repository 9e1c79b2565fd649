/* SHA-256 by libmd. */
#include "hash.h"
#include "file.h"
#include <sha256.h>
#include <string.h>

void hash_hex(const void *data, size_t n, char out[HASH_HEX])
{
	SHA256_Data(n ? data : "", n, out);
}

int hash_file(const char *path, char out[HASH_HEX], struct err *e)
{
	struct buf b = BUF_INIT;
	int rc = file_read(path, &b, e);

	if (rc == 0)
		hash_hex(b.data, b.len, out);
	buf_release(&b);
	return rc;
}

/* A part is "NAMELEN:NAME LEN:DATA\n". */
void hash_part(struct hash_parts *h, const char *name, const void *data, size_t n)
{
	buf_addf(&h->text, "%zu:%s %zu:", strlen(name), name, n);
	buf_add(&h->text, data, n);
	buf_addch(&h->text, '\n');
}

void hash_partstr(struct hash_parts *h, const char *name, const char *s)
{
	hash_part(h, name, s, strlen(s));
}

void hash_done(struct hash_parts *h, char out[HASH_HEX])
{
	hash_hex(h->text.data, h->text.len, out);
	buf_release(&h->text);
}
