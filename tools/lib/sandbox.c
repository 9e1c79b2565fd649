/* The bubblewrap command line around an untrusted program.
 *
 * Three ways to set it up. An ordinary user gets a user namespace. Root does without one and gives the program a user
 * of its own instead: the kernel holds root to no limit on processes, even as nobody inside a namespace. Root where
 * that is forbidden (a container) tries the namespace after all. */
#include "sandbox.h"
#include "file.h"
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum mode { UNKNOWN, OWN_USER, NAMESPACE, NONE };

enum {
	FIRST_USER = 20000,	/* users of sandboxes: below 65536, for containers that map no more */
	USERS = 40000,
	OPEN_FILES = 1024
};
#define TMP_BYTES "536870912"

static enum mode mode;
static char why_not[sizeof ((struct err *)0)->text];

static void add(struct argv *a, const char *const *words)
{
	for (; *words; words++)
		argv_add(a, *words);
}
#define ADD(a, ...) add(a, (const char *const[]){ __VA_ARGS__, NULL })

static void bind_path(struct sandbox *s, const char *how, const char *from, const char *to)
{
	ADD(&s->binds, how, from, to);
}

void sandbox_ro(struct sandbox *s, const char *from, const char *to)
{
	bind_path(s, "--ro-bind", from, to);
}

void sandbox_rw(struct sandbox *s, const char *from, const char *to)
{
	bind_path(s, "--bind", from, to);
}

void sandbox_env(struct sandbox *s, const char *name, const char *value)
{
	argv_addf(&s->env, "%s=%s", name, value);
}

void sandbox_release(struct sandbox *s)
{
	argv_release(&s->binds);
	argv_release(&s->env);
}

/* The folders above a place, which bwrap would make for its own user only. */
static void add_parents(struct argv *a, const char *place)
{
	for (const char *p = strchr(place + 1, '/'); p; p = strchr(p + 1, '/')) {
		char *dir = xstrndup(place, (size_t)(p - place));

		ADD(a, "--dir", dir);
		free(dir);
	}
}

/* Programs and libraries of the system. Where /bin and the like are links into /usr they stay links. */
static void add_system(struct argv *a)
{
	static const char *const dirs[] = { "bin", "sbin", "lib", "lib32", "lib64", NULL };
	static const char *const etc[] = { "/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", NULL };
	char path[16], target[PATH_MAX];
	ssize_t n;

	ADD(a, "--ro-bind", "/usr", "/usr");
	for (const char *const *d = dirs; *d; d++) {
		snprintf(path, sizeof path, "/%s", *d);
		n = readlink(path, target, sizeof target - 1);
		if (n > 0) {
			target[n] = '\0';
			ADD(a, "--symlink", target, path);
		} else {
			ADD(a, "--ro-bind-try", path, path);
		}
	}
	ADD(a, "--dir", "/etc");
	for (const char *const *p = etc; *p; p++)
		ADD(a, "--ro-bind-try", *p, *p);
}

/* bwrap stays in the sandbox as its first process, and /proc shows the environment it was started with: it gets none of
 * ours, which may hold keys. */
static void add_bwrap(struct argv *a)
{
	const char *path = getenv("PATH");

	ADD(a, "env", "-i");
	argv_addf(a, "PATH=%s", path ? path : "/usr/bin:/bin");
	ADD(a, "bwrap");
}

