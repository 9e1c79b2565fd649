/* A tool for tests/judge-source.t: strips every Python file named and writes NAME, LENGTH and text for each. */
#include "file.h"
#include "pystrip.h"
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++) {
		struct buf text = BUF_INIT, out = BUF_INIT;
		struct err e;

		if (file_read(argv[i], &text, &e) || python_strip(text.data ? text.data : "", text.len, &out, &e)) {
			fprintf(stderr, "%s: %s\n", argv[i], e.text);
			failed = 1;
		} else {
			printf("%s\n%zu\n", argv[i], out.len);
			if (out.len)
				fwrite(out.data, 1, out.len, stdout);
		}
		buf_release(&text);
		buf_release(&out);
	}
	return failed;
}
