// Programs that run beside each other in one boot, as the parts of a mix (docs/mix.md): the first process
// starts them, counts their CPU time, and stops all threads of one and lets them go on. A program has a
// number; its processes are those that were started under it, and their children, which have its image.
//
// Nothing here is on the path of a program that was not started so: a stop is seen where a kill is.
// Takes a program's own lock (park class), and then what a wake-up takes.
#ifndef CORE_PROGRAM_H
#define CORE_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

#define PROGRAMS 64

// The first process's calls. -RING_EINVAL: no such number, or no program with this name in the image.
int64_t program_start(unsigned number, const char *name, uint64_t first, uint64_t second);
int64_t program_stop(unsigned number, bool stop); // returns once no CPU runs a thread of it
int64_t program_cycles(uint64_t number);          // CPU time of all of its threads, those that ended included

void program_stand(void);                         // on the way to user mode: the caller's program is stopped
void program_ended(const struct thread *thread);  // its time accounting is complete

#endif
