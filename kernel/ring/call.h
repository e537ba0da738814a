// Calls between processes: a caller waits in the inbox of the called process until that process replies.
// Modelled on seL4's Call and ReplyRecv; a call carries two words, a reply one.
#ifndef RING_CALL_H
#define RING_CALL_H

#include <stdint.h>

struct inbox;
struct ring_wait;
struct ring_completion;

void inbox_open(struct inbox *inbox, int process);
void inbox_close(struct inbox *inbox); // every caller gets -RING_ESRCH
int64_t call(int process, uint64_t first, uint64_t second, struct ring_wait *wait, uint64_t *answer);
int64_t reply(int caller, uint64_t answer);
// Returns the next call: its caller's thread id, and its words. Waits for one if that is allowed.
int64_t next_call(struct ring_wait *wait, uint64_t words[2]);

#endif
