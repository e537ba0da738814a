// The services of guest/services.h, as a workload gets them. Part of the quick checks.
#include <stddef.h>

#include "services.h"
#include "user/in_time.h"
#include "user/selftest.h"

#define PAGE 4096

static enum wait_end best_of(int (*wait)(uint64_t when), uint64_t ns, uint64_t limit_ns, unsigned tries) {
    for (unsigned i = 0; i < tries; i++) {
        uint64_t when = port_now() + bench_ticks(ns);
        int result = wait(when);
        uint64_t t = port_now();
        if (result != 0 || t < when)
            return WAIT_WRONG;
        if (t - when <= bench_ticks(limit_ns))
            return WAIT_IN_TIME;
    }
    return WAIT_LATE;
}

static int park_until(uint64_t when) {
    return (int)RING_DO(RING_PARK, (uint64_t)&board->word[0], 0, when) != -RING_ETIMEDOUT;
}

static int sleep_till(uint64_t when) {
    port_sleep_until(when);
    return 0;
}

static enum wait_end best_park(uint64_t ns, uint64_t limit_ns, unsigned tries) {
    return best_of(park_until, ns, limit_ns, tries);
}
static enum wait_end best_sleep(uint64_t ns, uint64_t limit_ns, unsigned tries) {
    return best_of(sleep_till, ns, limit_ns, tries);
}

// On the instruction clock a test sets a tighter limit with late=NS, which does not grow.
static bool ends_in_time(best_wait *best, uint64_t ns) {
    uint64_t limit_ns = option_number("late", 0);
    return in_time(best, ns, limit_ns ? limit_ns : 500000, limit_ns == 0);
}

// The word does not change, so it cannot keep the sleeper awake; and the waker goes on until somebody sleeps
// there. Each waits for what the other one does, and neither for a time.
static int wake_one(uint64_t argument) {
    while (port_wake(&board->word[0], 1) == 0) {
        __atomic_add_fetch(&board->number[0], 1, __ATOMIC_RELEASE);
        port_yield();
    }
    return (int)argument;
}

// Goes to sleep once the waker has come that often in vain, as it does on a busy host.
static int woken_in_time(uint64_t in_vain) {
    board->number[0] = 0;
    int64_t waker = start(RING_SPAWN_THREAD, wake_one, 0);
    NEED(waker > 0);
    while (__atomic_load_n(&board->number[0], __ATOMIC_ACQUIRE) < in_vain)
        port_yield();
    NEED(port_wait(&board->word[0], 0, 60000000000) == 0); // only a lost wake-up lasts that long
    NEED(finish(RING_SPAWN_THREAD, waker) == 0);
    return 0;
}

static int park_with_deadline(void) {
    NEED(ends_in_time(best_park, 300000));
    NEED(ends_in_time(best_park, 2000));
    uint64_t begin = port_now();
    NEED(port_wait(&board->word[0], 0, 300000) == -PORT_TIMEOUT);
    NEED(port_now() - begin >= bench_ticks(300000));
    NEED(port_wait(&board->word[0], 1, 0) == 0);
    NEED(RING_DO(RING_PARK, (uint64_t)&board->word[0], 0, 1) == -RING_ETIMEDOUT); // long past
    // Of two deadlines the first counts, here the operation's and the entry's.
    begin = port_now();
    NEED(park_for(&board->word[0], 0, 200) == -RING_ETIMEDOUT);
    NEED(port_now() - begin >= bench_ticks(200000));
    NEED(woken_in_time(0) == 0);
    NEED(woken_in_time(1) == 0);
    return 0;
}

static int note_time(uint64_t which) {
    port_sleep_until(board->number[0] + bench_ticks(200000 * (4 - which)));
    board->number[1 + which] = port_now();
    return 0;
}

// Alone, with a time that has passed, and several at once whose times come in the opposite order.
static int sleep_until_a_time(void) {
    int64_t ids[4];
    NEED(ends_in_time(best_sleep, 300000));
    NEED(ends_in_time(best_sleep, 2000));
    NEED(ends_in_time(best_sleep, 10000000)); // an error of the timer's rate shows here
    port_sleep_until(0);
    port_sleep_until(port_now());
    board->number[0] = port_now();
    for (unsigned i = 0; i < 4; i++)
        NEED((ids[i] = start(i % 2 ? RING_SPAWN_THREAD : RING_SPAWN_PROCESS, note_time, i)) > 0);
    for (unsigned i = 0; i < 4; i++)
        NEED(finish(i % 2 ? RING_SPAWN_THREAD : RING_SPAWN_PROCESS, ids[i]) == 0);
    for (uint64_t i = 0; i < 4; i++)
        NEED(board->number[1 + i] >= board->number[0] + bench_ticks(200000 * (4 - i)));
    return 0;
}

// The number that a program reads itself is the kernel's, on each CPU and however often the thread moves.
static int compare_cpus(uint64_t argument) {
    for (unsigned i = 0; i < 100; i++) {
        int64_t before = kernel_call(RING_CALL_CPU, 0, 0, 0);
        int cpu = port_cpu();
        int64_t after = kernel_call(RING_CALL_CPU, 0, 0, 0);
        NEED(cpu == before || before != after);
        port_yield();
    }
    return (int)argument;
}

static int cpu_number(void) {
    int64_t ids[64];
    for (unsigned i = 0; i < info()->online; i++)
        NEED((ids[i] = start((enum ring_spawn)(i % 2), compare_cpus, 0)) > 0);
    NEED(compare_cpus(0) == 0);
    for (unsigned i = 0; i < info()->online; i++)
        NEED(finish((enum ring_spawn)(i % 2), ids[i]) == 0);
    return 0;
}

