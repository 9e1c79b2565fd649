/* The agent's shell: a command in the sandbox, and its output in words. */
#include "workspace.h"
#include "child.h"
#include "clip.h"
#include "file.h"
#include "sandbox.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OUTPUT_MAX = 8 << 20, PROCESSES = 256 };
static const size_t MEMORY = 16UL << 30, FILE_SIZE = 256UL << 20;

/* Keeps the whole output where the model can read it. */
static void spill(const struct workspace *w, const struct buf *text, struct buf *out)
{
	struct buf old = BUF_INIT;
	char name[64];
	int i = 0;

	do {
		buf_reset(&old);
		snprintf(name, sizeof name, ".output/shell-%d.txt", ++i);
	} while (i < 1000 && !workspace_read(w, name, &old, NULL));
	buf_release(&old);
	if (!workspace_write(w, name, text->data, text->len, NULL))
		buf_addf(out, "[the whole output is in %s]\n", name);
}

static void describe_end(const struct child_result *r, struct buf *out)
{
	if (r->end == CHILD_EXITED)
		buf_addf(out, "exit code %d\n", r->code);
	else if (r->end == CHILD_SIGNALED)
		buf_addf(out, "killed by signal %d\n", r->code);
	else if (r->end == CHILD_TIMEOUT)
		buf_addf(out, "stopped after %.0f seconds\n", r->seconds);
}

static int sandbox_for(const struct workspace *w, const char *command, struct argv *argv, struct err *e)
{
	struct sandbox s = { .cwd = WORKSPACE_MOUNT, .memory = MEMORY, .processes = PROCESSES,
			     .file_size = FILE_SIZE };
	char *python = xstrdup(file_python()), *slash = strrchr(python, '/'), *path;
	int failed;

	if (slash)
		*slash = '\0';
	path = xasprintf("%s:/usr/local/bin:/usr/bin:/bin", python);
	sandbox_rw(&s, w->path, WORKSPACE_MOUNT);
	sandbox_env(&s, "PATH", path);
	sandbox_env(&s, "HOME", "/tmp");
	sandbox_env(&s, "LANG", "C.UTF-8");
	sandbox_env(&s, "PYTHONDONTWRITEBYTECODE", "1");
	sandbox_env(&s, "TRITON_DEFAULT_FP_FUSION", "1");
	failed = sandbox_python(&s, e) || sandbox_command(&s, argv, e);
	sandbox_release(&s);
	free(path);
	free(python);
	if (failed)
		return -1;
	/* one stream, so that errors stand where they happened */
	argv_add(argv, "bash");
	argv_add(argv, "-c");
	argv_add(argv, "exec bash -c \"$1\" 2>&1");
	argv_add(argv, "bash");
	argv_add(argv, command);
	return 0;
}

int workspace_shell(const struct workspace *w, const char *command, double timeout, struct buf *out, struct err *e)
{
	struct argv argv = { 0 };
	struct child_result r = { .end = CHILD_NOT_STARTED };
	int failed;

	chmod(w->path, 0755);	/* an earlier command may have locked itself out; where that fails it was not ours */
	failed = sandbox_for(w, command, &argv, e);
	if (!failed) {
		/* the sandbox's own first process shows its environment to those inside */
		char *const bare[] = { "PATH=/usr/local/bin:/usr/bin:/bin", NULL };
		const struct child c = { .argv = argv.v, .env = bare, .timeout = timeout, .max_output = OUTPUT_MAX };

		failed = child_run(&c, &r, e);
	}
	if (!failed) {
		describe_end(&r, out);
		buf_addbuf(&r.out, &r.err);	/* of the sandbox itself, normally nothing */
		clip_text(out, r.out.data ? r.out.data : "", r.out.len, CLIP_SHOWN);
		if (out->len && out->data[out->len - 1] != '\n')
			buf_addch(out, '\n');
		if (r.truncated)
			buf_addf(out, "[it printed more than %d MiB; the rest was dropped]\n", OUTPUT_MAX >> 20);
		if (r.out.len > CLIP_SHOWN)
			spill(w, &r.out, out);
	}
	child_result_release(&r);
	argv_release(&argv);
	return failed;
}
