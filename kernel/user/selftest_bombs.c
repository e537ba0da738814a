// Programs that take all there is, or end in the middle of everything. The kernel says no where there is no
// more, ends what is to end, and has everything back afterwards.
#include "user/selftest.h"

#include <stddef.h>

enum { WORD_ASLEEP = 10, WORD_FOREVER }; // on the board

static void say_asleep(void) {
    __atomic_add_fetch(&board->word[WORD_ASLEEP], 1, __ATOMIC_ACQ_REL);
}

static int nothing(uint64_t argument) {
    return (int)argument;
}

static int sleep_for_ever(uint64_t argument) {
    (void)argument;
    say_asleep();
    wait_while(&board->word[WORD_FOREVER], 0);
    return 0;
}

// As many threads as a process may have, each asleep; then it ends under them.
static int spawn_threads_to_the_last(uint64_t argument) {
    (void)argument;
    unsigned count = 0;
    int64_t id;
    while ((id = start(RING_SPAWN_THREAD, sleep_for_ever, 0)) > 0)
        count++;
    return id == -RING_ENOMEM && count >= 16 ? 5 : 1;
}

static int thread_bomb(void) {
    for (unsigned i = 0; i < 2; i++)
        NEED(finish(RING_SPAWN_PROCESS, start(RING_SPAWN_PROCESS, spawn_threads_to_the_last, 0)) == 5);
    return 0;
}

// Each level starts two of the next and waits for neither.
static int double_up(uint64_t level) {
    if (level != 0)
        for (unsigned i = 0; i < 2; i++)
            start(RING_SPAWN_PROCESS, double_up, level - 1);
    return 0;
}

static int process_bomb(void) {
    NEED(finish(RING_SPAWN_PROCESS, start(RING_SPAWN_PROCESS, double_up, 8)) == 0);
    // There is room again, once they have ended.
    for (unsigned tries = 0; tries < 1000; tries++) {
        int64_t id = start(RING_SPAWN_PROCESS, nothing, 3);
        if (id > 0) {
            NEED(finish(RING_SPAWN_PROCESS, id) == 3);
            return 0;
        }
        NEED(id == -RING_ENOMEM);
        park_for(&board->word[0], 0, 10000);
    }
    return __LINE__;
}

// ---- ended while it waits, in each way there is

static int wait_for_a_call(uint64_t argument) {
    (void)argument;
    say_asleep();
    RING_DO(RING_REPLY, 0, 0, 1);
    return 1;
}
static int wait_for_a_reply(uint64_t process) {
    say_asleep();
    RING_DO(RING_CALL, process, 0, 0);
    return 1;
}
static int wait_for_a_child(uint64_t argument) {
    (void)argument;
    int64_t child = start(RING_SPAWN_PROCESS, nothing, 0);
    int64_t thread = start(RING_SPAWN_THREAD, sleep_for_ever, 0);
    join(RING_SPAWN_PROCESS, child);
    say_asleep();
    return (int)join(RING_SPAWN_THREAD, thread);
}
static int wait_for_a_time(uint64_t argument) {
    (void)argument;
    say_asleep();
    park_for(&board->word[WORD_FOREVER], 0, 3600000000); // an hour
    return 1;
}
static int run_for_ever(uint64_t end) {
    say_asleep();
    while (!end)
        __asm__ volatile("pause" ::: "memory");
    return 1;
}

static int die_among_waiters(uint64_t silent_server) {
    body *const bodies[] = {sleep_for_ever, wait_for_a_call, wait_for_a_child, wait_for_a_time, run_for_ever};
    board->word[WORD_ASLEEP] = 0;
    for (unsigned i = 0; i < sizeof bodies / sizeof *bodies; i++)
        NEED(start(RING_SPAWN_THREAD, bodies[i], 0) > 0);
    NEED(start(RING_SPAWN_THREAD, wait_for_a_reply, silent_server) > 0);
    while (__atomic_load_n(&board->word[WORD_ASLEEP], __ATOMIC_ACQUIRE) < 7)
        kernel_call(RING_CALL_YIELD, 0, 0, 0);
    __asm__ volatile("ud2");
    return 1;
}

static int ended_while_waiting(void) {
    int64_t server = start(RING_SPAWN_PROCESS, sleep_for_ever, 0); // never takes a call
    NEED(server > 0);
    for (unsigned i = 0; i < 3; i++) {
        int64_t id = start(RING_SPAWN_PROCESS, die_among_waiters, (uint64_t)server);
        NEED(finish(RING_SPAWN_PROCESS, id) == RING_STATUS_KILLED + 6);
    }
    __atomic_store_n(&board->word[WORD_FOREVER], 1, __ATOMIC_RELEASE);
    wake(&board->word[WORD_FOREVER], UINT32_MAX);
    NEED(finish(RING_SPAWN_PROCESS, server) == 0);
    return 0;
}

// More than there is, again and again: nothing is lost by that, not even addresses.
static int map_too_much(void) {
    int64_t first = RING_DO(RING_MAP, 4096, 0);
    for (unsigned i = 0; i < 3; i++)
        NEED(RING_DO(RING_MAP, 0xbffff000, 0) == -RING_ENOMEM);
    int64_t next = RING_DO(RING_MAP, 4096, 0);
    NEED(first > 0 && next == first + 2 * 4096);
    NEED(RING_DO(RING_UNMAP, (uint64_t)first, 4096) == 0);
    NEED(RING_DO(RING_UNMAP, (uint64_t)next, 4096) == 0);
    return 0;
}

static int sleep_without_end(uint64_t argument) {
    (void)argument;
    say_asleep();
    return park_for(&board->word[WORD_FOREVER], 0, UINT64_MAX / 1000);
}

// A timeout that no clock can hold is a long time, not none.
static int longest_timeout(void) {
    int64_t id = start(RING_SPAWN_THREAD, sleep_without_end, 0);
    while (__atomic_load_n(&board->word[WORD_ASLEEP], __ATOMIC_ACQUIRE) == 0)
        kernel_call(RING_CALL_YIELD, 0, 0, 0);
    park_for(&board->word[0], 0, 2000);
    __atomic_store_n(&board->word[WORD_FOREVER], 1, __ATOMIC_RELEASE);
    uint64_t woken = 0;
    for (unsigned i = 0; i < 1000 && woken == 0; i++)
        woken = (uint64_t)RING_DO(RING_UNPARK, (uint64_t)&board->word[WORD_FOREVER], 1);
    NEED(woken == 1);
    NEED(finish(RING_SPAWN_THREAD, id) == 0);
    return 0;
}

const struct check bomb_checks[] = {
    {"bomb-threads", thread_bomb}, {"bomb-processes", process_bomb},  {"bomb-waiters", ended_while_waiting},
    {"bomb-memory", map_too_much}, {"bomb-timeout", longest_timeout}, {NULL, NULL},
};
