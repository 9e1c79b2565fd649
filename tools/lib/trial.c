/* Reads one record for the scorer. What is missing stays unknown; nothing is guessed. */
#include "trial.h"
#include "hash.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const ending_name[ENDINGS] = {
	[ENDED_CORRECT] = "correct",
	[ENDED_WRONG] = "wrong",
	[ENDED_FAULT] = "fault",
	[ENDED_TIMEOUT] = "timeout",
	[ENDED_INVALID] = "invalid",
	[ENDED_NOT_BUILT] = "not_built",
	[ENDED_NOISY] = "noisy",
	[ENDED_STALE] = "stale",
	[ENDED_UNSUPPORTED] = "unsupported",
	[ENDED_TOOL_ERROR] = "tool_error",
	[ENDED_NOT_RUN] = "not_run",
};

const char *const judged_name[JUDGED] = {
	[JUDGED_SCORED] = "scored",
	[JUDGED_UNSCORED] = "unscored",
	[JUDGED_NOTHING] = "nothing_to_judge",
	[JUDGED_NOT] = "not_judged",
};

const char *const class_name[CLASSES] = { "fresh_in", "cache_read", "cache_write", "out", "reasoning" };
const char *const score_name[SCORES] = { "L1", "L2", "L3", "combined" };

bool ending_measured(enum ending o)
{
	return o <= ENDED_NOT_BUILT;
}

/* Index of s in the list, or -1. */
static int find_name(const char *s, const char *const *list, int n)
{
	int i;

	for (i = 0; s && i < n; i++)
		if (!strcmp(s, list[i]))
			return i;
	return -1;
}

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

static bool is_script(const char *name)
{
	return name && !strncmp(name, "script:", 7);
}

static char *member(const struct record *r, const char *key)
{
	char text[1024];

	return record_str(r, key, text, sizeof text) && *text ? xstrdup(text) : NULL;
}

static int read_names(struct trial *t, const struct record *r, struct err *e)
{
	char *arm = member(r, "arm");
	struct json *repeat = record_get(r, "repeat", NULL);
	int i = arm_find(arm);

	free(arm);
	t->id = member(r, "id");
	t->task = member(r, "task");
	t->model = member(r, "model");
	t->repeat = repeat ? json_int(repeat, -1) : 1;
	json_free(repeat);
	if (!t->id || !t->task || !t->model)
		return err_set(e, "no trial: 'id', 'task' and 'model' must be text");
	if (i < 0)
		return err_set(e, "no trial: 'arm' must be " ARM_NAMES);
	if (t->repeat < 1)
		return err_set(e, "no trial: 'repeat' must be a whole number from 1");
	t->arm = (enum arm)i;
	return 0;
}

/* A number that no tool writes is as unknown as a missing one. */
static double number_in(const struct json *obj, const char *key, double min, double max)
{
	double x = json_get_num(obj, key, NAN);

	return x >= min && x <= max ? x : NAN;
}

static void read_agent(struct trial *t, const struct json *agent)
{
	const struct json *usage = json_get(agent, "usage");
	int i;

	for (i = 0; i < CLASSES; i++)
		t->usage[i] = number_in(usage, class_name[i], 0, INFINITY);
	t->cost = number_in(agent, "cost_usd", 0, INFINITY);
	t->scripted = is_script(t->model) || is_script(json_get_str(agent, "model_id"));
}

/* Geometric mean over the workloads of baseline over expert time; unknown if any of them lacks one. */
static double expert_speedup(const struct json *time)
{
	const struct json *w;
	double sum = 0;
	int n = 0;

	for (w = json_first(json_get(time, "workloads")); w; w = json_next(w)) {
		const struct json *ns = json_get(w, "ns");
		double baseline = json_get_num(ns, "baseline", NAN), expert = json_get_num(ns, "expert", NAN);

		if (!(baseline > 0) || !(expert > 0))
			return NAN;
		sum += log(baseline) - log(expert);
		n++;
	}
	return n ? exp(sum / n) : NAN;
}

/* Two texts that are both known, and not the same. */
static bool differ(const char *a, const char *b)
{
	return a && b && strcmp(a, b);
}

/* Is a section about another text than the agent's section has now? */
static bool of_another(const struct json *agent, const char *key, const char *source_sha256)
{
	const char *text = json_get_str(agent, key);
	char hash[HASH_HEX];

	if (!text)
		return false;
	hash_hex(text, strlen(text), hash);
	return differ(hash, source_sha256);
}

