/* NVML, by dlopen. */
#include "nvml.h"
#include "die.h"
#include "emit.h"
#include "nvml_api.h"
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const uint64_t nvml_throttle_mask = NVML_HW_SLOWDOWN | NVML_HW_THERMAL | NVML_SW_THERMAL | NVML_POWER_BRAKE;

#define DECLARE(name, args) nvmlReturn (*name) args;
static struct {
	bool tried, loaded;
	NVML_FUNCTIONS(DECLARE)
	NVML_OPTIONAL(DECLARE)
} lib;

/* Whether an optional function is there and succeeded. */
#define GOT(f, ...) (lib.f && lib.f(__VA_ARGS__) == NVML_SUCCESS)

enum { PROCESSES = 128 };

/* Distinct pids with a compute context on the device. */
struct processes {
	unsigned pid[PROCESSES];
	int n;			/* -1: not known */
};

struct nvml {
	nvmlDevice device;	/* clocks, power */
	nvmlDevice instance;	/* where contexts live: a slice of the device, or the device */
	struct processes before;	/* our context was made */
	unsigned self;		/* our pid as the library tells it */
	bool hidden;		/* our own context cannot be seen */
};

static bool load(void)
{
#define NAME(name, args) { #name, &lib.name },
	static const struct { const char *name; void *slot; } need[] = { NVML_FUNCTIONS(NAME) },
		may[] = { NVML_OPTIONAL(NAME) };
	void *handle, *p;

	if (lib.tried)
		return lib.loaded;
	lib.tried = true;
	handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return false;
	for (size_t i = 0; i < sizeof(need) / sizeof(*need); i++) {
		p = dlsym(handle, need[i].name);
		if (!p)
			return false;
		memcpy(need[i].slot, &p, sizeof(p));
	}
	for (size_t i = 0; i < sizeof(may) / sizeof(*may); i++) {
		p = dlsym(handle, may[i].name);
		memcpy(may[i].slot, &p, sizeof(p));
	}
	return lib.loaded = true;
}

/* ---- processes */

static int find(const struct processes *p, unsigned pid)
{
	for (int i = 0; i < p->n; i++)
		if (p->pid[i] == pid)
			return i;
	return -1;
}

static void list(const struct nvml *n, struct processes *p)
{
	nvmlProcessInfo info[PROCESSES];
	unsigned count = PROCESSES;

	p->n = -1;
	if (!GOT(nvmlDeviceGetComputeRunningProcesses_v3, n->instance, &count, info))
		return;
	p->n = 0;
	for (unsigned i = 0; i < count && i < PROCESSES; i++)
		if (find(p, info[i].pid) < 0)
			p->pid[p->n++] = info[i].pid;
}

void nvml_started(struct nvml *n)
{
	struct processes now;

	if (!n)
		return;
	list(n, &now);
	n->self = (unsigned)getpid();
	if (find(&now, n->self) >= 0)
		return;
	n->hidden = true;
	for (int i = 0; i < now.n && n->hidden; i++)
		if (find(&n->before, now.pid[i]) < 0) {
			n->self = now.pid[i];
			n->hidden = false;
		}
}

int nvml_sharing(struct nvml *n)
{
	struct processes now;

	if (!n)
		return -1;
	list(n, &now);
	if (now.n < 0 || (now.n == 0 && n->hidden))
		return -1;
	return now.n - (find(&now, n->self) >= 0);
}

/* ---- a device */

/* CUDA tells a slice of a partitioned device by a uuid of its own, which NVML knows as "MIG-...". */
static bool find_device(struct nvml *n, const char *uuid)
{
	char *mig;
	bool found;

	if (lib.nvmlDeviceGetHandleByUUID(uuid, &n->device) == NVML_SUCCESS) {
		n->instance = n->device;
		return true;
	}
	mig = xasprintf("MIG%s", strncmp(uuid, "GPU", 3) ? "" : uuid + 3);
	found = lib.nvmlDeviceGetHandleByUUID(mig, &n->instance) == NVML_SUCCESS &&
		GOT(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, n->instance, &n->device);
	free(mig);
	return found;
}

