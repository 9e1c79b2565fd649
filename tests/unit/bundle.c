/* Bundles are hostile text: one good one, and many that must be refused. */
#include "../tap/tap.h"
#include "bundle.h"
#include <stdlib.h>
#include <string.h>

/* 64 bytes that begin like an ELF file, in base64. */
#define CUBIN "f0VMRgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
#define HASH "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SOURCE_SHA "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static const char good[] =
	"{\"version\":1,\"task\":\"t\",\"target\":\"sm_90\",\"triton\":\"3.9.0\",\"source\":\"abc\",\"source_sha256\":\"" SOURCE_SHA "\","
	"\"task_hash\":\"" HASH "\",\"workloads_hash\":\"" HASH "\",\"kernels\":[{\"name\":\"k\",\"cubin\":\"" CUBIN "\",\"shared\":1024,"
	"\"num_warps\":4,\"num_ctas\":2,\"cluster\":[2,1,1],\"cooperative\":false,\"pdl\":true,\"global_scratch_size\":128,"
	"\"global_scratch_align\":128,\"profile_scratch_size\":0,\"params\":[\"ptr\",\"i32\"]}],"
	"\"plans\":[{\"workload\":\"w\",\"buffers\":[{\"name\":\"x\",\"bytes\":1024,\"role\":\"in\"},{\"name\":\"y\",\"bytes\":512,\"role\":\"out\"},"
	"{\"name\":\"scratch0\",\"bytes\":64,\"role\":\"scratch\"}],\"steps\":["
	"{\"op\":\"fill\",\"buffer\":\"scratch0\",\"offset\":0,\"bytes\":64,\"value\":7},"
	"{\"op\":\"launch\",\"variants\":[{\"kernel\":0,\"grid\":[3,2,1],\"config\":null,\"args\":[{\"ptr\":\"x\",\"offset\":512},{\"i32\":-5},"
	"{\"i64\":\"-9223372036854775808\"},{\"u64\":\"18446744073709551615\"},{\"f32\":0.5},{\"f64\":\"-inf\"},{\"i1\":true},"
	"{\"tensormap\":{\"ptr\":\"x\",\"offset\":0,\"dtype\":9,\"dims\":[32,8],\"strides_bytes\":[64],\"box\":[16,8],"
	"\"element_strides\":[1,1],\"swizzle\":1,\"interleave\":0,\"l2promo\":2,\"oob\":0}}]}]}]}]}";

/* The good bundle with one piece of its text replaced. */
static char *with(const char *from, const char *to)
{
	const char *p = strstr(good, from);
	char *text;

	if (!p)
		abort();
	text = malloc(sizeof(good) + strlen(to));
	memcpy(text, good, (size_t)(p - good));
	strcpy(text + (p - good), to);
	strcat(text, p + strlen(from));
	return text;
}

static void refuse(const char *from, const char *to, const char *why)
{
	char *text = with(from, to);
	struct bundle b;
	struct err e = { "" };
	int rc = bundle_parse(&b, text, strlen(text), &e);

	ok(rc < 0 && strstr(e.text, why), "%s for %s: %s", to, from, rc ? e.text : "accepted");
	bundle_release(&b);
	free(text);
}

static void accept(void)
{
	struct bundle b;
	struct err e = { "" };
	const struct variant *v;
	const struct plan *p;
	int64_t wide;
	float f;

	if (!is_int(bundle_parse(&b, good, strlen(good), &e), 0, "a good bundle %s", e.text))
		return;
	p = bundle_plan(&b, "w");
	ok(p && !bundle_plan(&b, "v"), "its plan is found by workload");
	is_int(b.kernels[0].cubin_bytes, 64, "the cubin is decoded");
	ok(!memcmp(b.kernels[0].cubin, "\177ELF", 4), "into its bytes");
	is_int(p->nsteps, 2, "two steps");
	ok(!p->steps[0].variants && p->steps[0].value == 7 && p->steps[0].bytes == 64, "a fill");
	v = p->steps[1].variants;
	ok(v && v->grid[0] == 3 && v->nargs == 8 && !v->config, "a launch");
	ok(v->args[0].kind == ARG_POINTER && v->args[0].buffer == 0 && v->args[0].offset == 512, "a pointer");
	ok(v->args[1].size == 4 && !memcmp(v->args[1].value, (int32_t[]){ -5 }, 4), "an i32");
	memcpy(&wide, v->args[2].value, 8);
	ok(wide == INT64_MIN, "an i64 as text");
	memcpy(&wide, v->args[3].value, 8);
	ok(wide == -1 && v->args[3].size == 8, "a u64 as text");
	memcpy(&f, v->args[4].value, 4);
	ok(f == 0.5f && v->args[4].size == 4 && v->args[6].size == 1 && v->args[6].value[0] == 1, "an f32, an i1");
	ok(v->args[7].kind == ARG_TENSORMAP && v->args[7].map.rank == 2 && v->args[7].map.strides[0] == 64,
	   "a tensor map");
	bundle_release(&b);
}

