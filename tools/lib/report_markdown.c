/* The report as markdown: the same tables as the text. */
#include "report.h"
#include "opt.h"

static void put_warning(const char *sentence, void *out)
{
	buf_addf(out, "- %s\n", sentence);
}

static void put_table(const struct table *t, void *out)
{
	table_markdown(t, out);
}

static void print_markdown(const struct score *s, struct buf *out)
{
	struct buf warnings = BUF_INIT;

	buf_addstr(out, "# D2K-Bench report\n\n");
	report_summary(s, out);
	buf_addstr(out, "\n\n");
	report_warnings(s, put_warning, &warnings);
	if (warnings.len)
		buf_addf(out, "**Warnings**\n\n%s\n", warnings.data);
	report_tables(s, put_table, out);
	buf_addstr(out, "d2k-score " D2K_VERSION "\n");
	buf_release(&warnings);
}

const struct report_format report_markdown = { "markdown", print_markdown };