struct nvml *nvml_open(const char *uuid)
{
	struct nvml *n;

	if (!load() || lib.nvmlInit_v2() != NVML_SUCCESS)
		return NULL;
	n = xcalloc(1, sizeof(*n));
	if (!find_device(n, uuid)) {
		nvml_close(n);
		return NULL;
	}
	n->self = (unsigned)getpid();
	list(n, &n->before);
	return n;
}

void nvml_close(struct nvml *n)
{
	if (!n)
		return;
	lib.nvmlShutdown();
	free(n);
}

/* ---- readings */

static int clock_of(const struct nvml *n, int which)
{
	unsigned mhz;

	return GOT(nvmlDeviceGetClockInfo, n->device, which, &mhz) ? (int)mhz : -1;
}

void nvml_clocks(struct nvml *n, struct nvml_reading *r)
{
	unsigned long long reasons;

	*r = (struct nvml_reading){ -1, -1, 0, -1, -1 };
	if (!n)
		return;
	r->sm_mhz = clock_of(n, NVML_CLOCK_SM);
	r->memory_mhz = clock_of(n, NVML_CLOCK_MEM);
	if (GOT(nvmlDeviceGetCurrentClocksEventReasons, n->device, &reasons) ||
	    GOT(nvmlDeviceGetCurrentClocksThrottleReasons, n->device, &reasons))	/* its older name */
		r->reasons = reasons;
}

void nvml_read(struct nvml *n, struct nvml_reading *r)
{
	unsigned x;

	nvml_clocks(n, r);
	if (!n)
		return;
	if (GOT(nvmlDeviceGetTemperature, n->device, NVML_TEMPERATURE_GPU, &x))
		r->temperature = (int)x;
	if (GOT(nvmlDeviceGetPowerUsage, n->device, &x))
		r->power_mw = (int)x;
}

/* ---- facts */

static void emit_switch(struct buf *out, const char *key, bool known, bool on)
{
	if (known)
		emit_kbool(out, key, on);
	else
		emit_knull(out, key);
}

void nvml_facts(struct nvml *n, struct buf *out)
{
	unsigned x = 0, mig = 0, pending_mig;
	int ecc = 0, pending;
	bool known;

	known = n && GOT(nvmlDeviceGetEnforcedPowerLimit, n->device, &x);
	emit_kcount(out, "power_limit_mw", known ? (long long)x : -1);
	known = n && GOT(nvmlDeviceGetEccMode, n->device, &ecc, &pending);
	emit_switch(out, "ecc", known, ecc);
	known = n && GOT(nvmlDeviceGetMigMode, n->device, &mig, &pending_mig);
	emit_switch(out, "mig", known, mig);
	known = n && GOT(nvmlDeviceGetMaxClockInfo, n->device, NVML_CLOCK_SM, &x);
	emit_kcount(out, "max_sm_mhz", known ? (long long)x : -1);
	known = n && GOT(nvmlDeviceGetMaxClockInfo, n->device, NVML_CLOCK_MEM, &x);
	emit_kcount(out, "max_memory_mhz", known ? (long long)x : -1);
}

void nvml_driver(struct nvml *n, char *out, unsigned size)
{
	if (!n || !GOT(nvmlSystemGetDriverVersion, out, size))
		*out = 0;
}

void nvml_reason_names(uint64_t reasons, struct buf *out)
{
	static const struct { uint64_t bit; const char *name; } names[] = {
		{ NVML_IDLE, "idle" }, { NVML_APPLICATIONS_CLOCKS, "applications_clocks" },
		{ NVML_POWER_CAP, "power_cap" }, { NVML_HW_SLOWDOWN, "hw_slowdown" },
		{ NVML_SYNC_BOOST, "sync_boost" }, { NVML_SW_THERMAL, "sw_thermal" },
		{ NVML_HW_THERMAL, "hw_thermal" }, { NVML_POWER_BRAKE, "power_brake" },
		{ NVML_DISPLAY_CLOCKS, "display_clocks" },
	};

	emit_open(out, '[');
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (reasons & names[i].bit)
			emit_str(out, names[i].name);
	emit_close(out, ']');
}
