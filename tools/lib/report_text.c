/* The report for a terminal, within TABLE_WIDTH columns: warnings first, then the tables. */
#include "report.h"
#include "opt.h"

static void put_warning(const char *sentence, void *out)
{
	wrap_text(out, sentence, "  ! ", "    ");
}

static void put_table(const struct table *t, void *out)
{
	table_text(t, out);
}

static void print_text(const struct score *s, struct buf *out)
{
	struct buf line = BUF_INIT, warnings = BUF_INIT;

	buf_addstr(&line, "D2K-Bench: ");
	report_summary(s, &line);
	wrap_text(out, line.data, "", "");
	report_warnings(s, put_warning, &warnings);
	if (warnings.len)
		buf_addf(out, "\nWarnings\n%s", warnings.data);
	buf_addch(out, '\n');
	report_tables(s, put_table, out);
	buf_addstr(out, "d2k-score " D2K_VERSION "\n");
	buf_release(&line);
	buf_release(&warnings);
}

const struct report_format report_text = { "text", print_text };
