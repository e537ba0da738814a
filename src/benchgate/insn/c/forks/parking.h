// Stops the other threads of this process, so that the calling thread can fork it, and makes them again in the child:
// on their stacks, with their thread-local storage, inside the signal handler that stopped them. So they hold the
// locks that they held, and go on where they were. A system call in which one waited fails with EINTR.
#ifndef PARKING_H
#define PARKING_H

#include <stdbool.h>

// Finds out how this libc keeps a thread's number. Gives the reason why processes cannot be forked here.
const char *parking_setup(void);
// Stops every thread but the calling one and those of which `rests` is true: they are not made again. Between this
// and parking_go nothing may be called that takes a lock. Gives the reason why it cannot; then none is stopped.
const char *parking_stop(bool (*rests)(long thread));
// Forks. The child is a sibling: its parent is this process's parent. 0: this is the child, which has this thread only.
long parking_fork(void);
void parking_go(void); // in the parent: the threads go on
// In the child: the threads are made again, and go on.
void parking_revive(void);

#endif
