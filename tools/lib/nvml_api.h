/* The part of NVML's binary interface that nvml.c uses, declared here so that nothing of it is needed to build. Names
 * and values are the library's own; only nvml.c includes this. Functions that set anything have no place here. */
#ifndef NVML_API_H
#define NVML_API_H

typedef int nvmlReturn;
typedef struct nvmlDevice_st *nvmlDevice;

enum { NVML_SUCCESS = 0, NVML_ERROR_INSUFFICIENT_SIZE = 7 };
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
enum { NVML_TEMPERATURE_GPU = 0 };

typedef struct {
	unsigned pid;
	unsigned long long used_memory;
	unsigned gpu_instance, compute_instance;
} nvmlProcessInfo;

_Static_assert(sizeof(nvmlProcessInfo) == 24, "layout of nvmlProcessInfo_t, version 2");

/* result name(arguments): the table nvml.c fills by dlsym */
#define NVML_FUNCTIONS(F) \
	F(nvmlInit_v2, (void)) \
	F(nvmlShutdown, (void)) \
	F(nvmlDeviceGetHandleByUUID, (const char *uuid, nvmlDevice *d))

/* What a library may lack; checked before use. */
#define NVML_OPTIONAL(F) \
	F(nvmlSystemGetDriverVersion, (char *text, unsigned n)) \
	F(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, (nvmlDevice instance, nvmlDevice *whole)) \
	F(nvmlDeviceGetClockInfo, (nvmlDevice d, int clock, unsigned *mhz)) \
	F(nvmlDeviceGetMaxClockInfo, (nvmlDevice d, int clock, unsigned *mhz)) \
	F(nvmlDeviceGetCurrentClocksEventReasons, (nvmlDevice d, unsigned long long *reasons)) \
	F(nvmlDeviceGetCurrentClocksThrottleReasons, (nvmlDevice d, unsigned long long *reasons)) \
	F(nvmlDeviceGetTemperature, (nvmlDevice d, int sensor, unsigned *celsius)) \
	F(nvmlDeviceGetPowerUsage, (nvmlDevice d, unsigned *milliwatts)) \
	F(nvmlDeviceGetEnforcedPowerLimit, (nvmlDevice d, unsigned *milliwatts)) \
	F(nvmlDeviceGetEccMode, (nvmlDevice d, int *current, int *pending)) \
	F(nvmlDeviceGetMigMode, (nvmlDevice d, unsigned *current, unsigned *pending)) \
	F(nvmlDeviceGetComputeRunningProcesses_v3, (nvmlDevice d, unsigned *n, nvmlProcessInfo *list))
#endif
