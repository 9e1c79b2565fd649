/* Element types of tensors. Names are PyTorch's without the "torch." prefix. */
#ifndef DTYPE_H
#define DTYPE_H
#include <stdbool.h>
#include <stddef.h>

enum dtype {
	DT_F64, DT_F32, DT_F16, DT_BF16, DT_F8E4M3, DT_F8E5M2,
	DT_I64, DT_I32, DT_I16, DT_I8, DT_U8, DT_BOOL,
	DT_COUNT
};

/* "float64" "float32" "float16" "bfloat16" "float8_e4m3fn" "float8_e5m2"
 * "int64" "int32" "int16" "int8" "uint8" "bool" */
extern const char *const dtype_name[DT_COUNT];
/* The C type in oracle.h: double float f16 bf16 e4m3 e5m2 i64 i32 i16 i8 u8 u8 */
extern const char *const dtype_ctype[DT_COUNT];
extern const size_t dtype_size[DT_COUNT];
bool dtype_is_integer(enum dtype t);
int dtype_parse(const char *name, enum dtype *out);	/* 0, or -1 */
#endif
