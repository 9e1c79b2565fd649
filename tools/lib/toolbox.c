/* Definitions of the agent's tools and the checking of arguments. */
#include "toolbox.h"
#include "file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int toolbox_open(struct toolbox *t, bool design, struct err *e)
{
	char *path = file_in_root("tools/agent/tools.json");

	memset(t, 0, sizeof *t);
	t->file = json_parse_file(path, e);
	if (t->file) {
		t->tools = json_get(t->file, design ? "design_tools" : "tools");
		json_print(t->tools, &t->offered);
		if (!json_len(t->tools) || !json_get(t->file, "texts"))
			err_set(e, "'%s' has no tools", path);
	}
	free(path);
	return json_len(t->tools) && json_get(t->file, "texts") ? 0 : -1;
}

void toolbox_release(struct toolbox *t)
{
	buf_release(&t->offered);
	json_free(t->file);
}

static const struct json *find(const struct toolbox *t, const char *name)
{
	const struct json *c = json_first(t->tools);

	while (c && strcmp(json_str(json_path(c, "function.name")), name))
		c = json_next(c);
	return json_get(c, "function");
}

const char *toolbox_name(const struct toolbox *t, int i)
{
	const struct json *c = json_first(t->tools);

	while (c && i-- > 0)
		c = json_next(c);
	return json_str(json_path(c, "function.name"));
}

/* Arguments ------------------------------------------------------------------------------------------------------- */

/* "path, content" */
static void property_names(const struct json *properties, char *out, size_t n)
{
	const struct json *c;
	size_t len = 0;

	snprintf(out, n, "nothing");
	for (c = json_first(properties); c && len < n; c = json_next(c))
		len += (size_t)snprintf(out + len, n - len, "%s%s", len ? ", " : "", json_key(c));
}

static int check_integer(const struct json *value, const struct json *schema, struct err *e)
{
	long long x = json_int(value, -1), min = json_get_int(schema, "minimum", 0), max = json_get_int(schema, "maximum", 0);

	if (json_type(value) != JSON_NUM || x < min || x > max)
		return err_set(e, "'%s' must be a whole number from %lld to %lld", json_key(value), min, max);
	return 0;
}

static int check_value(const struct json *value, const struct json *schema, struct err *e)
{
	const char *type = json_get_str(schema, "type");

	if (!strcmp(type, "integer"))
		return check_integer(value, schema, e);
	if (!strcmp(type, "string") && json_type(value) != JSON_STR)
		return err_set(e, "'%s' must be a string", json_key(value));
	if (!strcmp(type, "boolean") && json_type(value) != JSON_BOOL)
		return err_set(e, "'%s' must be true or false", json_key(value));
	return 0;
}

static int check_object(const struct json *object, const struct json *schema, struct err *e)
{
	const struct json *properties = json_get(schema, "properties"), *c;
	char names[200];

	property_names(properties, names, sizeof names);
	if (json_type(object) != JSON_OBJ)
		return err_set(e, "the arguments must be one JSON object with: %s", names);
	for (c = json_first(object); c; c = json_next(c)) {
		if (!json_get(properties, json_key(c)))
			return err_set(e, "unknown argument '%.60s'; this tool takes: %s", json_key(c), names);
		if (check_value(c, json_get(properties, json_key(c)), e))
			return -1;
	}
	for (c = json_first(json_get(schema, "required")); c; c = json_next(c))
		if (!json_get(object, json_str(c)))
			return err_set(e, "argument '%s' is missing; this tool takes: %s", json_str(c), names);
	return 0;
}

static void unknown_tool(const struct toolbox *t, const char *name, struct err *e)
{
	char names[300] = "";
	size_t len = 0;

	for (int i = 0; toolbox_name(t, i) && len < sizeof names; i++)
		len += (size_t)snprintf(names + len, sizeof names - len, "%s%s", i ? ", " : "", toolbox_name(t, i));
	err_set(e, "there is no tool '%.60s'; the tools are: %s", name, names);
}

struct json *toolbox_arguments(const struct toolbox *t, const char *name, const char *text, struct err *e)
{
	const struct json *tool = find(t, name), *schema = json_get(tool, "parameters");
	bool blank = !text[strspn(text, " \t\r\n")];
	struct err why = { "" };
	struct json *arguments;

	if (!tool) {
		unknown_tool(t, name, e);
		return NULL;
	}
	/* a tool that needs nothing is often called with nothing at all */
	if (blank && !json_len(json_get(schema, "required")))
		text = "{}";
	arguments = json_parse(text, strlen(text), &why);
	if (!arguments) {
		err_set(e, "the arguments are no valid JSON (%s)%s", why.text, blank ? "" : "; were they cut off?");
		return NULL;
	}
	if (check_object(arguments, schema, e)) {
		json_free(arguments);
		return NULL;
	}
	return arguments;
}

/* Texts ----------------------------------------------------------------------------------------------------------- */

void toolbox_text(const struct toolbox *t, const char *key, long long left, long long turns, long long calls,
		  struct buf *out)
{
	const struct { const char *name; long long value; } holes[] = {
		{ "{left}", left }, { "{turns}", turns }, { "{calls}", calls } };
	const char *p = json_get_str(json_get(t->file, "texts"), key);

	if (!p)
		die("tools.json has no text '%s'", key);
	while (*p) {
		size_t i = 0;

		while (i < 3 && strncmp(p, holes[i].name, strlen(holes[i].name)))
			i++;
		if (i == 3) {
			buf_addch(out, *p++);
			continue;
		}
		buf_addf(out, "%lld", holes[i].value);
		p += strlen(holes[i].name);
	}
}
