/* The fake NVML: the state of the device at the moment of its time that can be seen. */
#include "nvml_api.h"
#include "world.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DECLARE(name, args) nvmlReturn name args;
NVML_FUNCTIONS(DECLARE)
NVML_OPTIONAL(DECLARE)

enum { NVML_ERROR_INVALID_ARGUMENT = 2, NVML_ERROR_NOT_SUPPORTED = 3, NVML_ERROR_NOT_FOUND = 6, OWN = 4000000 };

static char devices[FAKE_DEVICES_MAX];

/* A function of the CUDA library, if this process has it. */
static void *of_cuda(const char *name)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *p = lib ? dlsym(lib, name) : NULL;

	if (lib)
		dlclose(lib);
	return p;
}

static struct fake_state state(void)
{
	void *p = of_cuda("fake_seen_ns");
	struct fake_state s;
	double (*seen)(void);

	memcpy(&seen, &p, sizeof(seen));
	fake_state_at(p ? seen() : 0, &s);
	return s;
}

static int has_context(void)
{
	void *p = of_cuda("fake_has_context");
	int (*has)(void);

	memcpy(&has, &p, sizeof(has));
	return p && has();
}

nvmlReturn nvmlInit_v2(void)
{
	return NVML_SUCCESS;
}

nvmlReturn nvmlShutdown(void)
{
	return NVML_SUCCESS;
}

nvmlReturn nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice *d)
{
	unsigned number;

	/* cuDeviceGetUuid_v2 has these bytes */
	if (sscanf(uuid, "GPU-61206661-6b65-2c20-6e6f-74206f6e65%2x", &number) != 1 || number >= (unsigned)fake_devices())
		return NVML_ERROR_NOT_FOUND;
	*d = (nvmlDevice)(void *)&devices[number];
	return NVML_SUCCESS;
}

nvmlReturn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice instance, nvmlDevice *whole)
{
	(void)instance;
	(void)whole;
	return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn nvmlSystemGetDriverVersion(char *text, unsigned n)
{
	snprintf(text, n, "999.1");
	return NVML_SUCCESS;
}

nvmlReturn nvmlDeviceGetClockInfo(nvmlDevice d, int clock, unsigned *mhz)
{
	(void)d;
	*mhz = (unsigned)(clock == NVML_CLOCK_SM ? state().sm_mhz : state().memory_mhz);
	return NVML_SUCCESS;
}

nvmlReturn nvmlDeviceGetMaxClockInfo(nvmlDevice d, int clock, unsigned *mhz)
{
	(void)d;
	*mhz = clock == NVML_CLOCK_SM ? FAKE_SM_MHZ : FAKE_MEMORY_MHZ;
	return NVML_SUCCESS;
}

/* An older library: it knows the function by its older name only. */
nvmlReturn nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice d, unsigned long long *reasons)
{
	(void)d;
	(void)reasons;
	return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice d, unsigned long long *reasons)
{
	(void)d;
	*reasons = (unsigned long long)state().reasons;
	return NVML_SUCCESS;
}

nvmlReturn nvmlDeviceGetTemperature(nvmlDevice d, int sensor, unsigned *celsius)
{
	(void)d;
	(void)sensor;
	*celsius = (unsigned)state().temperature;
	return NVML_SUCCESS;
}

nvmlReturn nvmlDeviceGetPowerUsage(nvmlDevice d, unsigned *milliwatts)
{
	(void)d;
	*milliwatts = (unsigned)state().power_mw;
	return NVML_SUCCESS;
}

nvmlReturn nvmlDeviceGetEnforcedPowerLimit(nvmlDevice d, unsigned *milliwatts)
{
	(void)d;
	*milliwatts = 700000;
	return NVML_SUCCESS;
}

nvmlReturn nvmlDeviceGetEccMode(nvmlDevice d, int *current, int *pending)
{
	(void)d;
	*current = *pending = 1;
	return NVML_SUCCESS;
}

/* A device that cannot be partitioned has no mode. */
nvmlReturn nvmlDeviceGetMigMode(nvmlDevice d, unsigned *current, unsigned *pending)
{
	(void)d;
	(void)current;
	(void)pending;
	return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice d, unsigned *n, nvmlProcessInfo *list)
{
	const char *pids = fake_text("FAKE_PIDS");
	unsigned room = *n, others = (unsigned)state().others;

	(void)d;
	*n = 0;
	if (!strcmp(pids, "hidden"))
		return NVML_SUCCESS;
	if (has_context() && room)
		list[(*n)++] = (nvmlProcessInfo){ .pid = strcmp(pids, "foreign") ? (unsigned)getpid() : OWN };
	for (unsigned i = 0; i < others && *n < room; i++)
		list[(*n)++] = (nvmlProcessInfo){ .pid = OWN + 1 + i };
	return NVML_SUCCESS;
}
