// The services of guest/services.h on tern, for workloads and self-tests; README.md lists them.
//
// Takes and gives what that header says. A channel that port_channel() did not make, or memory that is not
// mapped, gets the program killed, like any other wrong pointer.
#include "services.h"

#include "arch/layout.h"
#include "user/runtime.h"

// ---- clock

uint64_t port_now(void) {
    uint32_t lo, hi;
    __asm__ volatile("lfence; rdtsc" : "=a"(lo), "=d"(hi)::"memory");
    return (uint64_t)hi << 32 | lo;
}

const char *port_unit(void) {
    return "cycles";
}

uint64_t port_hz(void) {
    return info()->cycles_per_us * 1000000;
}

int port_cpu(void) {
    uint64_t cpu;
    __asm__ volatile("lsl %1, %0" : "=r"(cpu) : "r"((uint64_t)CPU_SELECTOR) : "cc");
    return (int)cpu;
}

// ---- park and sleep

int port_wait(uint32_t *word, uint32_t seen, uint64_t timeout_ns) {
    uint64_t deadline = timeout_ns == 0 ? 0 : port_now() + bench_ticks(timeout_ns);
    // acquire: pairs with the store of whoever changes the word
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != seen)
        return 0;
    return RING_DO(RING_PARK, (uint64_t)word, seen, deadline) == -RING_ETIMEDOUT ? -PORT_TIMEOUT : 0;
}

int port_wake(uint32_t *word, unsigned most) {
    return (int)RING_DO(RING_UNPARK, (uint64_t)word, most);
}

void port_sleep_until(uint64_t when) {
    RING_DO(RING_SLEEP, when);
}

// ---- memory

static void *map(size_t bytes, int shared) {
    int64_t where = RING_DO(RING_MAP, bytes, (uint64_t)shared);
    return where < 0 ? NULL : (void *)where;
}

void *port_private(size_t bytes) {
    return map(bytes, 0);
}
#ifndef BENCH_NO_MARKS // else in part.c
void *port_shared(size_t bytes) {
    return map(bytes, 1);
}
#endif

int port_unmap(void *at, size_t bytes) {
    size_t whole = (bytes + PAGE_SIZE - 1) & ~(size_t)(PAGE_SIZE - 1);
    return (int)RING_DO(RING_UNMAP, (uint64_t)at, whole);
}

// ---- threads and processes; program() in port.c calls the bodies

int port_task(void (*body)(void *argument), void *argument) {
    return (int)spawn(RING_SPAWN_THREAD, (uint64_t)body, (uint64_t)argument);
}

int port_task_join(int task) {
    return (int)join(RING_SPAWN_THREAD, task);
}

void port_yield(void) {
    bench_relax();
    kernel_call(RING_CALL_YIELD, 0, 0, 0);
}

int port_child(void (*body)(uint64_t argument), uint64_t argument) {
    return (int)spawn(RING_SPAWN_PROCESS, (uint64_t)body, argument);
}

uint64_t port_process(void) {
    return (uint64_t)kernel_call(RING_CALL_PROCESS, 0, 0, 0);
}

int port_child_wait(int child) {
    return (int)join(RING_SPAWN_PROCESS, child);
}
