/* occupancy: blocks per multiprocessor against what NVIDIA's own calculator gives for sm_90, waves and tails. */
#include "occupancy.h"
#include "tap.h"
#include <math.h>
#include <string.h>

static struct occupancy_device h200;

static struct occupancy of(int registers, int shared, int threads, double grid)
{
	const struct occupancy_use u = { registers, shared, threads, 0 };

	return occupancy_of(&h200, &u, NULL, grid);
}

static void check(int registers, int shared, int threads, int blocks, enum occupancy_limiter limiter)
{
	struct occupancy o = of(registers, shared, threads, 1);

	is_int(o.blocks, blocks, "%d registers, %d bytes, %d threads: %d blocks", registers, shared, threads, blocks);
	is_str(occupancy_limiter_name[o.limiter], occupancy_limiter_name[limiter], "and why no more");
}

static void test_blocks(void)
{
	check(32, 0, 1024, 2, LIMITED_BY_WARPS);	/* and by registers, but fewer would not help */
	check(16, 0, 1024, 2, LIMITED_BY_WARPS);
	check(33, 0, 1024, 1, LIMITED_BY_REGISTERS);	/* 33 * 32 is rounded up to 1280 */
	check(128, 0, 256, 2, LIMITED_BY_REGISTERS);
	check(255, 0, 256, 1, LIMITED_BY_REGISTERS);
	check(168, 0, 128, 3, LIMITED_BY_REGISTERS);
	check(154, 98328, 128, 2, LIMITED_BY_SHARED);
	check(40, 0, 32, 32, LIMITED_BY_BLOCKS);
	check(255, 0, 32, 8, LIMITED_BY_REGISTERS);
	check(24, 232448, 128, 1, LIMITED_BY_SHARED);	/* 227 KiB, the most that a block may have */
	check(24, 115712, 128, 2, LIMITED_BY_SHARED);	/* 113 KiB: twice that, with what is kept, fills it */
	check(24, 115713, 128, 1, LIMITED_BY_SHARED);
	check(24, 233472, 128, 0, LIMITED_BY_SHARED);	/* cannot be launched */
	check(0, 0, 0, 0, LIMITED_BY_WARPS);
}

static void test_waves(void)
{
	const struct occupancy_use pairs = { 40, 0, 128, 2 };
	const struct occupancy_held held = { 1, 60 };
	struct occupancy o = of(154, 98328, 128, 264);

	is_num(o.waves, 1, "264 blocks, two on each of 132: one wave");
	is_num(o.tail, 1, "and it is full");
	is_int(o.warps, 8, "8 warps");
	o = of(154, 98328, 128, 265);
	is_num(o.waves, 265.0 / 264, "one block more");
	is_num(o.tail, 1.0 / 264, "has the last wave for itself");
	o = of(154, 98328, 128, 66);
	is_num(o.tail, 0.25, "a quarter of a wave");
	o = of(24, 233472, 128, 66);
	ok(isnan(o.waves) && isnan(o.tail), "what does not fit has no waves");
	o = occupancy_of(&h200, &pairs, &held, 240);
	is_int(o.blocks, 1, "the driver's word counts");
	is_num(o.waves, 2, "60 clusters of two at a time");
}

static void test_emit(void)
{
	struct occupancy o = of(154, 98328, 128, 66);
	struct buf b = BUF_INIT;

	occupancy_emit(&b, &o);
	is_str(b.data, "{\"blocks_per_sm\":2,\"warps_per_sm\":8,\"share\":0.125,\"limiter\":\"shared\",\"allowed\":"
	       "{\"registers\":3,\"shared\":2,\"warps\":16,\"blocks\":32},\"waves\":0.25,\"tail\":0.25}", "in JSON");
	buf_release(&b);
}

int main(void)
{
	is_int(occupancy_target("sm_90", &h200), 0, "sm_90 is known");
	is_int(h200.multiprocessors, 132, "with its multiprocessors");
	is_int(occupancy_target("sm_75", &(struct occupancy_device){ 0 }), -1, "sm_75 is not");
	test_blocks();
	test_waves();
	test_emit();
	return done_testing();
}
