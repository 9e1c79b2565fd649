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
	int rc;

	if (claim_gpu(&c, device, say_wait, NULL, e))
		return 1;
	if (gpu_start(c.gpu, e))
		return 1;
	nvml_started(c.nvml);
	rc = peaks_measure(&p, &c.info, c.gpu, c.nvml, e);
	nvml_close(c.nvml);
	if (rc)
		return -1;
	err_set(e, "%s", p.unsteady);
	peaks_emit_all(out, &p, &c.info);
	buf_addch(out, '\n');
	return 0;
}
