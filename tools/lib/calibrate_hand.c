/* d2k-time --calibrate: a device's peaks, without records. */
#include "calibrate.h"
#include "claim.h"
#include "nvml.h"

static void say_wait(const char *what, void *ctx)
{
	(void)ctx;
	warn("waiting for %s", what);
}

int calibrate_device(int device, struct buf *out, struct err *e)
{
	struct claim c;
	struct peaks p;
	struct nvml *n;
	int rc;

	if (claim_gpu(&c, device, say_wait, NULL, e))
		return 1;
	n = nvml_open(c.info.uuid);
	if (!c.info.driver[0])
		nvml_driver(n, c.info.driver, sizeof(c.info.driver));
	if (gpu_start(c.gpu, e))
		return 1;
	nvml_started(n);
	rc = peaks_measure(&p, &c.info, c.gpu, n, e);
	nvml_close(n);
	if (rc)
		return -1;
	err_set(e, "%s", p.unsteady);
	peaks_emit_all(out, &p, &c.info);
	buf_addch(out, '\n');
	return 0;
}
