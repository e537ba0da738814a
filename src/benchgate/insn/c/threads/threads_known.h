// What has been seen of each thread, by its id, so that only changes are written.
#ifndef THREADS_KNOWN_H
#define THREADS_KNOWN_H

#include <stdbool.h>
#include <stdint.h>

#define KNOWN_NAME 32

struct known {
    struct known *next;
    uint64_t id, allowed;
    unsigned cpu; // where it ran last or was queued
    bool has_cpu, is_blocked; // or new
    bool is_program;          // it has executed an instruction of a program
    bool may_wait;            // while it has no CPU: as in threads.c
    uint8_t name[KNOWN_NAME];
};

// The thread; it is made if it was not known. NULL: too many, or no memory.
struct known *known_thread(uint64_t id, uint64_t allowed);
void known_forget(uint64_t id);

#endif
