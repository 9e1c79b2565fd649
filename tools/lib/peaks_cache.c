/* Peaks in the store: measured once, and anew when the driver or the kernels are others. */
#include "calibrate.h"
#include "gpu.h"
#include "peaks.h"
#include "store.h"
#include <stdio.h>
#include <time.h>

enum { FORMAT = '1' };	/* of what is kept */

/* Where the device's figures are kept; -1 without the kernels' source. */
static int key_of(const struct gpu_info *info, char key[HASH_HEX], struct err *e)
{
	struct buf source = BUF_INIT;
	struct hash_parts h = { BUF_INIT };
	const char format = FORMAT;
	char cuda[16];
	int rc = calibrate_source(&source, e);

	snprintf(cuda, sizeof(cuda), "%d", info->cuda);
	hash_part(&h, "format", &format, 1);
	hash_partstr(&h, "uuid", info->uuid);
	hash_partstr(&h, "driver", info->driver);
	hash_partstr(&h, "cuda", cuda);
	hash_part(&h, "kernels", source.data, source.len);
	hash_done(&h, key);
	buf_release(&source);
	return rc;
}

bool peaks_load(struct peaks *p, const struct gpu_info *info)
{
	struct buf text = BUF_INIT;
	struct err ignored;
	char key[HASH_HEX];
	bool found;

	peaks_vendor(p, info);
	found = !key_of(info, key, &ignored) && store_get("device", key, &text, &ignored) == 1 &&
		!peaks_parse(p, info, text.data, text.len, &ignored);
	buf_release(&text);
	return found;
}

void peaks_keep(const struct peaks *p, const struct gpu_info *info)
{
	struct buf text = BUF_INIT;
	struct err ignored;
	char key[HASH_HEX];

	peaks_emit_all(&text, p, info);
	buf_addch(&text, '\n');
	if (!key_of(info, key, &ignored))
		store_put_as("device", key, text.data, text.len, &ignored);
	buf_release(&text);
}

int peaks_measure(struct peaks *p, const struct gpu_info *info, struct gpu *g, struct nvml *n, struct err *e)
{
	time_t now = time(NULL);
	struct tm utc;
	int rc;

	peaks_vendor(p, info);
	rc = calibrate(p, g, n, e);
	if (rc) {
		peaks_vendor(p, info);
		snprintf(p->failed, sizeof(p->failed), "%.250s", e->text);
	}
	if (gmtime_r(&now, &utc))
		strftime(p->date, sizeof(p->date), "%Y-%m-%dT%H:%M:%SZ", &utc);
	if (rc < 0 || (!rc && !p->unsteady[0]))
		peaks_keep(p, info);
	return rc;
}
