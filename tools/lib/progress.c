/* Telling how far one is. */
#include "progress.h"
#include "buf.h"
#include "file.h"
#include <unistd.h>

const char *actor_name(int actor)
{
	return actor < LEGS ? leg_name[actor] : actor == ACTOR_ORACLE ? "oracle" : "tool";
}

void progress_say(int fd, enum progress what, const char *text)
{
	struct buf b = BUF_INIT;

	buf_addf(&b, "%c%s%s", what, *text ? " " : "", text);
	for (size_t i = 0; i < b.len; i++)
		if (b.data[i] == '\n')
			b.data[i] = ' ';
	buf_addch(&b, '\n');
	if (file_write_all(fd, b.data, b.len))
		_exit(1);
	buf_release(&b);
}
