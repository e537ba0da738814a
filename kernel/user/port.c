// The port of guest/bench.h to tern: workers, gate, window and lines; services.c and channel.c have the rest.
// Workers are processes or threads of the same image. A part of a mix has its own program(), window and lines
// (part.c).
#include "bench.h"

#include "arch/layout.h"
#include "user/report.h"
#include "user/runtime.h"

static int64_t ids[BENCH_MAX_WORKERS];

#ifndef BENCH_NO_MARKS
int program(uint64_t first, uint64_t second) {
    if (first == 0)
        return bench_main(info()->command_line);
    if (first < USER_IMAGE_END) { // not a job, which would be in shared memory: the body of a task or a child
        ((void (*)(uint64_t))first)(second); // a task's pointer is passed like a number
        return 0;
    }
    struct bench_job *job = (struct bench_job *)first;
    bench_worker(job, (unsigned)second);
    // acquire: pairs with the harness's addition to `finished`
    if (info()->measure && __atomic_load_n(&job->finished, __ATOMIC_ACQUIRE) == job->workers)
        kernel_call(RING_CALL_WINDOW, RING_WINDOW_WORKED, 0, 0);
    if (info()->wrong_checksum == (uint32_t)port_cpu() + 1) // fault=wrong-checksum:CPU
        job->slot[second].value[0] ^= 1;
    return 0;
}
#endif

uint64_t port_thread_time(void) {
    return (uint64_t)kernel_call(RING_CALL_READ, RING_READ_MY_CYCLES, 0, 0);
}

const char *port_system(void) {
    return "tern";
}
unsigned port_online(void) {
    return info()->online;
}

static enum ring_spawn kind_of(enum bench_mode mode) {
    return mode == BENCH_PROCESS ? RING_SPAWN_PROCESS : RING_SPAWN_THREAD;
}

int port_spawn(enum bench_mode mode, struct bench_job *job, unsigned worker) {
    ids[worker] = spawn(kind_of(mode), (uint64_t)job, worker);
    return ids[worker] < 0 ? (int)ids[worker] : 0;
}

int port_join(enum bench_mode mode, unsigned worker) {
    return (int)join(kind_of(mode), ids[worker]);
}

void port_gate_wait(uint32_t *word, uint32_t value) {
    uint32_t is;
    while ((is = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != value)
        wait_while(word, is);
}

void port_gate_open(uint32_t *word, uint32_t value) {
    if (info()->measure)
        kernel_call(RING_CALL_WINDOW, RING_WINDOW_WORK, 0, 0);
    // release: pairs with the acquire in port_gate_wait
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    wake(word, UINT32_MAX);
}

#ifndef BENCH_NO_MARKS
static uint64_t foreign[2];

void port_window_open(void) {
    foreign[0] = (uint64_t)kernel_call(RING_CALL_READ, RING_READ_FOREIGN, 0, 0);
    kernel_call(RING_CALL_WINDOW, RING_WINDOW_OPEN, 0, 0);
}

void port_window_close(void) {
    kernel_call(RING_CALL_WINDOW, RING_WINDOW_CLOSE, 0, 0);
    foreign[1] = (uint64_t)kernel_call(RING_CALL_READ, RING_READ_FOREIGN, 0, 0);
}

int port_foreign(uint64_t *value) {
    *value = foreign[1] - foreign[0];
    return 0;
}

void port_line(const char *line, size_t length) {
    write_text(line, length);
}

void port_fail(const char *why) {
    char line[256];
    size_t used = 0;
    for (const char *c = "benchfail: "; *c; c++)
        line[used++] = *c;
    for (; *why && used < sizeof line - 1; why++)
        line[used++] = *why;
    line[used++] = '\n';
    write_text(line, used);
    kernel_call(RING_CALL_EXIT, 1, 1, 0); // ends the whole run
    __builtin_unreachable();
}

void port_report(void) {
    if (info()->measure)
        report_books();
}
#endif
