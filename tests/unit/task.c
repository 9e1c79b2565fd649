/* task: a small task is read as it stands, and every way to get one wrong is an error that says where. Runs in a
 * scratch folder, which it makes the project's root. */
#include "file.h"
#include "task.h"
#include "tap.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char task_json[] =
	"{\"version\":1,\"name\":\"t\",\"title\":\"a test\",\"dims\":[\"M\",\"N\"],\"params\":[\"eps\"],\n"
	"\"tensors\":[{\"name\":\"x\",\"role\":\"in\",\"dtype\":\"bfloat16\",\"shape\":[\"M\",\"2*N\"]},\n"
	"{\"name\":\"s\",\"role\":\"inout\",\"dtype\":\"int32\",\"shape\":[\"N\"],\"check\":[{\"metric\":\"exact\"}]},"
	"\n"
	"{\"name\":\"y\",\"role\":\"out\",\"dtype\":\"float8_e4m3fn\",\"shape\":[\"cdiv(M,4)\"],\n"
	"\"check\":[{\"metric\":\"ulp\",\"share\":0.999,\"max\":2},{\"metric\":\"rfe\",\"max\":1e-4}]}],\n"
	"\"temps\":[{\"name\":\"h\",\"count\":\"M*M\"}],\n"
	"\"generate\":[{\"stage\":\"make_x\",\"count\":\"M*2*N\"}],\n"
	"\"oracle\":[{\"product\":{\"c\":\"h\",\"a\":\"h\",\"b\":\"h\",\"tb\":true,\"m\":\"M\",\"n\":\"M\",\"k\":\"N\"}"
	"},{\"stage\":\"fill\",\"count\":\"M\"}],\n"
	"\"bytes\":\"4*M*N\",\"flops\":\"2*M*M*N*(1+0*eps)\",\"flop_unit\":\"bf16\",\"source\":\"nowhere\"}\n";
static const char workloads[] =
	"{\"id\":\"a\",\"tier\":\"bench\",\"dims\":{\"M\":1024,\"N\":8},\"params\":{\"eps\":1e-6},\"origin\":\"o\"}\n"
	"{\"id\":\"b-2.x\",\"tier\":\"smoke\",\"dims\":{\"N\":2,\"M\":5},\"params\":{\"eps\":2},\"origin\":\"o\"}\n";

static void write_text(const char *path, const char *text)
{
	struct err e;

	if (file_write(path, text, strlen(text), &e))
		die("%s", e.text);
}

static void write_all(void)
{
	struct err e;

	if (file_mkdirs("tasks/t", &e) || file_mkdirs("tasks/empty", &e) || file_mkdirs("workloads", &e))
		die("%s", e.text);
	write_text("tasks/t/task.json", task_json);
	write_text("tasks/t/task.md", "text");
	write_text("tasks/t/oracle.c", "code");
	write_text("workloads/t.jsonl", workloads);
}

static void test_good(void)
{
	struct workload *w;
	struct task t;
	struct err e;
	long long shape[TASK_DIMS], n;
	int nw;

	is_int(task_load(&t, "t", &e), 0, "a task");
	ok(t.ndims == 2 && t.nparams == 1 && t.ntensors == 3 && t.ntemps == 1 && t.ngenerate == 1 && t.noracle == 2,
		"its parts");
	ok(t.tensors[0].role == ROLE_IN && t.tensors[0].dtype == DT_BF16 && t.tensors[0].ndim == 2 &&
			!t.tensors[0].nchecks,
		"an input");
	ok(t.tensors[1].role == ROLE_INOUT && t.tensors[1].check[0].metric == METRIC_EXACT, "one changed in place");
	ok(t.tensors[2].check[0].metric == METRIC_ULP && t.tensors[2].check[0].share == 0.999 &&
			t.tensors[2].check[0].max == 2 && t.tensors[2].check[1].metric == METRIC_RFE &&
			t.tensors[2].check[1].max == 1e-4,
		"an output's two checks");
	ok(!t.oracle[0].name && !strcmp(t.oracle[0].batch, "1") && !t.oracle[0].ta && t.oracle[0].tb, "a product");
	is_str(t.text_hash, "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1", "hash of the text");
	is_int(workloads_load(&t, &w, &nw, &e), 0, "its workloads");
	ok(nw == 2 && !strcmp(w[0].tier, "bench") && !strcmp(w[1].id, "b-2.x"), "in order");
	ok(w[1].nvars == 3 && !strcmp(w[1].vars[0].name, "M") && w[1].vars[0].value == 5 && w[1].vars[2].value == 2,
		"dims as the task orders them, then params");
	is_str(w[0].params, "{\"eps\":1e-6}", "params as they are written");
	is_int(tensor_elements(&t.tensors[0], &w[0], shape, &n, &e), 0, "elements");
	ok(n == 16384 && shape[0] == 1024 && shape[1] == 16, "and extents");
	is_int(tensor_elements(&t.tensors[2], &w[1], NULL, &n, &e), 0, "elements without extents");
	is_int(n, 2, "rounded up");
	workloads_free(w, nw);
	task_release(&t);
}

