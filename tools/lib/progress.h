/* What a worker tells its parent about a record, in lines on a pipe, each a letter and its text:
 *
 *     W WHAT          waiting for the device's lock        L SECONDS       has it, having waited: the time starts
 *     D {...}         the device                           B ID            a workload begins
 *     R {...}         a workload's result                  S STATUS WHY    the record as a whole fails
 *     G WORDS         where time went                      A WHY           no device: try again elsewhere
 *     P               measuring the device's peaks         X               all results are told
 *     C ACTOR         who is at work from here on
 *     K ID {...}      afterwards: a workload's profile     M {...}         afterwards: what the sanitizer found
 *     F {...}         what one seed's run came to (tolerance.h)
 *
 * outcome_line() reads them. */
#ifndef PROGRESS_H
#define PROGRESS_H
#include "job.h"

enum progress {
	PROGRESS_WAITS = 'W', PROGRESS_STARTS = 'L', PROGRESS_DEVICE = 'D', PROGRESS_WORKLOAD = 'B',
	PROGRESS_RESULT = 'R', PROGRESS_FAILED = 'S', PROGRESS_PHASES = 'G', PROGRESS_AWAY = 'A', PROGRESS_PEAKS = 'P',
	PROGRESS_END = 'X', PROGRESS_ACTOR = 'C', PROGRESS_PROFILE = 'K', PROGRESS_SANITIZER = 'M',
	PROGRESS_FIGURES = 'F'
};

/* Who can be at work: a leg, or one of these. What the process dies of, or is late by, is theirs. */
enum { ACTOR_ORACLE = LEGS, ACTOR_TOOL, ACTORS };
const char *actor_name(int actor);

/* Writes the line whole; newlines in the text become spaces. Ends the process when nobody listens any more. */
void progress_say(int fd, enum progress what, const char *text);
#endif