/* A stage was done again, and those after it were not. */
static bool is_stale(const struct json *agent, const struct json *build, const struct json *time)
{
	const char *built = json_get_str(build, "status"), *status = json_get_str(time, "status");

	if (built && status && !strcmp(built, "ok") != !!strcmp(status, ending_name[ENDED_NOT_BUILT]))
		return true;
	if (json_bool(json_get(time, "comparable"), false) &&
	    differ(json_get_str(build, "bundle"), json_get_str(time, "bundle")))
		return true;
	return of_another(agent, "submission", json_get_str(build, "source_sha256"));
}

static bool all_correct(const struct json *time)
{
	const struct json *w = json_first(json_get(time, "workloads"));

	while (w && !differ(json_get_str(w, "status"), ending_name[ENDED_CORRECT]))
		w = json_next(w);
	return !w;
}

/* A submission that was not built because the build tool failed, or because the model's endpoint did, is nobody's
 * failure to write a kernel. */
static enum ending find_ending(const struct json *agent, const struct json *build, const struct json *time)
{
	const char *status = json_get_str(time, "status"), *built = json_get_str(build, "status");
	const char *ended = json_get_str(agent, "status");
	int i = find_name(status, ending_name, ENDINGS);

	if (!time)
		return ENDED_NOT_RUN;
	if (i < 0)
		return ENDED_TOOL_ERROR;
	if (ending_measured((enum ending)i) && is_stale(agent, build, time))
		return ENDED_STALE;
	if (i == ENDED_CORRECT && !all_correct(time))
		return ENDED_TOOL_ERROR;
	if (i == ENDED_NOT_BUILT && built && !strcmp(built, "tool_error"))
		return ENDED_TOOL_ERROR;
	if (i == ENDED_NOT_BUILT && ended && !strcmp(ended, "failed") && !json_get_str(agent, "submission"))
		return ENDED_TOOL_ERROR;
	return (enum ending)i;
}

static void read_time(struct trial *t, const struct json *time)
{
	const char *device = json_get_str(json_get(time, "device"), "name");

	t->device = copy(device);
	t->cpu = device && !strcmp(device, "cpu-interpreter");
	t->comparable = json_bool(json_get(time, "comparable"), false) && !t->cpu;
	t->expert = t->comparable ? expert_speedup(time) : NAN;
	t->speedup = NAN;
	if (t->ending == ENDED_CORRECT && t->comparable)
		t->speedup = json_get_num(time, "speedup", NAN);
	if (!(t->speedup > 0) || isinf(t->speedup))
		t->speedup = NAN;
}

static void read_judge(struct trial *t, const struct json *agent, const struct json *judge)
{
	int i = find_name(json_get_str(judge, "status"), judged_name, JUDGED);
	const char *kind = json_get_str(judge, "kind");

	t->judge = copy(json_get_str(judge, "judge"));
	t->scripted_judge = is_script(t->judge) || is_script(json_get_str(judge, "judge_id"));
	t->design = kind && !strcmp(kind, "design");
	if (of_another(agent, t->design ? "design" : "submission", json_get_str(judge, "source_sha256")))
		i = JUDGED_NOT;
	t->judged = judge && i >= 0 ? (enum judged)i : JUDGED_NOT;
	for (i = 0; i < SCORES; i++) {
		t->plain[i] = number_in(json_get(judge, "scores"), score_name[i], 0, 100);
		t->gated[i] = number_in(json_get(judge, "gated"), score_name[i], 0, 100);
	}
}

int trial_read(struct trial *t, const struct record *r, struct err *e)
{
	struct json *prompt, *agent, *build, *time, *judge;

	if (read_names(t, r, e))
		return -1;
	prompt = record_get(r, "prompt", NULL);
	agent = record_get(r, "agent", NULL);
	build = record_get(r, "build", NULL);
	time = record_get(r, "time", NULL);
	judge = record_get(r, "judge", NULL);
	t->shared_hash = copy(json_get_str(prompt, "shared_hash"));
	read_agent(t, agent);
	t->ending = find_ending(agent, build, time);
	read_time(t, time);
	read_judge(t, agent, judge);
	json_free(prompt);
	json_free(agent);
	json_free(build);
	json_free(time);
	json_free(judge);
	return 0;
}

void trial_release(struct trial *t)
{
	free(t->id);
	free(t->task);
	free(t->model);
	free(t->shared_hash);
	free(t->device);
	free(t->judge);
}

struct trial *trials_add(struct trials *t)
{
	t->v = xgrow(t->v, &t->cap, t->n + 1, sizeof *t->v);
	memset(&t->v[t->n], 0, sizeof *t->v);
	t->v[t->n].order = t->n;
	return &t->v[t->n++];
}

void trials_release(struct trials *t)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		trial_release(&t->v[i]);
	free(t->v);
	*t = (struct trials){ NULL, 0, 0 };
}
