/* counters: ncu's table, whole and damaged, its complaints, and ncu itself played by a script. */
#include "child.h"
#include "counters.h"
#include "file.h"
#include "tap.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STALL(x) "\"smsp__average_warps_issue_stalled_" x ".ratio\""

static const char table[] =
	"==PROF== Connected to process 4242 (/d2k/bin/d2k-time)\n"
	"==PROF== Profiling \"attend\": 0%....50%....100% - 12 passes\n"
	"==PROF== Disconnected from process 4242\n"
	"\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\","
	"\"Grid Size\",\"Device\",\"CC\",\"dram__bytes_read.sum\",\"dram__bytes_write.sum\","
	"\"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed\",\"gpu__time_duration.sum\","
	"\"lts__t_sector_hit_rate.pct\",\"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active\","
	"\"sm__throughput.avg.pct_of_peak_sustained_elapsed\",\"sm__warps_active.avg.pct_of_peak_sustained_active\","
	STALL("barrier_per_issue_active") "," STALL("long_scoreboard_per_issue_active") ","
	STALL("long_scoreboard_not_issued_per_issue_active") "," STALL("selected_per_issue_active") ","
	STALL("wait_per_issue_active") "," STALL("mio_throttle_per_issue_active") "\n"
	"\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"byte\",\"byte\",\"%\",\"ns\",\"%\",\"%\",\"%\",\"%\","
	"\"inst\",\"inst\",\"inst\",\"inst\",\"inst\",\"inst\"\n"
	"\"0\",\"4242\",\"d2k-time\",\"127.0.0.1\",\"attend\",\"1\",\"7\",\"(128, 1, 1)\",\"(392, 1, 1)\",\"0\",\"9.0\","
	"\"805,306,368\",\"2,097,152\",\"86.25\",\"182,400\",\"12.5\",\"25\",\"40\",\"18.75\","
	"\"1\",\"6\",\"5.5\",\"1\",\"1.5\",\"0.5\"\r\n"
	"\"1\",\"4242\",\"d2k-time\",\"127.0.0.1\",\"a \"\"quoted\"\", name\",\"1\",\"7\",\"(128, 1, 1)\",\"(64, 1, 1)\",\"0\","
	"\"9.0\",\"n/a\",\"\",\"nan\",\"4,864\",\"100\",\"0\",\"5\",\"7\",\"0\",\"0\",\"0\",\"1\",\"0\",\"0\"\n";

static struct counters c[COUNTERS_LAUNCHES];
static struct err e;

static void test_table(void)
{
	struct buf b = BUF_INIT;

	is_int(counters_parse(table, sizeof(table) - 1, c, &e), 2, "two launches");
	is_str(c[0].kernel, "attend", "the kernel's name");
	is_num(c[0].value[COUNTER_DRAM_READ], 805306368, "thousands have commas");
	is_num(c[0].value[COUNTER_DRAM_SHARE], 86.25 * 0.01, "per cent become shares");
	is_num(c[0].value[COUNTER_NS], 182400, "its time");
	is_num(c[0].value[COUNTER_TENSOR_SHARE], 0.25, "tensor pipe");
	is_str(c[0].stall[0].why, "long_scoreboard", "the largest stall");
	is_num(c[0].stall[0].share, 0.6, "6 of 10 cycles, those not issued not counted twice");
	is_str(c[0].stall[1].why, "wait", "the second");
	is_str(c[0].stall[2].why, "barrier", "the third; selected is none");
	is_str(c[1].kernel, "a \"quoted\", name", "quotes and commas in a name");
	ok(isnan(c[1].value[COUNTER_DRAM_READ]) && isnan(c[1].value[COUNTER_DRAM_WRITE]) &&
	   isnan(c[1].value[COUNTER_DRAM_SHARE]), "what is no number is not known");
	is_num(c[1].value[COUNTER_L2_HIT], 1, "the rest is");
	is_num(c[1].stall[0].share, 0, "no stalls");
	counters_emit(&b, &c[1]);
	is_str(b.data, "{\"ns\":4864,\"dram_read_bytes\":null,\"dram_write_bytes\":null,\"dram_share\":null,\"l2_hit\":1,"
	       "\"sm_share\":0.05,\"tensor_share\":0,\"occupancy\":0.07,\"stalls\":[]}", "in JSON");
	buf_release(&b);
}

static int parse(const char *text)
{
	return counters_parse(text, strlen(text), c, &e);
}