static void fits(void)
{
	struct tensor tensors[] = { { .name = "x", .role = ROLE_IN }, { .name = "y", .role = ROLE_OUT },
				    { .name = "z", .role = ROLE_OUT } };
	struct task t = { .tensors = tensors, .ntensors = 2 };
	struct bundle b;
	struct err e = { "" };
	struct plan *p;

	if (bundle_parse(&b, good, strlen(good), &e))
		return;
	p = bundle_plan(&b, "w");
	is_int(bundle_fits(p, &t, (const size_t[]){ 1024, 512 }, &e), 0, "the plan fits its task");
	ok(p->buffers[0].tensor == 0 && p->buffers[1].tensor == 1 && p->buffers[2].tensor == -1, "tensors are known");
	is_int(bundle_fits(p, &t, (const size_t[]){ 1024, 511 }, &e), -1, "not one of another size: %s", e.text);
	t.ntensors = 3;
	is_int(bundle_fits(p, &t, (const size_t[]){ 1024, 512, 4 }, &e), -1, "not one with a tensor more: %s", e.text);
	t.ntensors = 1;
	is_int(bundle_fits(p, &t, (const size_t[]){ 1024 }, &e), -1, "nor with one less: %s", e.text);
	bundle_release(&b);
}

int main(void)
{
	accept();
	fits();
	refuse("\"version\":1", "\"version\":2", "version 1");
	refuse("\"shared\":1024", "\"hash\":\"" HASH "\",\"shared\":1024", "hash it claims");
	refuse("\"source\":\"abc\"", "\"source\":\"abd\"", "hash it claims");
	refuse("\"task_hash\":\"a", "\"task_hash\":\"A", "a hash");
	refuse("\"kernels\":[", "\"kernels\":{},\"x\":[", "kernels or plans");
	refuse(CUBIN, "f0VM*", "cubin");
	refuse(CUBIN, "f0VMRgAA", "cubin");
	refuse("f0VMRg", "f0VMRw", "cubin");
	refuse("\"shared\":1024", "\"shared\":-1", "out of range");
	refuse("\"shared\":1024", "\"shared\":1e9", "out of range");
	refuse("\"shared\":1024", "\"shared\":0.5", "out of range");
	refuse("\"num_warps\":4", "\"num_warps\":0", "out of range");
	refuse("\"num_warps\":4", "\"num_warps\":33", "out of range");
	refuse("\"num_ctas\":2", "\"num_ctas\":17", "disagree");
	refuse("\"num_ctas\":2", "\"num_ctas\":4", "disagree");
	refuse("\"global_scratch_size\":128", "\"global_scratch_size\":-1", "out of range");
	refuse("\"global_scratch_size\":128", "\"global_scratch_size\":1e12", "out of range");
	refuse("\"kernel\":0", "\"kernel\":1", "without kernel");
	refuse("\"kernel\":0", "\"kernel\":-1", "without kernel");
	refuse("\"kernel\":0", "\"kernel\":\"0\"", "without kernel");
	refuse("\"grid\":[3,2,1]", "\"grid\":[0,2,1]", "grid out of range");
	refuse("\"grid\":[3,2,1]", "\"grid\":[3,65536,1]", "grid out of range");
	refuse("\"grid\":[3,2,1]", "\"grid\":[2147483647,2,1]", "grid out of range");
	refuse("\"grid\":[3,2,1]", "\"grid\":[-3,2,1]", "without kernel or grid");
	refuse("\"grid\":[3,2,1]", "\"grid\":[3,2]", "without kernel or grid");
	refuse("\"ptr\":\"x\",\"offset\":512", "\"ptr\":\"q\",\"offset\":512", "no buffer");
	refuse("\"ptr\":\"x\",\"offset\":512", "\"ptr\":\"x\",\"offset\":1025", "outside");
	refuse("\"ptr\":\"x\",\"offset\":512", "\"ptr\":\"x\",\"offset\":-1", "outside");
	refuse("\"ptr\":\"x\",\"offset\":512", "\"ptr\":7,\"offset\":0", "no buffer");
	refuse("{\"i32\":-5}", "{}", "no object");
	refuse("{\"i32\":-5}", "5", "no object");
	refuse("{\"i32\":-5}", "{\"i32\":0.5}", "wrong value");
	refuse("{\"i32\":-5}", "{\"i33\":5}", "unknown type");
	refuse("{\"f32\":0.5}", "{\"f32\":\"half\"}", "wrong value");
	refuse("\"dims\":[32,8]", "\"dims\":[32,17]", "outside");
	refuse("\"dims\":[32,8]", "\"dims\":[289,8]", "outside");	/* of bf16 */
	refuse("\"dtype\":9,\"dims\":[32,8]", "\"dtype\":7,\"dims\":[145,8]", "outside");
	refuse("\"dtype\":9", "\"dtype\":13", "type");
	refuse("\"dims\":[32,8]", "\"dims\":[4294967296,8]", "outside");
	refuse("\"dims\":[32,8]", "\"dims\":[0,8]", "empty");
	refuse("\"dims\":[32,8]", "\"dims\":[]", "dims");
	refuse("\"dims\":[32,8]", "\"dims\":[1,1,1,1,1,1]", "dims");
	refuse("\"strides_bytes\":[64]", "\"strides_bytes\":[1099511627776]", "outside");
	refuse("\"strides_bytes\":[64]", "\"strides_bytes\":[64,64]", "strides");
	refuse("\"box\":[16,8]", "\"box\":[257,8]", "box");
	refuse("\"dtype\":9", "\"dtype\":\"complex\"", "type");
	refuse("\"swizzle\":1", "\"swizzle\":99", "mode");
	refuse("\"offset\":0,\"bytes\":64", "\"offset\":1,\"bytes\":64", "fill outside");
	refuse("\"offset\":0,\"bytes\":64", "\"offset\":-1,\"bytes\":64", "fill outside");
	refuse("\"value\":7", "\"value\":256", "fill outside");
	refuse("\"buffer\":\"scratch0\"", "\"buffer\":\"y\"", "a fill of 'y', which is no scratch");
	refuse("\"bytes\":64,\"role\"", "\"bytes\":17179869185,\"role\"", "more scratch");
	refuse("\"shared\":1024", "\"shared\":232449", "shared memory is out of range");
	refuse("\"buffer\":\"scratch0\"", "\"buffer\":\"scratch1\"", "no buffer");
	refuse("\"bytes\":1024", "\"bytes\":-1", "without name, role or size");
	refuse("\"bytes\":1024", "\"bytes\":1e300", "without name, role or size");
	refuse("\"name\":\"y\"", "\"name\":\"x\"", "two of one name");
	refuse("\"op\":\"launch\"", "\"op\":\"dance\"", "neither fill nor launch");
	refuse("\"op\":\"launch\",\"variants\":[{", "\"op\":\"launch\",\"variants\":[],\"x\":[{",
	       "neither fill nor launch");
	refuse("{\"op\":\"launch\"",
	       "{\"op\":\"fill\",\"buffer\":\"scratch0\",\"offset\":0,\"bytes\":0,\"value\":0}],\"x\":[{\"op\":\"launch\"",
	       "launches nothing");
	refuse("\"workload\":\"w\"", "\"workload\":null", "without workload");
	refuse("{\"version\"", "[{\"version\"", "");
	return done_testing();
}
