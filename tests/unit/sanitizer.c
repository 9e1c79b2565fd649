/* sanitizer: compute-sanitizer's reports, whole and damaged, and the tool itself played by a script. */
#include "file.h"
#include "sanitizer.h"
#include "tap.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct sanitizer_report r;
static struct err e;

static const char memcheck[] =
	"========= COMPUTE-SANITIZER\n"
	"words of the program\n"
	"========= Invalid __global__ write of size 4 bytes\n"
	"=========     at kernel+0x150 in submission.py:7\n"
	"=========     by thread (31,0,0) in block (3,0,0)\n"
	"=========     Access to 0x7f5a00000fa0 is out of bounds\n"
	"=========     and is 1 bytes after the nearest allocation at 0x7f5a00000000 of size 4,000 bytes\n"
	"=========     Saved host backtrace up to driver entry point at kernel launch time\n"
	"=========         Host Frame: [0x123456] in libcuda.so.1\n"
	"=========\n"
	"========= Target application returned an error\n"
	"========= ERROR SUMMARY: 257 errors\n"
	"========= ERROR SUMMARY: 157 errors were not printed. Use --print-limit option to adjust the number\n";

static int parse(const char *text)
{
	sanitizer_release(&r);
	return sanitizer_parse(text, strlen(text), &r, &e);
}

static const char *line(int i)
{
	buf_addstr(&r.line[i], "");
	return r.line[i].data;
}

static void test_reports(void)
{
	is_int(parse(memcheck), 0, "memcheck");
	is_int(r.findings, 257, "all errors count, also those not printed");
	is_int(r.lines, 5, "lines about the kernel, none about the host or the program");
	is_str(line(0), "Invalid __global__ write of size 4 bytes", "the first");
	is_str(line(4), "and is 1 bytes after the nearest allocation at 0x7f5a00000000 of size 4,000 bytes", "the last");
	is_int(parse("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"), 0, "nothing found");
	is_int(r.findings, 0, "is 0");
	is_int(r.lines, 0, "and has no lines");
	is_int(parse("========= Error: Race reported between Write access at k+0x90\n"
		     "=========     and Read access at k+0x100 [508 hazards]\n"
		     "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)"), 0, "racecheck, without a last newline");
	is_int(r.findings, 1, "one hazard");
	is_int(r.lines, 2, "of two lines");
}

static void test_damaged(void)
{
	struct buf b = BUF_INIT;

	for (size_t n = 0; n < sizeof(memcheck) - 1; n++) {
		sanitizer_release(&r);
		if (!sanitizer_parse(memcheck, n, &r, &e) && r.findings > 257)
			ok(false, "cut at %zu", n);
	}
	is_int(parse(""), -1, "nothing");
	is_str(e.text, "compute-sanitizer made no summary", "is no report");
	is_int(parse("ERROR SUMMARY: 5 errors\n"), -1, "the program cannot make a summary without the margin");
	is_int(parse("========= ERROR SUMMARY: 0 errors\n========= ERROR SUMMARY: 5 errors\n"), 0, "nor one that comes first");
	is_int(r.findings, 5, "the last counts");
	is_int(parse("========= ERROR SUMMARY: many\n========= ERROR SUMMARY: -1 errors\n"), -1, "a summary without a number");
	is_int(parse("========= ERROR SUMMARY: 99999999999999999999999999 errors\n"), 0, "a huge number");
	ok(r.findings > 0, "is one still");
	for (int i = 0; i < 100; i++) {
		buf_addstr(&b, "========= \xc3\xa4");
		for (int k = 0; k < 300; k++)
			buf_addstr(&b, "\xc3\xa4\xff");
		buf_addch(&b, '\n');
	}
	buf_addstr(&b, "========= ERROR SUMMARY: 1 error\n");
	is_int(parse(b.data), 0, "many long lines");
	is_int(r.lines, SANITIZER_LINES, "not all are kept");
	ok(r.line[0].len <= SANITIZER_WIDTH, "nor whole");
	buf_release(&b);
}

static int play(enum sanitizer tool, double seconds, const char *script)
{
	char *program[] = { "program", "an option", NULL };

	file_write("compute-sanitizer", script, strlen(script), &e);
	chmod("compute-sanitizer", 0700);
	setenv("D2K_SANITIZER", "./", 1);
	sanitizer_release(&r);
	return sanitizer_run(tool, program, seconds, &r, &e);
}

static void test_tool(void)
{
	struct buf said = BUF_INIT;

	is_int(play(SANITIZER_MEMCHECK, 5, "#!/bin/sh\nprintf '%s\\n' \"$@\" >said\necho '========= ERROR SUMMARY: 0 errors'\n"), 0,
	       "it runs");
	file_read("said", &said, &e);
	ok(strstr(said.data, "--tool\nmemcheck\n") && strstr(said.data, "\nprogram\nan option\n"), "as it should");
	is_int(play(SANITIZER_SYNCCHECK, 5, "#!/bin/sh\necho '========= Barrier error'\necho '========= ERROR SUMMARY: 2 errors'\n"
		    "exit 1\n"), 0, "a program that fails for what was found");
	is_int(r.findings, 2, "is what was found");
	is_int(play(SANITIZER_SYNCCHECK, 5, "#!/bin/sh\necho '========= ERROR SUMMARY: 0 errors'\necho why >&2\nexit 1\n"), -1,
	       "a program that fails for another reason");
	is_str(e.text, "under compute-sanitizer the run failed (exited 1): why", "is not clean");
	is_int(play(SANITIZER_RACECHECK, 5, "#!/bin/sh\necho 'cannot start' >&2\nexit 3\n"), -1, "a tool that fails");
	is_str(e.text, "compute-sanitizer: cannot start", "is heard");
	is_int(play(SANITIZER_INITCHECK, 0.3, "#!/bin/sh\nexec sleep 30\n"), -1, "an endless one");
	is_str(e.text, "compute-sanitizer took longer than 0.3 s", "is ended");
	setenv("D2K_SANITIZER", "/nonexistent", 1);
	sanitizer_release(&r);
	is_int(sanitizer_run(SANITIZER_MEMCHECK, (char *[]){ NULL }, 5, &r, &e), -1, "none");
	is_str(e.text, "$D2K_SANITIZER is '/nonexistent', where there is no compute-sanitizer", "is missed");
	buf_release(&said);
}

int main(void)
{
	is_int(sanitizer_named("racecheck"), SANITIZER_RACECHECK, "a tool's name");
	is_int(sanitizer_named("none"), SANITIZER_NONE, "no tool's name");
	ok(sanitizer_proves(SANITIZER_MEMCHECK) && !sanitizer_proves(SANITIZER_RACECHECK), "what proves something");
	test_reports();
	test_damaged();
	test_tool();
	sanitizer_release(&r);
	return done_testing();
}
