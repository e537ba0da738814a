// What two CPUs do with lines that both use.
//
// transfer: CPU `one` writes some lines, so that only its own caches have them. Then CPU `two` chases through
//           them: each load waits for a line that another CPU has changed. A load's time is a transfer.
// handover: both CPUs wait for a number in one line and write the next one there. A handover is a read of a
//           line that the other has changed and a write to a line of which the other has a copy, so it takes
//           more than a transfer. Other programs print it as the latency from core to core.
//
// On a busy host one of the two may be off its CPU for long. So a pass has a time limit, and what did not come
// to its end prints no sample.
#define _GNU_SOURCE
#include "measure.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#define LINES 128u
#define ROUNDS 31u
#define EXCHANGES 100u // of the ball, in one round
#define LONGEST_NS 5e8 // one pass
#define OVER UINT32_MAX

// Two lines for each: some prefetchers fetch the neighbour of a line, too.
union place {
    _Alignas(2 * LINE_BYTES) void *next;
    char room[2 * LINE_BYTES];
};

static union place lines[LINES];
static _Alignas(2 * LINE_BYTES) _Atomic uint32_t turn; // one works while it is even, two while it is odd
static _Alignas(2 * LINE_BYTES) unsigned cpu_two;
static double pass_ends;

// False if the time of the pass is over, then also for the other thread.
static bool await(uint32_t wanted) {
    for (uint32_t looks = 1;; looks++) {
        uint32_t seen = atomic_load_explicit(&turn, memory_order_acquire);
        if (seen == wanted)
            return true;
        if (seen == OVER || (looks % 4096 == 0 && now_ns() > pass_ends)) {
            atomic_store(&turn, OVER);
            return false;
        }
    }
}

static void give(uint32_t next) {
    atomic_store_explicit(&turn, next, memory_order_release);
}

// A cycle in a new random order. Writing the lines takes them from the other CPU.
static void write_lines(void) {
    uint32_t order[LINES];
    for (uint32_t n = 0; n < LINES; n++) {
        uint32_t other = (uint32_t)random_below(n + 1);
        order[n] = order[other];
        order[other] = n;
    }
    for (uint32_t n = 0; n < LINES; n++)
        lines[order[n]].next = &lines[order[(n + 1) % LINES]];
}

static double chase_lines(void) {
    void **at = &lines[0].next;
    double begin = now_ns();
    for (unsigned n = 0; n < LINES; n += 4)
        at = *at, at = *at, at = *at, at = *at;
    __asm__ volatile("" : "+r"(at)); // the loads are needed
    return (now_ns() - begin) / LINES;
}

static void *read_in_two(void *unused) {
    pin(cpu_two);
    double found[ROUNDS];
    for (unsigned n = 0; n < ROUNDS; n++) {
        if (!await(2 * n + 1))
            return unused;
        found[n] = chase_lines();
        give(2 * n + 2);
    }
    sample("transfer", median(found, ROUNDS));
    return unused;
}

static void write_in_one(void) {
    for (unsigned n = 0; n < ROUNDS && await(2 * n); n++) {
        write_lines();
        give(2 * n + 1);
    }
}

static void *return_the_ball(void *unused) {
    pin(cpu_two);
    for (uint32_t n = 1; n < 2 * ROUNDS * EXCHANGES && await(n); n += 2)
        give(n + 1);
    return unused;
}

static void throw_the_ball(void) {
    double found[ROUNDS];
    for (uint32_t n = 0; n < ROUNDS; n++) {
        double begin = now_ns();
        for (uint32_t k = 0; k < EXCHANGES; k++) {
            uint32_t ball = 2 * (n * EXCHANGES + k);
            if (!await(ball))
                return;
            give(ball + 1);
        }
        found[n] = (now_ns() - begin) / (2 * EXCHANGES);
    }
    sample("handover", median(found, ROUNDS));
}

static void together(void (*in_one)(void), void *(*in_two)(void *)) {
    pthread_t two;
    pass_ends = now_ns() + LONGEST_NS;
    atomic_store(&turn, 0);
    errno = pthread_create(&two, NULL, in_two, NULL);
    if (errno != 0)
        fail("cannot start a second thread");
    in_one();
    pthread_join(two, NULL);
}

int pair(unsigned count, char **words) {
    if (count != 3)
        return 2;
    pin(number(words[0], 65535));
    cpu_two = number(words[1], 65535);
    for (unsigned passes = number(words[2], 1000); passes; passes--) {
        together(write_in_one, read_in_two);
        together(throw_the_ball, return_the_ball);
    }
    return 0;
}