// ---- children

static uint64_t own = 5;

static int add(uint64_t argument) {
    own += argument;
    board->number[0] = own;
    return (int)argument;
}

static int child_of(body *what, uint64_t argument) {
    return port_child((void (*)(uint64_t))(uintptr_t)what, argument);
}

static int children(void) {
    int first = child_of(add, 9);
    NEED(first > 0 && port_child_wait(first) == 9);
    NEED(board->number[0] == 14 && own == 5); // it has its own data
    NEED(port_child_wait(first) == -RING_ESRCH);
    return 0;
}

static int touch_unmapped(uint64_t offset) {
    char *page = port_private(PAGE + 1);
    if (page == NULL || page[PAGE] != 0)
        return 1;
    page[PAGE] = 1;
    if (port_unmap(page, PAGE + 1) != 0)
        return 1;
    *(volatile char *)(page + offset) = 1;
    return 2;
}

static int unmap(void) {
    char *page = port_private(3 * PAGE);
    NEED(page != NULL && port_unmap(page, PAGE) == 0);
    page[PAGE] = page[3 * PAGE - 1] = 1; // the others are still there
    NEED(port_unmap(page + PAGE, 2 * PAGE) == 0);
    NEED(port_unmap(page + 1, PAGE) == -RING_EINVAL);
    NEED(port_child_wait(child_of(touch_unmapped, 0)) == RING_STATUS_KILLED + 14);
    NEED(port_child_wait(child_of(touch_unmapped, PAGE)) == RING_STATUS_KILLED + 14);
    return 0;
}

// ---- channel

#define SENDERS 4
#define MESSAGES 12
#define LONGEST 9000

struct message {
    uint32_t sender, number, length;
    uint8_t bytes[LONGEST];
};

static uint8_t byte_of(const struct message *message, uint32_t i) {
    return (uint8_t)(message->sender * 67 + message->number * 31 + i * 7);
}

static int send_messages(uint64_t argument) {
    struct message message = {.sender = argument % SENDERS};
    for (; message.number < MESSAGES; message.number++) {
        message.length = (message.number * 2477 + message.sender * 811) % LONGEST;
        for (uint32_t i = 0; i < message.length; i++)
            message.bytes[i] = byte_of(&message, i);
        NEED(port_send((int)(argument / SENDERS), &message, 12 + message.length) == 0);
    }
    return 0;
}

static int receive_all(int channel) {
    uint32_t next[SENDERS] = {0};
    struct message message;
    for (unsigned n = 0; n < SENDERS * MESSAGES; n++) {
        NEED(port_receive(channel, &message, 12) == 0);
        NEED(message.sender < SENDERS && message.number == next[message.sender]++);
        NEED(message.length == (message.number * 2477 + message.sender * 811) % LONGEST);
        NEED(port_receive(channel, message.bytes, message.length) == 0);
        for (uint32_t i = 0; i < message.length; i++)
            NEED(message.bytes[i] == byte_of(&message, i));
    }
    return 0;
}

// More bytes than the channel holds, from threads and processes; the receiver comes late. All arrive, those
// of each sender in its order, and no message in the middle of another.
static int channel_of_many(void) {
    int64_t ids[SENDERS];
    int channel = port_channel();
    NEED(channel >= 0);
    for (unsigned i = 0; i < SENDERS; i++)
        NEED((ids[i] = start((enum ring_spawn)(i % 2), send_messages, (uint64_t)channel * SENDERS + i)) > 0);
    port_sleep_until(port_now() + bench_ticks(1000000));
    NEED(receive_all(channel) == 0);
    for (unsigned i = 0; i < SENDERS; i++)
        NEED(finish((enum ring_spawn)(i % 2), ids[i]) == 0);
    NEED(port_send(-1, "", 1) < 0 && port_receive(-1, &ids, 1) < 0);
    return 0;
}

// Takes numbers until it gets a 0.
static int add_up(uint64_t argument) {
    uint64_t number = 1;
    while (number != 0) {
        NEED(port_receive((int)(argument / SENDERS), &number, sizeof number) == 0);
        board->number[argument % SENDERS] += number;
    }
    return 0;
}

// Several receivers wait in an empty channel; each number goes to one of them.
static int channel_to_many(void) {
    int64_t ids[SENDERS];
    int channel = port_channel();
    NEED(channel >= 0);
    for (unsigned i = 0; i < SENDERS; i++)
        NEED((ids[i] = start((enum ring_spawn)(i % 2), add_up, (uint64_t)channel * SENDERS + i)) > 0);
    for (uint64_t i = 1; i <= 200 + SENDERS; i++) {
        uint64_t number = i <= 200 ? i : 0;
        NEED(port_send(channel, &number, sizeof number) == 0);
        if (i % 16 == 0)
            port_yield();
    }
    uint64_t sum = 0;
    for (unsigned i = 0; i < SENDERS; i++) {
        NEED(finish((enum ring_spawn)(i % 2), ids[i]) == 0);
        sum += board->number[i];
    }
    NEED(sum == 200 * 201 / 2);
    return 0;
}

const struct check service_checks[] = {
    {"park-deadline", park_with_deadline},
    {"sleep", sleep_until_a_time},
    {"cpu", cpu_number},
    {"child", children},
    {"unmap", unmap},
    {"channel", channel_of_many},
    {"channel-out", channel_to_many},
    {NULL, NULL},
};
