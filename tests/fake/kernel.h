/* What a kernel of the fake GPU is: a C function that is called once per launch. An image that is loaded as a module is
 * a shared object; one that defines fake_kernels has functions of this kind, each with the sizes of its parameters in
 * NAME_params, ended by 0. (An image without it is an oracle compiled for the host.) */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

struct fake_launch {
	void **params;
	unsigned grid[3], block, shared;
	double ns;	/* set: how long it takes at the highest clock */
	int fault;	/* set: a CUDA error code, which the stream fails with */
	int hangs;	/* set: it never ends */
};

typedef void fake_kernel(struct fake_launch *launch);
#endif
