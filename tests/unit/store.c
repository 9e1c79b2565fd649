/* The store: content under its hash, keys, damage. Run in a scratch folder. */
#include "../tap/tap.h"
#include "file.h"
#include "store.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	char hex[HASH_HEX] = "", key[HASH_HEX], *path;
	struct buf b = BUF_INIT;
	struct err e = { "" };

	setenv("D2K_STORE", "here", 1);
	memset(key, 'a', sizeof key - 1);
	key[sizeof key - 1] = '\0';
	is_int(store_get("bundle", key, &b, &e), 0, "absent");
	is_int(store_put("bundle", "abc", 3, hex, &e), 0, "put");
	is_str(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "under its content's hash");
	buf_addstr(&b, "before ");
	is_int(store_get("bundle", hex, &b, &e), 1, "get");
	is_str(b.data, "before abc", "appends");
	is_int(store_put_as("index", key, "one\n", 4, &e), 0, "put under a key");
	is_int(store_put_as("index", key, "two\n", 4, &e), 0, "and again");
	buf_reset(&b);
	is_int(store_get("index", key, &b, &e), 1, "get by key");
	is_str(b.data, "two\n", "the last one");
	path = store_path("bundle", hex);
	ok(!strncmp(path, "here/", 5), "D2K_STORE names the place");
	is_int(file_write(path, "abd", 3, &e), 0, "damage");
	buf_reset(&b);
	is_int(store_get("bundle", hex, &b, &e), -1, "is noticed");
	ok(strstr(e.text, "damaged") != NULL, "and said: %s", e.text);
	is_int((long long)b.len, 0, "and nothing handed out");
	is_int(store_get("bundle", "../../etc/passwd", &b, &e), -1, "a name that is no hash");
	is_int(store_put_as("bundle", "x", "", 0, &e), -1, "nor can one be written");
	free(path);
	buf_release(&b);
	return done_testing();
}
