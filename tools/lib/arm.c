/* The arms and their names. */
#include "arm.h"
#include <string.h>

const char *const arm_name[ARMS] = {
	[ARM_WITHOUT] = "without",
	[ARM_L1] = "L1",
	[ARM_L1_L2] = "L1+L2",
	[ARM_WITH] = "with",
	[ARM_DESIGN] = "design",
};

const unsigned arm_levels[ARMS] = { [ARM_L1] = 1, [ARM_L1_L2] = 3, [ARM_WITH] = 7 };

int arm_find(const char *name)
{
	for (int i = 0; name && i < ARMS; i++)
		if (!strcmp(arm_name[i], name))
			return i;
	return -1;
}
