/* What a GPU says of its own state: clocks, why they are low, temperature, power, who else uses it. The one door to
 * libnvidia-ml.so.1, loaded when first needed. Everything here reads; no function that sets anything is ever loaded.
 *
 * Nothing here can fail for the caller: what the library, the driver or the device does not tell is unknown, and a
 * struct nvml * may be NULL everywhere (no library, no such device): then all is unknown. */
#ifndef NVML_H
#define NVML_H
#include "buf.h"
#include <stdint.h>

/* Why the clocks are not at their highest: bits of nvml_reading.reasons, the library's own values. */
enum {
	NVML_IDLE = 0x1,			/* nothing runs */
	NVML_APPLICATIONS_CLOCKS = 0x2,		/* someone has set lower ones */
	NVML_POWER_CAP = 0x4,			/* the software power limit */
	NVML_HW_SLOWDOWN = 0x8,			/* the hardware halves them, or more: heat, or the power brake */
	NVML_SYNC_BOOST = 0x10,			/* tied to other devices */
	NVML_SW_THERMAL = 0x20,			/* the driver keeps the temperature down */
	NVML_HW_THERMAL = 0x40,			/* the hardware does */
	NVML_POWER_BRAKE = 0x80,		/* the power supply asks for it */
	NVML_DISPLAY_CLOCKS = 0x100,
};

/* The reasons that make a measured block unusable. The software power cap is not one of them: it is the steady state of
 * every large tensor-core kernel on a part that has more arithmetic than power, so it is recorded and kept. */
extern const uint64_t nvml_throttle_mask;

struct nvml;

struct nvml_reading {
	int sm_mhz, memory_mhz;		/* -1: not known */
	uint64_t reasons;		/* 0: none, or not known */
	int temperature, power_mw;	/* degrees Celsius, milliwatts; -1: not known */
};

/* The device of that uuid, "GPU-..." as struct gpu_info has it. NULL when nothing is known of it. To be called before
 * this process makes a context on the device (gpu_start), so that nvml_sharing can tell its own from others'. */
struct nvml *nvml_open(const char *uuid);
void nvml_close(struct nvml *n);
/* To be called once this process has its context: finds which entry among the device's processes is our own. */
void nvml_started(struct nvml *n);

/* Every field. */
void nvml_read(struct nvml *n, struct nvml_reading *r);
/* sm_mhz, memory_mhz and reasons alone, the others not known: cheap, for while kernels run. */
void nvml_clocks(struct nvml *n, struct nvml_reading *r);

/* How many processes besides this one have a compute context on the device; -1: not known.
 *
 * In a container the library tells pids of another namespace, or none. So our own entry is the one with our pid, else
 * one that was not there at nvml_open and is at nvml_started. Where our own context cannot be seen and nobody else's
 * can, others' cannot be expected to be seen either: not known. */
int nvml_sharing(struct nvml *n);

/* Members of an open JSON object: power_limit_mw, ecc, mig (both true or false), max_sm_mhz, max_memory_mhz; null where
 * not known. */
void nvml_facts(struct nvml *n, struct buf *out);
/* The driver's version, "580.95.05"; empty where not known. */
void nvml_driver(struct nvml *n, char *out, unsigned size);
/* A JSON array of names: "idle", "applications_clocks", "power_cap", "hw_slowdown", "sync_boost", "sw_thermal",
 * "hw_thermal", "power_brake", "display_clocks". Bits without a name are left out. */
void nvml_reason_names(uint64_t reasons, struct buf *out);
#endif
