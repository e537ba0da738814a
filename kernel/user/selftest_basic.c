// The smokes: spawn, ring round trip, park, exit, call, nested timers. Quick, at any CPU count.
#include "user/selftest.h"

#include <stddef.h>

#define MANY 64

static int give_back(uint64_t status) {
    return (int)status;
}

static int spawn_kind(enum ring_spawn kind) {
    int64_t ids[MANY];
    unsigned count = 2 * info()->online < MANY ? 2 * info()->online : MANY;
    for (unsigned i = 0; i < count; i++)
        NEED((ids[i] = start(kind, give_back, i + 1)) > 0);
    for (unsigned i = 0; i < count; i++)
        NEED(finish(kind, ids[i]) == (int64_t)i + 1);
    NEED(finish(kind, ids[0]) == -RING_ESRCH); // a status is returned only once
    return 0;
}

static int spawn_processes(void) {
    return spawn_kind(RING_SPAWN_PROCESS);
}
static int spawn_threads(void) {
    return spawn_kind(RING_SPAWN_THREAD);
}

static void submit(enum ring_operation operation, uint64_t tag, uint64_t first, uint64_t second) {
    struct ring *ring = my_ring();
    struct ring_submission *s = &ring->sq[ring->sq_tail % RING_SIZE];
    *s = (struct ring_submission){.operation = operation, .tag = tag, .argument = {first, second}};
    __atomic_store_n(&ring->sq_tail, ring->sq_tail + 1, __ATOMIC_RELEASE);
}

static int64_t take(uint64_t *tag) {
    struct ring *ring = my_ring();
    const struct ring_completion *c = &ring->cq[ring->cq_head % RING_SIZE];
    *tag = c->tag;
    int64_t result = c->result;
    __atomic_store_n(&ring->cq_head, ring->cq_head + 1, __ATOMIC_RELEASE);
    return result;
}

static int ring_round_trip(void) {
    uint64_t tag;
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < RING_SIZE; i++)
            submit(i % 2 ? RING_OPERATIONS + i : RING_NOP, 1000 + i, 0, 0);
        NEED(kernel_call(RING_CALL_ENTER, RING_SIZE, 0, 0) == RING_SIZE);
        for (unsigned i = 0; i < RING_SIZE; i++) {
            NEED(take(&tag) == (i % 2 ? -RING_EINVAL : 0));
            NEED(tag == 1000 + i);
        }
    }
    return 0;
}

// A host that stops the vCPU lets the time pass before the kernel sees it. Then a longer one is tried.
static int sleep_stays_in_ring(void) {
    uint64_t tag, until;
    int64_t done = 1;
    for (uint64_t us = 300; done == 1 && us < 1000000; us *= 2) {
        until = info()->cycles_per_us * (clock_us() + us);
        submit(RING_SLEEP, 4, until, 0);
        done = kernel_call(RING_CALL_ENTER, 0, 0, 0);
        NEED(done == 0 || done == 1);
        NEED(kernel_call(RING_CALL_ENTER, 1, 0, 0) == 1 - done);
        NEED(take(&tag) == 0 && tag == 4 && clock_us() >= until / info()->cycles_per_us);
    }
    NEED(done == 0);
    return 0;
}

// An operation that would block stays at the head, and those behind it wait too.
static int ring_does_not_block(void) {
    uint64_t tag;
    submit(RING_NOP, 1, 0, 0);
    submit(RING_PARK, 2, (uint64_t)&board->word[0], 0);
    submit(RING_NOP, 3, 0, 0);
    NEED(kernel_call(RING_CALL_ENTER, 1, 0, 0) == 1);
    NEED(kernel_call(RING_CALL_ENTER, 0, 0, 0) == 0);
    board->word[0] = 1;
    NEED(kernel_call(RING_CALL_ENTER, 0, 0, 0) == 2);
    NEED(take(&tag) == 0 && tag == 1);
    NEED(take(&tag) == -RING_EAGAIN && tag == 2);
    NEED(take(&tag) == 0 && tag == 3);
    NEED(sleep_stays_in_ring() == 0);
    submit(RING_SLEEP, 5, UINT64_MAX, 0);
    NEED(kernel_call(RING_CALL_ENTER, 1, 100000, 0) == 1);
    NEED(take(&tag) == -RING_ETIMEDOUT && tag == 5);
    return 0;
}

int park_for(uint32_t *word, uint32_t value, uint64_t us) {
    uint64_t tag;
    submit(RING_PARK, 9, (uint64_t)word, value);
    if (kernel_call(RING_CALL_ENTER, 1, us * 1000, 0) != 1)
        return 1;
    return (int)take(&tag);
}

static int pong(uint64_t pair) {
    uint32_t *ball = &board->word[2 * pair];
    for (uint32_t i = 0; i < 100; i++) {
        wait_while(ball, 2 * i);
        __atomic_store_n(ball, 2 * i + 2, __ATOMIC_RELEASE);
        wake(ball, 1);
    }
    return 0;
}

static int ping(uint64_t pair) {
    uint32_t *ball = &board->word[2 * pair];
    int64_t other = start(pair % 2 ? RING_SPAWN_THREAD : RING_SPAWN_PROCESS, pong, pair);
    for (uint32_t i = 0; i < 100; i++) {
        __atomic_store_n(ball, 2 * i + 1, __ATOMIC_RELEASE);
        wake(ball, 1);
        wait_while(ball, 2 * i + 1);
    }
    NEED(finish(pair % 2 ? RING_SPAWN_THREAD : RING_SPAWN_PROCESS, other) == 0);
    return 0;
}

