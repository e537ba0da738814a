// Programs that exhaust a resource, or end in the middle of operations. The kernel must refuse what it cannot
// give, end what must end, and have all resources back afterwards.
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

// Starts as many threads as a process may have, which all sleep; then the process ends.
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

// Each level starts two processes of the next and waits for neither.
static int double_up(uint64_t level) {
    if (level != 0)
        for (unsigned i = 0; i < 2; i++)
            start(RING_SPAWN_PROCESS, double_up, level - 1);
    return 0;
}

static int process_bomb(void) {
    NEED(finish(RING_SPAWN_PROCESS, start(RING_SPAWN_PROCESS, double_up, 8)) == 0);
    // Once they have ended, there is room again.
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

// ---- threads that are ended in every kind of wait

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
static int sleep_for_a_time(uint64_t argument) {
    (void)argument;
    say_asleep();
    RING_DO(RING_SLEEP, UINT64_MAX);
    return 1;
}
static int run_for_ever(uint64_t end) {
    say_asleep();
    while (!end)
        __asm__ volatile("pause" ::: "memory");
    return 1;
}

static int die_among_waiters(uint64_t silent_server) {
    body *const bodies[] = {sleep_for_ever,  wait_for_a_call,  wait_for_a_child,
                            wait_for_a_time, sleep_for_a_time, run_for_ever};
    board->word[WORD_ASLEEP] = 0;
    for (unsigned i = 0; i < sizeof bodies / sizeof *bodies; i++)
        NEED(start(RING_SPAWN_THREAD, bodies[i], 0) > 0);
    NEED(start(RING_SPAWN_THREAD, wait_for_a_reply, silent_server) > 0);
    while (__atomic_load_n(&board->word[WORD_ASLEEP], __ATOMIC_ACQUIRE) < 8)
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

// Repeated requests for more memory than there is: nothing is lost by them, not even addresses.
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

// ---- memory that is unmapped or exhausted

static int sleep_at(uint64_t word) {
    say_asleep();
    RING_DO(RING_PARK, word, 0);
    return 0;
}

// Unmaps a page while a thread sleeps on a word in it. Pages that are mapped later must not find that
// sleeper: an unpark there wakes no thread.
static int unmap_under_a_sleeper(uint64_t argument) {
    int64_t page = RING_DO(RING_MAP, 4096, 0);
    NEED(page > 0 && start(RING_SPAWN_THREAD, sleep_at, (uint64_t)page) > 0);
    while (__atomic_load_n(&board->word[WORD_ASLEEP], __ATOMIC_ACQUIRE) == 0)
        kernel_call(RING_CALL_YIELD, 0, 0, 0);
    park_for(&board->word[0], 0, 2000); // time for it to fall asleep
    NEED(RING_DO(RING_UNMAP, (uint64_t)page, 4096) == 0);
    for (unsigned i = 0; i < 8; i++) {
        NEED((page = RING_DO(RING_MAP, 4096, 0)) > 0);
        NEED(RING_DO(RING_UNPARK, (uint64_t)page, 1) == 0);
    }
    return (int)argument;
}

static int sleeper_without_memory(void) {
    NEED(finish(RING_SPAWN_PROCESS, start(RING_SPAWN_PROCESS, unmap_under_a_sleeper, 5)) == 5);
    return 0;
}

enum { STEPS = 16, MOST_PAGES = 32768 };

// Takes all memory, and gives a page back for each call.
static int take_all(uint64_t argument) {
    uint64_t words[2];
    int64_t caller = 0, first = RING_DO(RING_MAP, STEPS * 4096, 0);
    for (uint64_t bytes = 0x100000; bytes >= 4096; bytes /= 2)
        while (RING_DO(RING_MAP, bytes, 0) > 0)
            ;
    for (uint64_t i = 0; i < STEPS; i++) {
        caller = ring_do(RING_REPLY, (const uint64_t[5]){(uint64_t)caller, 0, 1}, words);
        NEED(caller > 0 && RING_DO(RING_UNMAP, (uint64_t)first + i * 4096, 4096) == 0);
    }
    RING_DO(RING_REPLY, (uint64_t)caller, 0, 0);
    return (int)argument;
}

static int start_a_thread(uint64_t argument) {
    return (int)finish(RING_SPAWN_THREAD, start(RING_SPAWN_THREAD, nothing, argument));
}

static int64_t free_pages(void) {
    return kernel_call(RING_CALL_READ, RING_READ_FREE_PAGES, 0, 0);
}

// Starts a process with one free page, then two, three ...: wherever it fails, it returns what it took. Not
// done with much memory, because taking all of it would cost the host.
static int start_without_memory(void) {
    if (free_pages() > MOST_PAGES)
        return 0;
    NEED(thread_bomb() == 0); // kernel stacks are never freed
    int64_t hog = start(RING_SPAWN_PROCESS, take_all, 6);
    for (unsigned i = 0; i < STEPS; i++) {
        NEED(RING_DO(RING_CALL, (uint64_t)hog, 0, 0) == 0);
        int64_t before = free_pages();
        finish(RING_SPAWN_PROCESS, start(RING_SPAWN_PROCESS, start_a_thread, 5));
        for (unsigned tries = 0; tries < 1000 && free_pages() < before; tries++)
            park_for(&board->word[0], 0, 500); // it cleans up after its parent was woken
        NEED(free_pages() >= before);
    }
    NEED(finish(RING_SPAWN_PROCESS, hog) == 6);
    return 0;
}

// A timeout beyond the range of the clock is treated as a long one, not as no timeout.
static int longest_timeout(void) {
    int64_t id = start(RING_SPAWN_THREAD, sleep_without_end, 0);
    while (__atomic_load_n(&board->word[WORD_ASLEEP], __ATOMIC_ACQUIRE) == 0)
        kernel_call(RING_CALL_YIELD, 0, 0, 0);
    uint64_t woken = 0; // the thread may not have parked yet; changing its word would prevent that
    for (unsigned i = 0; i < 1000 && woken == 0; i++) {
        park_for(&board->word[0], 0, 500);
        woken = (uint64_t)RING_DO(RING_UNPARK, (uint64_t)&board->word[WORD_FOREVER], 1);
    }
    NEED(woken == 1);
    NEED(finish(RING_SPAWN_THREAD, id) == 0);
    return 0;
}

const struct check bomb_checks[] = {
    {"bomb-threads", thread_bomb},
    {"bomb-processes", process_bomb},
    {"bomb-waiters", ended_while_waiting},
    {"bomb-memory", map_too_much},
    {"bomb-unmapped", sleeper_without_memory},
    {"bomb-starved", start_without_memory},
    {"bomb-timeout", longest_timeout},
    {NULL, NULL},
};