static void add_isolation(struct argv *a)
{
	ADD(a, "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts",
	    "--unshare-cgroup-try", "--hostname", "sandbox", "--cap-drop", "ALL");
	if (mode == OWN_USER) /* just enough to become that user */
		ADD(a, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP");
	else
		ADD(a, "--unshare-user", "--uid", "65534", "--gid", "65534");
	ADD(a, "--proc", "/proc", "--dev", "/dev");
}

/* A user for each sandbox, so that no two count against one limit. Those of one process that write to folders share
 * theirs: a folder is given away once. */
static unsigned own_user(bool writes)
{
	static unsigned writer;
	unsigned r;

	if (writes && writer)
		return writer;
	while (getrandom(&r, sizeof r, 0) != sizeof r)
		;
	r = FIRST_USER + r % USERS;
	if (writes)
		writer = r;
	return r;
}

static void add_user(struct argv *a, bool writes)
{
	unsigned user = own_user(writes);

	if (mode != OWN_USER)
		return;
	ADD(a, "setpriv");
	argv_addf(a, "--reuid=%u", user);
	argv_addf(a, "--regid=%u", user);
	ADD(a, "--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "--");
}

/* Tries the present mode with a program that does nothing. */
static int try_mode(void)
{
	struct argv a = { 0 };
	struct child c = { .timeout = 20, .max_output = 300 };
	struct child_result r = { 0 };
	struct err e = { "" };
	int failed;

	add_bwrap(&a);
	add_isolation(&a);
	add_system(&a);
	ADD(&a, "--tmpfs", "/tmp", "--");
	add_user(&a, false);
	ADD(&a, "prlimit", "--core=0", "--", "true");
	c.argv = a.v;
	failed = child_run(&c, &r, &e) || r.end != CHILD_EXITED || r.code;
	if (failed) {
		buf_addstr(&r.err, "");
		r.err.data[strcspn(r.err.data, "\n")] = '\0';
		snprintf(why_not, sizeof why_not, "%s",
			 *e.text ? e.text : *r.err.data ? r.err.data : "bwrap fails without a word");
	}
	argv_release(&a);
	child_result_release(&r);
	return failed ? -1 : 0;
}

int sandbox_works(struct err *e)
{
	if (mode == UNKNOWN && geteuid() == 0) {
		mode = OWN_USER;
		if (try_mode())
			mode = UNKNOWN;
	}
	if (mode == UNKNOWN) {
		mode = NAMESPACE;
		if (try_mode())
			mode = NONE;
	}
	return mode == NONE ? err_set(e, "no sandbox: %s", why_not) : 0;
}

static void add_limits(const struct sandbox *s, struct argv *a)
{
	ADD(a, "prlimit", "--core=0");
	argv_addf(a, "--nofile=%d", OPEN_FILES);
	if (s->memory)
		argv_addf(a, "--as=%zu", s->memory);
	if (s->processes)
		argv_addf(a, "--nproc=%d", s->processes);
	if (s->file_size)
		argv_addf(a, "--fsize=%zu", s->file_size);
	if (s->cpu > 0)
		argv_addf(a, "--cpu=%.0f", s->cpu < 1 ? 1 : s->cpu);
	ADD(a, "--");
}

static void add_env(const struct sandbox *s, struct argv *a)
{
	ADD(a, "--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin");
	for (size_t i = 0; i < s->env.n; i++) {
		char *name = xstrdup(s->env.v[i]), *value = strchr(name, '=');

		*value++ = '\0';
		ADD(a, "--setenv", name, value);
		free(name);
	}
}

/* What is bound for writing must belong to the sandbox's own user. Links are not followed. */
static int give_away(const char *path, struct err *e)
{
	char *const roots[] = { (char *)path, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
	FTSENT *f;
	unsigned user = own_user(true);
	int failed = 0;

	if (!tree)
		return err_set(e, "cannot read '%s':", path);
	while (!failed && (f = fts_read(tree)))
		if (f->fts_info != FTS_DP && f->fts_info != FTS_NS && f->fts_statp->st_uid != user &&
		    lchown(f->fts_path, user, user))
			failed = err_set(e, "cannot give '%s' to the sandbox's user:", f->fts_path);
	fts_close(tree);
	return failed;
}

/* /usr is visible as a whole; a project that lies in it must not be. */
static void hide_project(struct argv *a)
{
	if (!strncmp(file_root(), "/usr/", 5))
		ADD(a, "--tmpfs", file_root());
}

int sandbox_command(const struct sandbox *s, struct argv *out, struct err *e)
{
	bool writes = false;

	if (sandbox_works(e))
		return -1;
	add_bwrap(out);
	add_isolation(out);
	add_system(out);
	hide_project(out);
	ADD(out, "--perms", "1777", "--size", TMP_BYTES, "--tmpfs", "/tmp");
	for (size_t i = 0; i + 2 < s->binds.n; i += 3) {
		add_parents(out, s->binds.v[i + 2]);
		ADD(out, s->binds.v[i], s->binds.v[i + 1], s->binds.v[i + 2]);
		if (strcmp(s->binds.v[i], "--bind"))
			continue;
		writes = true;
		if (mode == OWN_USER && give_away(s->binds.v[i + 1], e))
			return -1;
	}
	add_env(s, out);
	if (s->cwd)
		ADD(out, "--chdir", s->cwd);
	/* also /dev, a file system in memory that belongs to the program's user where that is the caller */
	ADD(out, "--remount-ro", "/dev", "--remount-ro", "/", "--");
	add_user(out, writes);
	add_limits(s, out);
	return 0;
}

/* The last of a path cut off, in place. */
static char *parent(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*(slash == path ? slash + 1 : slash) = '\0';
	return path;
}

/* The interpreter's programs and library, not what else lies beside them (a prefix may be somebody's home). */
static void bind_prefix(struct sandbox *s, const char *prefix)
{
	static const char *const parts[] = { "bin", "lib", NULL };

	if (!strncmp(prefix, "/usr/", 5) || !strcmp(prefix, "/usr") || !strcmp(prefix, "/"))
		return; /* visible anyway */
	for (const char *const *p = parts; *p; p++) {
		char *path = xasprintf("%s/%s", prefix, *p);

		sandbox_ro(s, path, path);
		free(path);
	}
}

/* The prefix that pyvenv.cfg names ("home = PREFIX/bin"); NULL when there is none. */
static char *venv_home(const char *venv)
{
	char *path = xasprintf("%s/pyvenv.cfg", venv), *home = NULL, *line, *next;
	struct buf b = BUF_INIT;

	if (!file_read(path, &b, NULL))
		for (line = b.data; line && !home; line = next) {
			next = strchr(line, '\n');
			if (next)
				*next++ = '\0';
			if (!strncmp(line, "home", 4) && line[4 + strspn(line + 4, " ")] == '=') {
				line = strchr(line, '=') + 1;
				home = parent(xstrdup(line + strspn(line, " ")));
			}
		}
	buf_release(&b);
	free(path);
	return home;
}

int sandbox_python(struct sandbox *s, struct err *e)
{
	char *real = realpath(file_python(), NULL), *venv, *home;

	if (real && *file_python() != '/') {
		free(real);
		return err_set(e, "the path of Python, '%s', must be absolute", file_python());
	}
	if (!real)
		return err_set(e, "cannot find Python at '%s' (run 'tools/setup'?):", file_python());
	venv = parent(parent(xstrdup(file_python())));
	home = venv_home(venv);
	parent(parent(real));
	bind_prefix(s, real);
	if (home && strcmp(home, real))
		bind_prefix(s, home);
	if (home)
		sandbox_ro(s, venv, venv);
	free(real);
	free(venv);
	free(home);
	return 0;
}
