/* A scripted model: replies from a file, played through the same loop as a real one. One JSON object a line:
 *
 *     {"content":"words", "calls":[{"name":"write","arguments":{...}}], "usage":{...}, "expect":"text"}
 *
 * Every member may be missing. Line number `turn` (blank lines not counted) answers request number `turn`. `expect`
 * must occur in the messages after the last reply, or the script fails. arguments given as a string are sent as they
 * are, so that a script can play a model that sends nonsense; "id" in a call likewise. A value
 * {"$file":"path relative to the script","replace":[["old","new"],...]} stands for that file's text, each old (which
 * must occur) replaced throughout. content that is an object or list without "$file" is sent as its JSON text. */
#ifndef SCRIPT_H
#define SCRIPT_H
#include "wire.h"

struct script {
	char *dir;		/* relative "$file" paths start here */
	char **lines;
	int n;
};

int script_load(struct script *s, const char *path, struct err *e);
void script_release(struct script *s);
#endif
