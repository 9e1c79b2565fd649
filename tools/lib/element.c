/* Element conversions for the host. */
#include "element.h"
#include "../oracle/oracle.h"
#include <string.h>

#define GET(type, get) { type v; memcpy(&v, p, sizeof(v)); return get(v); }
#define PUT(type, value) { type v = value; memcpy(p, &v, sizeof(v)); return; }

double element_get(enum dtype t, const void *p)
{
	switch (t) {
	case DT_F64: GET(double, )
	case DT_F32: GET(float, (double))
	case DT_F16: GET(f16, f16_get)
	case DT_BF16: GET(bf16, bf16_get)
	case DT_F8E4M3: GET(e4m3, e4m3_get)
	case DT_F8E5M2: GET(e5m2, e5m2_get)
	case DT_I64: GET(i64, (double))
	case DT_I32: GET(i32, (double))
	case DT_I16: GET(i16, (double))
	case DT_I8: GET(i8, (double))
	case DT_U8:
	case DT_BOOL: GET(u8, (double))
	case DT_COUNT: break;
	}
	return 0;
}

void element_put(enum dtype t, void *p, double x)
{
	i64 whole = dtype_is_integer(t) ? (i64)(x < 0 ? x - 0.5 : x + 0.5) : 0;

	switch (t) {
	case DT_F64: PUT(double, x)
	case DT_F32: PUT(float, (float)x)
	case DT_F16: PUT(f16, f16_put(x))
	case DT_BF16: PUT(bf16, bf16_put(x))
	case DT_F8E4M3: PUT(e4m3, e4m3_put(x))
	case DT_F8E5M2: PUT(e5m2, e5m2_put(x))
	case DT_I64: PUT(i64, whole)
	case DT_I32: PUT(i32, (i32)whole)
	case DT_I16: PUT(i16, (i16)whole)
	case DT_I8: PUT(i8, (i8)whole)
	case DT_U8:
	case DT_BOOL: PUT(u8, (u8)whole)
	case DT_COUNT: break;
	}
}
