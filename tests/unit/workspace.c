/* The agent's files: nothing outside is reached, edits touch only what they name, clipping keeps characters whole.
 * Run in a scratch folder. */
#include "clip.h"
#include "file.h"
#include "tap.h"
#include "workspace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char root[] = "work";
static char *secret;	/* a file outside */
static struct workspace w;

static bool refused(const char *path)
{
	struct buf out = BUF_INIT;
	struct err e = { "" };
	bool good = workspace_read(&w, path, &out, &e) && *e.text && !out.len;

	buf_release(&out);
	return good;
}

static bool holds(const char *path, const char *want)
{
	struct buf out = BUF_INIT;
	bool good = !workspace_read(&w, path, &out, NULL) && out.len == strlen(want) && !memcmp(out.data, want, out.len);

	buf_release(&out);
	return good;
}

static bool put(const char *path, const char *text)
{
	struct err e = { "" };

	return !workspace_write(&w, path, text, strlen(text), &e);
}

static bool untouched(void)
{
	struct buf out = BUF_INIT;
	bool good = !file_read(secret, &out, NULL) && out.len == 6 && !memcmp(out.data, "secret", 6);

	buf_release(&out);
	return good;
}

static void make_trap(const char *name, const char *target)
{
	char path[128];

	snprintf(path, sizeof path, "%s/%s", root, name);
	if (symlink(target, path))
		abort();
}

static void test_paths(void)
{
	char fifo[128];

	make_trap("link", secret);
	make_trap("up", "..");
	make_trap("self", "/proc/self");
	make_trap("submission.py", secret);
	ok(refused("../secret") && refused("a/../../secret") && refused(secret) && refused("/etc/passwd") &&
	   refused("/agent/../secret") && refused("/agentx"), "reading outside");
	ok(refused("link") && refused("up/secret") && refused("self/environ") && refused("submission.py"),
	   "reading through links");
	ok(!put("../new", "x") && !put("up/new", "x") && !put("/etc/d2k-new", "x") && !put("a/../../new", "x") &&
	   !put("", "x") && !put(".", "x") && !put("..", "x") && !put("/agent", "x") && !put("up/a/b", "x"),
	   "writing outside");
	ok(put("link", "mine") && holds("link", "mine") && put("submission.py", "mine") && untouched(),
	   "writing replaces a link and leaves its target");
	ok(put("deep/er/file", "x") && holds("/agent/deep/er/file", "x") && holds("./deep//er/file", "x"), "folders are made");
	ok(refused("deep") && refused("missing") && !put("deep/er", "x"), "a folder is no file");
	snprintf(fifo, sizeof fifo, "%s/fifo", root);
	if (mkfifo(fifo, 0600))
		abort();
	ok(refused("fifo"), "a FIFO does not hang");
}

static int edit(const char *old, const char *new, bool all, struct err *e)
{
	return workspace_edit(&w, "edited", old, new, all, e);
}

/* 64 KiB of "a", each to become 64 KiB of "b" */
static void test_edit_size(void)
{
	static char a[(64 << 10) + 1], b[sizeof a];
	struct err e = { "" };

	memset(a, 'a', sizeof a - 1);
	memset(b, 'b', sizeof b - 1);
	put("grown", a);
	ok(workspace_edit(&w, "grown", "a", b, true, &e) == -1 && strstr(e.text, "would have more than"),
	   "an edit does not make 4 GiB: %s", e.text);
	ok(holds("grown", a), "and leaves the file as it is");
}

static void test_edit(void)
{
	struct err e = { "" };

	put("edited", "one\r\ntwo\nthree\r\n\xff two");
	ok(edit("one", "ONE", false, &e) == 1 && holds("edited", "ONE\r\ntwo\nthree\r\n\xff two"), "other bytes stay");
	ok(edit("two", "2", false, &e) == -1 && strstr(e.text, "2 times"), "not unique");
	ok(edit("two", "2", true, &e) == 2 && holds("edited", "ONE\r\n2\nthree\r\n\xff 2"), "all");
	ok(edit("ONE\n", "x", false, &e) == -1 && strstr(e.text, "CR LF"), "line ends are named");
	ok(edit("", "x", true, &e) == -1 && edit("absent", "x", true, &e) == -1, "nothing to replace");
	ok(holds("edited", "ONE\r\n2\nthree\r\n\xff 2"), "a failed edit changes nothing");
	test_edit_size();
	put("empty", "");
	ok(workspace_edit(&w, "empty", "x", "y", true, &e) == -1 && holds("empty", ""), "an empty file");
}

static bool clips(const char *text, size_t shown, const char *want)
{
	struct buf out = BUF_INIT;
	bool good;

	clip_text(&out, text, strlen(text), shown);
	good = !strcmp(out.data ? out.data : "", want);
	if (!good)
		printf("# got: %s\n", out.data);
	buf_release(&out);
	return good;
}

static void test_clip(void)
{
	struct buf out = BUF_INIT;

	ok(clips("abcdef", 6, "abcdef") && clips("", 6, ""), "what fits stays");
	ok(clips("abcdefgh", 4, "ab\n[... 4 of 8 bytes left out ...]\ngh"), "head and tail");
	ok(clips("\u00e4\u00e4\u00e4\u00e4\u00e4", 6, "\u00e4\n[... 4 of 10 bytes left out ...]\n\u00e4\u00e4"),
	   "characters stay whole");
	ok(clips("a\xff" "b\xc3", 9, "a\ufffd" "b\ufffd"), "bytes that are no UTF-8");
	clip_text(&out, "a\0b", 3, 9);
	ok(!strcmp(out.data, "a\ufffd" "b"), "NUL");
	buf_release(&out);
}

static void test_list(void)
{
	struct buf out = BUF_INIT;
	struct err e = { "" };

	ok(!workspace_list(&w, ".", &out, &e) && strstr(out.data, "deep/\n") && strstr(out.data, "edited  ") &&
	   strstr(out.data, "up  (link, not followed)"), "a listing");
	buf_reset(&out);
	ok(workspace_list(&w, "..", &out, &e) && workspace_list(&w, "up", &out, &e) &&
	   workspace_list(&w, "/", &out, &e) && !out.len, "not outside");
	buf_release(&out);
}

int main(void)
{
	struct err e;

	if (file_write("secret", "secret", 6, &e) || workspace_open(&w, root, &e))
		abort();
	secret = realpath("secret", NULL);
	test_paths();
	test_edit();
	test_clip();
	test_list();
	workspace_release(&w);
	free(secret);
	return done_testing();
}
