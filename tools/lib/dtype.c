/* Element types of tensors. */
#include "dtype.h"
#include <string.h>

const char *const dtype_name[DT_COUNT] = {
	[DT_F64] = "float64",	[DT_F32] = "float32",		 [DT_F16] = "float16",
	[DT_BF16] = "bfloat16", [DT_F8E4M3] = "float8_e4m3fn",	 [DT_F8E5M2] = "float8_e5m2",
	[DT_I64] = "int64",	[DT_I32] = "int32",		 [DT_I16] = "int16",
	[DT_I8] = "int8",	[DT_U8] = "uint8",		 [DT_BOOL] = "bool",
};

const char *const dtype_ctype[DT_COUNT] = {
	[DT_F64] = "double", [DT_F32] = "float",   [DT_F16] = "f16", [DT_BF16] = "bf16", [DT_F8E4M3] = "e4m3",
	[DT_F8E5M2] = "e5m2", [DT_I64] = "i64",	   [DT_I32] = "i32", [DT_I16] = "i16",	 [DT_I8] = "i8",
	[DT_U8] = "u8",	     [DT_BOOL] = "u8",
};

const size_t dtype_size[DT_COUNT] = {
	[DT_F64] = 8, [DT_F32] = 4, [DT_F16] = 2, [DT_BF16] = 2, [DT_F8E4M3] = 1, [DT_F8E5M2] = 1,
	[DT_I64] = 8, [DT_I32] = 4, [DT_I16] = 2, [DT_I8] = 1,	 [DT_U8] = 1,	  [DT_BOOL] = 1,
};

bool dtype_is_integer(enum dtype t)
{
	return t >= DT_I64 && t < DT_COUNT;
}

int dtype_parse(const char *name, enum dtype *out)
{
	for (int t = 0; t < DT_COUNT; t++)
		if (!strcmp(name, dtype_name[t])) {
			*out = (enum dtype)t;
			return 0;
		}
	return -1;
}
