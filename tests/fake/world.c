/* Reading the environment. It is read each time: nothing here is called often enough to matter. */
#include "world.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *fake_text(const char *name)
{
	const char *text = getenv(name);

	return text ? text : "";
}

double fake_number(const char *name, double otherwise)
{
	const char *text = fake_text(name);

	return *text ? strtod(text, NULL) : otherwise;
}

int fake_devices(void)
{
	double n = fake_number("FAKE_DEVICES", 1);

	return n < 0 ? 0 : n > FAKE_DEVICES_MAX ? FAKE_DEVICES_MAX : (int)n;
}

/* "sm=1200,reasons=8" */
static const char *apply(const char *p, struct fake_state *s)
{
	const struct { const char *key; long *value; } keys[] = {
		{ "sm", &s->sm_mhz }, { "memory", &s->memory_mhz }, { "reasons", &s->reasons },
		{ "temperature", &s->temperature }, { "power", &s->power_mw }, { "others", &s->others },
	};

	while (*p && *p != ';') {
		size_t n = strcspn(p, "=,;");
		char *end = (char *)(size_t)p;

		for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			if (p[n] == '=' && strlen(keys[i].key) == n && !strncmp(p, keys[i].key, n))
				*keys[i].value = strtol(p + n + 1, &end, 0);
		if (end == p) {
			fprintf(stderr, "FAKE_STATE: what is '%s'?\n", p);
			abort();
		}
		p = end + strspn(end, ",");
	}
	return p;
}

void fake_state_at(double ns, struct fake_state *s)
{
	const char *p = fake_text("FAKE_STATE");

	*s = (struct fake_state){ .sm_mhz = FAKE_SM_MHZ, .memory_mhz = FAKE_MEMORY_MHZ, .temperature = 40,
				  .power_mw = 100000 };
	while (*p) {
		char *end;

		if (strtod(p, &end) * 1e6 > ns)
			break;
		p = apply(end + strspn(end, " "), s);
		p += strspn(p, "; ");
	}
}

static int lost;	/* the code with which everything fails from now on */

/* "cuMemAlloc_v2=2@3", "*=46@500+", "cuGraphLaunch=46@1!" */
static int failure(const char *rule, const char *function, long count, long total)
{
	char name[64];
	int code, any, end = 0;
	long at;

	if (sscanf(rule, "%63[^=]=%d@%ld%n", name, &code, &at, &end) != 3) {
		fprintf(stderr, "FAKE_FAIL: what is '%s'?\n", rule);
		abort();
	}
	any = !strcmp(name, "*");
	if (!any && strcmp(name, function))
		return 0;
	if (any)
		count = total;
	if (rule[end] == '!' && count >= at)
		lost = code;
	return count == at || (rule[end] == '+' && count > at) ? code : 0;
}

/* Whether FAKE_FAIL is for this process: with FAKE_FAIL_ONCE, for the first that makes the file. */
static int concerned(void)
{
	static int answer = -1;
	const char *path = fake_text("FAKE_FAIL_ONCE");
	FILE *f;

	if (answer < 0) {
		f = *path ? fopen(path, "wx") : NULL;
		answer = !*path || f;
		if (f)
			fclose(f);
	}
	return answer;
}

int fake_failure(const char *function)
{
	static struct { char name[64]; long count; } call[128];
	static long total;
	const char *p = concerned() ? fake_text("FAKE_FAIL") : "";
	size_t i = 0;

	while (i < 127 && call[i].name[0] && strcmp(call[i].name, function))
		i++;
	snprintf(call[i].name, sizeof(call[i].name), "%s", function);
	call[i].count++;
	total++;
	while (*p && !lost) {
		int code = failure(p, function, call[i].count, total);

		if (code)
			return code;
		p += strcspn(p, " ");
		p += strspn(p, " ");
	}
	return lost;
}

static double uniform(unsigned long long *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return ((double)(*state >> 11) + 0.5) / 0x1p53;
}

double fake_normal(unsigned long long *state)
{
	double r = sqrt(-2 * log(uniform(state)));

	return r * cos(6.283185307179586 * uniform(state));
}