/* Loads the task with one text put for another; the reason it fails, or "". */
static const char *broken(const char *path, const char *original, const char *from, const char *to)
{
	static struct err e;
	struct buf b = BUF_INIT;
	struct workload *w;
	struct task t;
	const char *at = strstr(original, from);
	int n;

	if (!at)
		die("no '%s' to replace", from);
	buf_add(&b, original, (size_t)(at - original));
	buf_addstr(&b, to);
	buf_addstr(&b, at + strlen(from));
	write_text(path, b.data);
	buf_release(&b);
	e.text[0] = '\0';
	if (task_load(&t, "t", &e) == 0) {
		if (workloads_load(&t, &w, &n, &e) == 0)
			workloads_free(w, n);
		task_release(&t);
	}
	write_text(path, original);
	return e.text;
}

static void test_broken_task(void)
{
	static const struct {
		const char *from, *to, *why;
	} cases[] = {
		{ "\"version\":1", "\"version\":2", "'version' is not 1" },
		{ "\"title\"", "\"titel\"", "unknown key 'titel'" },
		{ "\"name\":\"t\"", "\"name\":\"u\"", "'name' is not the folder's" },
		{ "\"dims\":[\"M\"", "\"dims\":[5", "dims[0]: not a string" },
		{ "\"dims\":[\"M\"", "\"dims\":[\"N\"", "dims[1]: name 'N' is used twice" },
		{ "\"params\":[\"eps\"]", "\"params\":[\"x\"]", "tensors[0]: name 'x' is used twice" },
		{ "\"params\":[\"eps\"]", "\"params\":[\"seed\"]", "params[0]: name 'seed' is used twice" },
		{ "\"params\":[\"eps\"]", "\"params\":{}", "'params' is not an array" },
		{ "\"name\":\"x\"", "\"name\":\"x y\"", "tensors[0]: 'x y' is not an identifier" },
		{ "\"name\":\"x\"", "\"name\":\"ref_y\"", "tensors[0]: name 'ref_y' begins like a reference" },
		{ "\"role\":\"in\"", "\"role\":\"input\"", "tensors[0]: 'role' is none of in, out, inout" },
		{ "\"role\":\"in\"", "\"role\":\"out\"", "tensors[0]: an output has no 'check'" },
		{ "\"role\":\"out\"", "\"role\":\"in\"", "tensors[2]: an input has a 'check'" },
		{ "bfloat16", "bf16", "tensors[0]: unknown dtype 'bf16'" },
		{ "[\"M\",\"2*N\"]", "[]", "tensors[0]: 'shape' is not an array of 1 to 8 expressions" },
		{ "[\"M\",\"2*N\"]", "[\"M\",2]", "tensors[0]: 'shape' has an element that is not a string" },
		{ "\"metric\":\"rfe\",\"max\"", "\"metric\":\"rfe\",\"limit\"", "tensors[2]: unknown key 'limit'" },
		{ "\"metric\":\"rfe\"", "\"metric\":\"mse\"", "tensors[2]: unknown metric 'mse'" },
		{ "\"max\":1e-4", "\"max\":0", "tensors[2]: 'max' is not a number over 0" },
		{ "\"max\":1e-4", "\"max\":1e400", "tensors[2]: 'max' is not a number over 0" },
		{ "\"share\":0.999", "\"share\":1.5", "tensors[2]: 'share' is not a number over 0 and at most 1" },
		{ "{\"metric\":\"exact\"}", "{\"metric\":\"ulp\",\"share\":1,\"max\":1}",
			"tensors[1]: 'ulp' wants a floating type and a whole 'max'" },
		{ "{\"metric\":\"exact\"}", "{\"metric\":\"exact\",\"max\":1}", "tensors[1]: unknown key 'max'" },
		{ "\"name\":\"h\"", "\"name\":\"y\"", "temps[0]: name 'y' is used twice" },
		{ "\"count\":\"M*M\"", "\"count\":5", "temps[0]: 'count' is not a string" },
		{ "\"stage\":\"make_x\"", "\"stage\":\"make x\"", "generate[0]: stage 'make x' is not an identifier" },
		{ "\"stage\":\"make_x\"", "\"stages\":\"make_x\"", "generate[0]: unknown key 'stages'" },
		{ "\"k\":\"N\"", "\"kk\":\"N\"", "oracle[0]: unknown key 'kk'" },
		{ ",\"k\":\"N\"", "", "oracle[0]: 'k' is not a string" },
		{ "\"flop_unit\":\"bf16\"", "\"flop_unit\":\"int4\"", "unknown flop_unit 'int4'" },
		{ "\"generate\":[{\"stage\":\"make_x\",\"count\":\"M*2*N\"}]", "\"generate\":[]",
			"'tensors', 'generate' or 'oracle' is empty" },
		{ "\"version\":1,", "\"version\":1,\"version\":1,", "duplicate key 'version' at byte 15" },
		{ "\"4*M*N\"", "\"4*M*K\"", "line 1: unknown name 'K' in expression '4*M*K'" },
		{ "\"2*N\"", "\"N/3\"", "line 1: 'N/3' is 2.6666666666666665, not a whole number over 0" },
		{ "\"2*N\"", "\"pow(N,17)\"", "line 1: tensor 'x' is too large" },
		{ "\"count\":\"M*M\"", "\"count\":\"M-M\"", "line 1: 'M-M' is 0, not a whole number over 0" },
		{ "\"k\":\"N\"", "\"k\":\"M/N/500\"",
			"line 1: 'M/N/500' is 0.25600000000000001, not a whole number over 0" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *got = broken("tasks/t/task.json", task_json, cases[i].from, cases[i].to);
		char *wanted = strncmp(cases[i].why, "line 1: ", 8)
				       ? xasprintf("'%s/tasks/t/task.json': %s", file_root(), cases[i].why)
				       : xasprintf("%s/workloads/t.jsonl:1: %s", file_root(), cases[i].why + 8);

		is_str(got, wanted, "task with %s", cases[i].to);
		free(wanted);
	}
}

static void test_broken_workload(void)
{
	static const struct {
		const char *from, *to, *why;
	} cases[] = {
		{ "\"tier\":\"smoke\"", "\"tier\":\"fast\"", "'tier' is neither bench nor smoke" },
		{ "\"id\":\"b-2.x\"", "\"id\":\"b/2\"", "'id' is not a name of letters, digits, '.', '_' and '-'" },
		{ "\"id\":\"b-2.x\"", "\"id\":\"a\"", "id 'a' is used twice" },
		{ "\"id\":\"b-2.x\"", "\"name\":\"b\"", "unknown key 'name'" },
		{ "\"N\":2", "\"N\":2.5", "dims: 'N' is not a whole number" },
		{ "\"N\":2", "\"N\":-2", "dims: 'N' is not a whole number" },
		{ "\"N\":2", "\"n\":2", "dims: 'N' is not a whole number" },
		{ "\"N\":2", "\"N\":2,\"K\":1", "'dims' has a name that the task has not" },
		{ "\"N\":2", "\"N\":0", "'2*N' is 0, not a whole number over 0" },
		{ "\"params\":{\"eps\":2}", "\"params\":{}", "params: 'eps' is not a finite number" },
		{ "\"eps\":2", "\"eps\":1e999", "params: 'eps' is not a finite number" },
		{ "\"eps\":2}", "\"eps\":2", "text ends early at byte 82" },
		{ "\n{\"id\":\"b", "\n\n{\"id\":\"b", "not a JSON value at byte 1" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *wanted = xasprintf("%s/workloads/t.jsonl:2: %s", file_root(), cases[i].why);

		is_str(broken("workloads/t.jsonl", workloads, cases[i].from, cases[i].to), wanted, "workload with %s",
			cases[i].to);
		free(wanted);
	}
}

static void test_names(void)
{
	static const char *const bad[] = { "", ".", "..", "../t", "t/../t", "/t", ".hidden", "t x", "t\n" };
	struct task t;
	struct err e;
	char **names, hash[HASH_HEX];
	int n;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(task_load(&t, bad[i], &e) == -1 && strstr(e.text, "is no name of a task"), "no task '%s'", bad[i]);
	is_int(task_load(&t, "none", &e), -1, "a task that is not there");
	is_int(task_names(&names, &n, &e), 0, "all tasks");
	ok(n == 1 && !strcmp(names[0], "t"), "those with a task.json");
	free(names[0]);
	free(names);
	task_load(&t, "t", &e);
	memcpy(hash, t.oracle_hash, sizeof hash);
	task_release(&t);
	write_text("tasks/t/oracle.c", "other code");
	task_load(&t, "t", &e);
	ok(strcmp(hash, t.oracle_hash), "another oracle, another hash");
	task_release(&t);
	unlink("tasks/t/oracle.c");
	is_int(task_load(&t, "t", &e), -1, "no oracle, no task");
}

int main(void)
{
	char *here = getcwd(NULL, 0);

	setenv("D2K_ROOT", here, 1);
	write_all();
	test_good();
	test_broken_task();
	test_broken_workload();
	test_names();
	free(here);
	return done_testing();
}
