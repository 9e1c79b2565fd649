/* Dense peaks at the highest clock, as the vendor states them. Adding a device is adding a line. */
#include "peaks.h"
#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct {
	const char *name;			/* part of the device's name */
	double bytes;				/* per second */
	double bf16, fp16, fp8, tf32, fp32;	/* operations per second */
} devices[] = {
	{ "H200", 4.8e12, 989e12, 989e12, 1979e12, 494e12, 67e12 },
	{ "H100 80GB HBM3", 3.35e12, 989e12, 989e12, 1979e12, 494e12, 67e12 },
	{ "B200", 8.0e12, 2250e12, 2250e12, 4500e12, 1125e12, 75e12 },
};

static double rate(size_t d, const char *unit)
{
	const struct { const char *name; double value; } units[] = {
		{ "bf16", devices[d].bf16 }, { "fp16", devices[d].fp16 }, { "fp8", devices[d].fp8 },
		{ "tf32", devices[d].tf32 }, { "fp32", devices[d].fp32 },
	};

	for (size_t i = 0; unit && i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(units[i].name, unit))
			return units[i].value;
	return NAN;
}

double peaks_floor_ns(const char *device, double bytes, double flops, const char *unit)
{
	for (size_t d = 0; d < sizeof(devices) / sizeof(*devices); d++)
		if (strstr(device, devices[d].name))
			return fmax(bytes / devices[d].bytes, flops / rate(d, unit)) * 1e9;	/* fmax ignores a NaN */
	return NAN;
}