static void test_damaged(void)
{
	struct buf b = BUF_INIT;

	for (size_t n = 0; n < sizeof(table) - 1; n++)
		if (counters_parse(table, n, c, &e) > 2)
			ok(false, "cut at %zu", n);
	is_int(parse(""), -1, "nothing");
	is_str(e.text, "ncu counted no kernel", "is said");
	is_int(parse("\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n\"0\"\n\"1\",\"k\",\"5\",\"6\"\n\"2\",\"unended"), 3,
	       "short and long lines");
	ok(!*c[0].kernel && isnan(c[0].value[COUNTER_NS]), "what is missing is not known");
	is_num(c[1].value[COUNTER_NS], 5, "what is too much is dropped");
	is_int(parse("\"ID\",\"Kernel Name\"\n\"0\",\"printed\"\n\"1\",\"too\"\n\"ID\",\"Kernel Name\"\n\"0\",\"real\"\n"), 1,
	       "a table that a kernel printed");
	is_str(c[0].kernel, "real", "does not count");
	is_int(parse("\"ID\",\"x\"\n\"\",\"\"\n"), -1, "a table without launches");
	is_int(parse("==PROF== x\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"), -1, "no permission");
	is_str(e.text, "the system does not permit counters (ERR_NVGPUCTRPERM)", "in words");
	is_int(parse("==ERROR== The application returned an error code (1).\n==ERROR== more\n"), -1, "a complaint");
	is_str(e.text, "ncu: The application returned an error code (1).", "the first is told");
	is_int(parse("==ERROR== The application returned an error code (1).\nd2k-time: out of memory\n"), -1, "a failed program");
	is_str(e.text, "under ncu: out of memory", "its own words count more");
	buf_addstr(&b, "\"ID\"");
	for (int i = 0; i < 10000; i++)
		buf_addstr(&b, ",\"Kernel Name\"");
	for (int k = 0; k < 100; k++) {
		buf_addstr(&b, "\n\"0\"");
		for (int i = 0; i < 10000; i++)
			buf_addstr(&b, ",\"a name that is rather long, and again, and again, and again, and again, and again, and again, ""and again, "
				   "and again, and again, and again\"");
	}
	is_int(counters_parse(b.data, b.len, c, &e), COUNTERS_LAUNCHES, "a huge table");
	is_int((long long)strlen(c[0].kernel), sizeof(c[0].kernel) - 1, "a long name is cut");
	buf_release(&b);
}

/* A program in the working folder that stands for ncu. */
static void play(const char *script)
{
	file_write("ncu", script, strlen(script), &e);
	chmod("ncu", 0700);
	setenv("D2K_NCU", "./ncu", 1);
}

static void test_ncu(void)
{
	char *program[] = { "program", "--with", "an option", NULL };
	struct buf said = BUF_INIT;

	setenv("D2K_NCU", "/nonexistent", 1);
	is_int(counters_take(program, 5, c, &e), -1, "no ncu");
	is_str(e.text, "$D2K_NCU is '/nonexistent', where there is no ncu", "is said");
	play("#!/bin/sh\nprintf '%s\\n' \"$@\" >said\n"
	     "printf '\"ID\",\"Kernel Name\"\\n\"\",\"\"\\n\"0\",\"k\"\\n'\n");
	is_int(counters_take(program, 5, c, &e), 1, "ncu runs");
	file_read("said", &said, &e);
	ok(strstr(said.data, "--profile-from-start\noff\n") && strstr(said.data, "--clock-control\nnone\n"),
	   "clocks are left alone, and only what is asked for is counted");
	ok(strstr(said.data, "dram__bytes_read.sum,dram__bytes_write.sum,gpu__dram") != NULL, "counters by name");
	ok(strstr(said.data, "\nprogram\n--with\nan option\n") != NULL, "the program comes last");
	play("#!/bin/sh\ncase \"$*\" in *--metrics*) echo '==ERROR== Failed to find metric x'; exit 1;; esac\n"
	     "printf '\"ID\",\"Kernel Name\"\\n\"\",\"\"\\n\"0\",\"k\"\\n'\n");
	is_int(counters_take(program, 5, c, &e), 1, "a name that ncu does not know: its own sections instead");
	play("#!/bin/sh\nexec sleep 30\n");
	is_int(counters_take(program, 0.3, c, &e), -1, "an endless ncu");
	is_str(e.text, "ncu took longer than 0.3 s", "is ended");
	play("#!/bin/sh\necho '==ERROR== on stderr' >&2\nexit 9\n");
	is_int(counters_take(program, 5, c, &e), -1, "a failing ncu");
	is_str(e.text, "ncu: on stderr", "is heard");
	buf_release(&said);
}

int main(void)
{
	test_table();
	test_damaged();
	test_ncu();
	return done_testing();
}
