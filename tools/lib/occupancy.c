/* Blocks per multiprocessor, waves, tails. */
#include "occupancy.h"
#include "emit.h"
#include <math.h>
#include <string.h>

enum { WARP = 32, REGISTER_UNIT = 256, REGISTER_FILES = 4, SHARED_UNIT = 128 };

const char *const occupancy_limiter_name[LIMITERS] = { "registers", "shared", "warps", "blocks" };

int occupancy_target(const char *arch, struct occupancy_device *d)
{
	static const struct {
		const char *arch;
		struct occupancy_device device;
	} known[] = {
		{ "sm_90", { 132, 65536, 64, 32, 233472, 1024 } },
		{ "sm_100", { 148, 65536, 64, 32, 233472, 1024 } },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i].arch, arch)) {
			*d = known[i].device;
			return 0;
		}
	return -1;
}

static int round_up(int n, int to)
{
	return (n + to - 1) / to * to;
}

/* The warps of a block need not all be in one file; each file holds whole warps. */
static int by_registers(const struct occupancy_device *d, const struct occupancy_use *u)
{
	int warps = (u->threads + WARP - 1) / WARP, each = round_up(u->registers * WARP, REGISTER_UNIT);

	return each && warps ? d->registers / REGISTER_FILES / each * REGISTER_FILES / warps : d->blocks;
}

static int by_shared(const struct occupancy_device *d, const struct occupancy_use *u)
{
	int each = round_up(u->shared + d->reserved, SHARED_UNIT);

	return each ? d->shared / each : d->blocks;
}

struct occupancy occupancy_of(const struct occupancy_device *d, const struct occupancy_use *u,
			      const struct occupancy_held *held, double grid)
{
	int warps = (u->threads + WARP - 1) / WARP, cluster = u->cluster > 1 ? u->cluster : 1;
	struct occupancy o = { .allowed = { by_registers(d, u), by_shared(d, u), warps ? d->warps / warps : 0,
					    d->blocks }, .share_of = d->warps };
	static const enum occupancy_limiter order[] = { LIMITED_BY_WARPS, LIMITED_BY_BLOCKS, LIMITED_BY_REGISTERS,
							LIMITED_BY_SHARED };
	double at_once, left;

	o.limiter = order[0];
	for (size_t k = 1; k < LIMITERS; k++)
		if (o.allowed[order[k]] < o.allowed[o.limiter])
			o.limiter = order[k];
	o.blocks = held && held->blocks > 0 ? held->blocks : o.allowed[o.limiter];
	o.warps = o.blocks * warps;
	at_once = floor((double)o.blocks * d->multiprocessors / cluster) * cluster;
	if (held && held->clusters > 0)
		at_once = (double)held->clusters * cluster;
	o.waves = at_once > 0 ? grid / at_once : NAN;
	left = at_once > 0 ? fmod(grid, at_once) : NAN;
	o.tail = left > 0 ? left / at_once : at_once > 0 ? 1 : NAN;
	return o;
}

void occupancy_emit(struct buf *out, const struct occupancy *o)
{
	emit_open(out, '{');
	emit_kint(out, "blocks_per_sm", o->blocks);
	emit_kint(out, "warps_per_sm", o->warps);
	emit_kgiven(out, "share", (double)o->warps / o->share_of);
	emit_kstr(out, "limiter", occupancy_limiter_name[o->limiter]);
	emit_key(out, "allowed");
	emit_open(out, '{');
	for (int k = 0; k < LIMITERS; k++)
		emit_kint(out, occupancy_limiter_name[k], o->allowed[k]);
	emit_close(out, '}');
	emit_kgiven(out, "waves", o->waves);
	emit_kgiven(out, "tail", o->tail);
	emit_close(out, '}');
}
