/* Trying each device in turn, then waiting for all of them. */
#include "claim.h"
#include "buf.h"
#include "clock.h"
#include "gpulock.h"
#include <stdlib.h>

/* A device that could be taken. */
struct choice {
	struct claim claim;
	struct gpulock lock;
};

static void drop(struct choice *x)
{
	gpulock_close(&x->lock);
	gpu_close(x->claim.gpu);
}

/* Opens the devices in question; how many there are, or -1. Of many, those that do not open are passed over. */
static int open_choices(struct choice *x, int first, int n, struct err *e)
{
	int found = 0;

	for (int i = first; i < first + n; i++) {
		struct choice *k = &x[found];

		*k = (struct choice){ .claim.ordinal = i, .lock.fd = -1 };
		k->claim.gpu = gpu_open(i, &k->claim.info, e);
		if (!k->claim.gpu)
			continue;
		if (gpulock_open(&k->lock, k->claim.info.uuid, e))
			drop(k);
		else
			found++;
	}
	return found ? found : -1;
}

/* "GPU 0, held by process 12, or GPU 1, held by process 34" */
static void say_held(const struct choice *x, int n, struct buf *out)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = gpulock_holder(&x[i].lock);

		buf_addf(out, "%sGPU %d, held by ", i ? ", or " : "", x[i].claim.ordinal);
		if (pid)
			buf_addf(out, "process %ld", (long)pid);
		else
			buf_addstr(out, "another process");
	}
}

/* The number of the first whose lock is free, -1 error, n: none. */
static int try_all(struct choice *x, int n, struct err *e)
{
	for (int i = 0; i < n; i++) {
		int rc = gpulock_try(&x[i].lock, e);

		if (rc <= 0)
			return rc ? -1 : i;
	}
	return n;
}

static int wait_for_any(struct choice *x, int n, void (*waits)(const char *, void *), void *ctx, struct err *e)
{
	struct gpulock *lock = xcalloc((size_t)n, sizeof(*lock));
	struct buf held = BUF_INIT;
	double start = clock_now();
	int got;

	say_held(x, n, &held);
	waits(held.data, ctx);
	buf_release(&held);
	for (int i = 0; i < n; i++)
		lock[i] = x[i].lock;
	got = gpulock_wait(lock, n, e);
	if (got >= 0)
		x[got].claim.waited = clock_now() - start;
	free(lock);
	return got;
}

/* Which devices are in question: how many, from `first` on; -1 when there is none. */
static int devices(int ordinal, int *first, struct err *e)
{
	int n = gpu_count(e);

	*first = ordinal == CLAIM_ANY ? 0 : ordinal;
	if (n == 0)
		return err_set(e, "the CUDA driver has no device");
	if (n > 0 && *first >= n)
		return err_set(e, "there is no GPU %d: the CUDA driver has %d, counted from 0", ordinal, n);
	return n < 0 || ordinal == CLAIM_ANY ? n : 1;
}

int claim_gpu(struct claim *c, int ordinal, void (*waits)(const char *what, void *ctx), void *ctx, struct err *e)
{
	int first, all = devices(ordinal, &first, e), n, got;
	struct choice *x;

	if (all < 0)
		return -1;
	x = xcalloc((size_t)all, sizeof(*x));
	n = open_choices(x, first, all, e);
	got = n < 0 ? -1 : try_all(x, n, e);
	if (n > 0 && got == n)
		got = wait_for_any(x, n, waits, ctx, e);
	for (int i = 0; i < n; i++)
		if (i != got)
			drop(&x[i]);
	if (got >= 0) {
		free(x[got].lock.path);	/* its descriptor stays open: that is the lock */
		*c = x[got].claim;
		c->nvml = nvml_open(c->info.uuid);
		if (!c->info.driver[0])
			nvml_driver(c->nvml, c->info.driver, sizeof(c->info.driver));
	}
	free(x);
	return got < 0 ? -1 : 0;
}
