/* What autotuning chose for a plan: kept for a device, a bundle and a workload, and nothing else is believed. Run in a
 * scratch folder. */
#include "../tap/tap.h"
#include "choice.h"
#include "store.h"
#include <stdlib.h>
#include <string.h>

static struct variant three[3];
static struct step steps[3] = { { .variants = three, .nvariants = 3 }, { .variants = three, .nvariants = 1 },
	{ .variants = three, .nvariants = 3 } };
static struct plan plan = { .workload = (char *)"large", .steps = steps, .nsteps = 3 };
static struct bundle bundle = { .hash = "5e1f" };
static int chosen[3];
static struct replay replay = { .bundle = &bundle, .plan = &plan, .chosen = chosen };
static struct gpu_info device = { .uuid = "GPU-1", .driver = "580.95.05" };

static void keep(const char *objects)
{
	struct buf b = BUF_INIT;

	buf_addstr(&b, objects);
	choice_keep(&device, &replay, &b);
	buf_release(&b);
}

/* Whether something is kept; the choice before is 1, 0, 1. */
static bool load(struct buf *objects)
{
	buf_reset(objects);
	chosen[0] = chosen[2] = 1;
	chosen[1] = 0;
	return choice_load(&device, &replay, objects);
}

static bool untouched(void)
{
	return chosen[0] == 1 && chosen[1] == 0 && chosen[2] == 1;
}

int main(void)
{
	static const char good[] = "{\"steps\":[0,2],\"ns\":[9,8,7],\"chosen\":2,\"config\":\"BLOCK: 128\"}";
	static const char *const bad[] = { "", "7", "{\"steps\":[0],\"chosen\":3}", "{\"steps\":[3],\"chosen\":0}",
		"{\"steps\":[-1],\"chosen\":0}", "{\"steps\":[0],\"chosen\":-1}", "{\"steps\":[0]}", "{\"steps\":[0],\"cho",
		"{\"steps\":[0],\"chosen\":2},{\"steps\":[1],\"chosen\":1}" };
	struct buf said = BUF_INIT;

	setenv("D2K_STORE", "store", 1);
	ok(!load(&said) && untouched() && !said.len, "nothing is kept at first");
	keep(good);
	ok(load(&said) && chosen[0] == 2 && chosen[1] == 0 && chosen[2] == 2, "chosen as before");
	is_str(said.data, good, "and told as before");

	device.uuid[4] = '2';
	ok(!load(&said) && untouched(), "another device has its own");
	device.uuid[4] = '1';
	device.driver[0] = '6';
	ok(!load(&said) && untouched(), "so has another driver");
	device.driver[0] = '5';
	bundle.hash[0] = '6';
	ok(!load(&said) && untouched(), "and another bundle");
	bundle.hash[0] = '5';
	plan.workload = (char *)"small";
	ok(!load(&said) && untouched(), "and another workload");
	plan.workload = (char *)"large";
	ok(load(&said), "while this one is still there");

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		keep(bad[i]);
		ok(!load(&said) && untouched() && !said.len, "what does not fit the plan is not taken: %s", bad[i]);
	}
	buf_release(&said);
	return done_testing();
}