static int park_ping_pong(void) {
    int64_t ids[32];
    unsigned pairs = info()->online < 32 ? info()->online : 32;
    for (unsigned i = 0; i < pairs; i++)
        NEED((ids[i] = start(RING_SPAWN_PROCESS, ping, i)) > 0);
    for (unsigned i = 0; i < pairs; i++)
        NEED(finish(RING_SPAWN_PROCESS, ids[i]) == 0);
    return 0;
}

static int serve(uint64_t count) {
    uint64_t words[2], answer = 0;
    int64_t caller = 0;
    for (uint64_t i = 0; i <= count; i++) {
        caller = ring_do(RING_REPLY, (const uint64_t[5]){(uint64_t)caller, answer, i < count}, words);
        NEED(caller > 0 || i == count);
        answer = words[0] * 10 + words[1];
    }
    return 0;
}

static int call_and_reply(void) {
    uint64_t words[2];
    int64_t server = start(RING_SPAWN_PROCESS, serve, 3);
    for (uint64_t i = 1; i <= 3; i++) {
        NEED(ring_do(RING_CALL, (const uint64_t[5]){(uint64_t)server, i, i + 1}, words) == 0);
        NEED(words[0] == i * 10 + i + 1);
    }
    NEED(finish(RING_SPAWN_PROCESS, server) == 0);
    NEED(ring_do(RING_CALL, (const uint64_t[5]){(uint64_t)server, 1, 1}, words) == -RING_ESRCH);
    return 0;
}

static int loop(uint64_t end) {
    while (!end)
        __asm__ volatile("pause" ::: "memory");
    return 0;
}

static int sleeper(uint64_t word) {
    wait_while(&board->word[word], 0);
    return 0;
}

// Exits while threads run and sleep, with a child and mapped memory. All of it must be cleaned up.
static int leave_a_mess(uint64_t argument) {
    NEED(start(RING_SPAWN_THREAD, loop, 0) > 0);
    NEED(start(RING_SPAWN_THREAD, sleeper, 63) > 0);
    NEED(start(RING_SPAWN_PROCESS, give_back, 1) > 0);
    NEED(RING_DO(RING_MAP, 64 * 4096, 0) > 0);
    return (int)argument;
}

static int exit_cleans_up(void) {
    for (unsigned i = 0; i < 4; i++)
        NEED(finish(RING_SPAWN_PROCESS, start(RING_SPAWN_PROCESS, leave_a_mess, 7)) == 7);
    return 0;
}

// Runs until its time has been seen: on a busy host its parent may need longer to end than any fixed time.
static int outlive(uint64_t us) {
    uint64_t begin = clock_us();
    while (__atomic_load_n(&board->word[1], __ATOMIC_ACQUIRE) == 0 && clock_us() - begin < us)
        kernel_call(RING_CALL_YIELD, 0, 0, 0); // charges its time
    __atomic_store_n(&board->word[2], 1, __ATOMIC_RELEASE);
    return 0;
}

static int leave_an_orphan(uint64_t us) {
    return start(RING_SPAWN_PROCESS, outlive, us) > 0 ? 0 : 1;
}

static int64_t foreign(void) {
    return kernel_call(RING_CALL_READ, RING_READ_FOREIGN, 0, 0);
}

// A process whose parent has ended belongs to no workload: its time is counted separately. Orphans of an
// earlier check may still be ending, so children with a parent are run until one adds no foreign time.
static int orphans_are_foreign(void) {
    int64_t before = 0, after = -1;
    for (unsigned i = 0; i < 100 && after != before; i++) {
        before = foreign();
        NEED(finish(RING_SPAWN_PROCESS, start(RING_SPAWN_PROCESS, give_back, 0)) == 0);
        after = foreign();
    }
    NEED(after == before);
    NEED(finish(RING_SPAWN_PROCESS, start(RING_SPAWN_PROCESS, leave_an_orphan, 2000000)) == 0);
    int64_t seen = before;
    for (unsigned i = 0; i < 1000 && seen == before; i++) {
        park_for(&board->word[0], 0, 500);
        seen = foreign();
    }
    __atomic_store_n(&board->word[1], 1, __ATOMIC_RELEASE);
    // The next check uses the board: the orphan must no longer read it.
    for (unsigned i = 0; i < 4000 && __atomic_load_n(&board->word[2], __ATOMIC_ACQUIRE) == 0; i++)
        park_for(&board->word[0], 0, 500);
    NEED(board->word[2] == 1 && seen > before);
    return 0;
}

static int nap(uint64_t us) {
    uint64_t begin = clock_us();
    NEED(park_for(&board->word[0], 0, us) == -RING_ETIMEDOUT);
    NEED(clock_us() - begin >= us);
    return 0;
}

// Later deadlines are set first, so each new one must move the timer forward, and back afterwards.
static int nested_timers(void) {
    int64_t ids[8];
    for (unsigned i = 0; i < 8; i++)
        NEED((ids[i] = start(RING_SPAWN_THREAD, nap, 4000 - 450 * i)) > 0);
    NEED(nap(200) == 0);
    for (unsigned i = 0; i < 8; i++)
        NEED(finish(RING_SPAWN_THREAD, ids[i]) == 0);
    return 0;
}

const struct check basic_checks[] = {
    {"spawn-process", spawn_processes}, {"spawn-thread", spawn_threads},
    {"ring", ring_round_trip},          {"ring-wait", ring_does_not_block},
    {"park", park_ping_pong},           {"call", call_and_reply},
    {"exit", exit_cleans_up},           {"orphans", orphans_are_foreign},
    {"timers", nested_timers},          {NULL, NULL},
};
