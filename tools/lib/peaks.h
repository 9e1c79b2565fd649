/* Vendor figures of known devices: floors that no kernel can beat. */
#ifndef PEAKS_H
#define PEAKS_H

/* Least nanoseconds for moving `bytes` and doing `flops` in the given unit ("bf16", "fp16", "fp8", "tf32", "fp32") on
 * the device of this name; NaN when the device or the unit is unknown or both amounts are. */
double peaks_floor_ns(const char *device, double bytes, double flops, const char *unit);
#endif
