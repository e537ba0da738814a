// The kernel's self-tests, which run as a program on it. A check returns 0, or the number of the line where
// it failed. Children and threads start at a function: see program() in selftest.c.
#ifndef USER_SELFTEST_H
#define USER_SELFTEST_H

#include "user/runtime.h"

#define NEED(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            return __LINE__;                                                                                 \
    } while (0)

typedef int body(uint64_t argument);

struct check {
    const char *name;
    int (*run)(void);
};

extern const struct check basic_checks[], service_checks[], hostile_checks[], bomb_checks[], stress_checks[];

// Shared by all processes of the test; zeroed before each check.
struct board {
    _Alignas(64) uint32_t word[64];
    uint64_t number[64];
};
extern struct board *board;

int64_t start(enum ring_spawn kind, body *what, uint64_t argument);
int64_t start_weighted(body *what, uint64_t argument, uint64_t weight);
int64_t finish(enum ring_spawn kind, int64_t id);
uint64_t clock_us(void);
uint64_t option_number(const char *key, uint64_t otherwise); // a number on the command line
int option_is(const char *key, const char *value);
int park_for(uint32_t *word, uint32_t value, uint64_t us); // the operation's result; 1: enter failed

#endif
