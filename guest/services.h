// What a workload may use inside work() besides its own memory: services of the system, and small tools made
// of them.
//
// A workload lists in its YAML (`needs:`) the services that it uses; a system lists those that it has
// (`services:`). A cell whose system lacks one is skipped and names it, so no function here ever reports "not
// supported". Each function says in its heading which service it belongs to.
#ifndef BENCH_SERVICES_H
#define BENCH_SERVICES_H

#include "bench.h"

#define PORT_TIMEOUT 1 // returned negative

// ---- clock: port_now(), and lengths in its unit
uint64_t port_hz(void);            // how many of port_unit() are one second
uint64_t bench_ticks(uint64_t ns); // a length in port_unit()
int bench_running(const struct bench_job *job); // 0 once `time_ns` have passed since the workers began

// ---- park: a 32-bit word in shared memory
// Sleeps while *word == seen, until it is woken or timeout_ns have passed (0: no limit). 0 or -PORT_TIMEOUT.
// May return early, so the caller checks the word again.
int port_wait(uint32_t *word, uint32_t seen, uint64_t timeout_ns);
int port_wake(uint32_t *word, unsigned most); // how many were woken

// ---- sleep
void port_sleep_until(uint64_t when); // a time of port_now()

// ---- channel: bytes from any worker to any other, in order, like a pipe. If several workers send or receive
// on one channel, all its messages must have one length, at most 4096 bytes: they are then never mixed.
int port_channel(void); // in prepare() only: the number of a new one, or a negative error
int port_send(int channel, const void *bytes, size_t length); // waits for room; 0, or a negative error
int port_receive(int channel, void *bytes, size_t length);    // waits for all; 0, or a negative error

// ---- cpu: port_cpu()

// ---- threads: port_task(), port_task_join(), port_yield() of bench.h

// ---- processes
// Runs body(argument) in a new address space. The argument is a number, or points to memory that
// port_shared() gave. Returns a number for port_child_wait, or a negative error.
int port_child(void (*body)(uint64_t argument), uint64_t argument);
// Its exit status: 0 after body returned. Each child must be waited for, by the worker that made it, before
// work() returns: only then does its CPU time count as the benchmark's.
int port_child_wait(int child);
uint64_t port_process(void); // the number of the calling process, asked of the kernel: the cheapest call there is

// ---- map: port_private() inside work() gives fresh, zeroed pages; the first touch of each faults
int port_unmap(void *at, size_t bytes); // 0, or a negative error

// ---- files, on a file system in memory. In prepare() only: makes a file of that many bytes, all zero.
// Returns its path, which every worker can read, or NULL.
const char *port_file(size_t bytes);
void port_files_end(void);       // by the harness, after the last join: removes these files
int port_open(const char *path); // to read and write: its number, or a negative error. Also /dev/null
int port_close(int file);        // 0, or a negative error
int64_t port_read(int file, void *bytes, size_t length); // how many; 0 at the end; or a negative error
int64_t port_write(int file, const void *bytes, size_t length);
int64_t port_size(const char *path); // by its name, without opening it; or a negative error

// ---- disk: the device of a file, where there is one
// Returns once what was written is on the device; what is read next comes from there. 0, or a negative error.
int port_sync(int file);

// ---- network: channels over TCP. The system knows the address. A connection is a channel of the worker
// that made it, for port_send() and port_receive(), as long as that worker lives.
int port_listen(void);          // in prepare(), at most once: a listener for all workers, or a negative error
int port_accept(int listener);  // waits for a client: the channel to it, or a negative error
int port_connect(int listener); // the channel to whoever accepts it, or a negative error

// ---- placement: where the scheduler may put threads. A system on a host leaves the host as it is: there these
// functions do nothing.
// From now on the caller, and whatever it starts, runs on these CPUs only: bit n of the mask is CPU n. 0, or a
// negative error.
int port_allow(uint64_t cpus);
// From now on the caller, and whatever it starts, is a group of its own, which the scheduler treats fairly
// beside other groups, however many threads each has. In a process only. 0, or a negative error.
int port_group(void);
// Takes a CPU away from the system (online 0), or gives it back, which takes tens of milliseconds. In prepare(),
// or by one worker. CPU 0 stays. 0, or a negative error.
int port_cpu_online(unsigned cpu, int online);

// ---- control: what one worker may do to another one, by the number that port_process() gives it there. Each
// gives 0, or a negative error. Not on a host.
enum port_policy { PORT_OTHER, PORT_BATCH, PORT_IDLE, PORT_FIFO, PORT_RR };
struct port_limits {
    uint64_t weight; // 0: as it is
    int has_quota;   // 0: as it is
    uint64_t quota_us, period_us; // CPU time in each period; a quota of 0 is no limit
    uint64_t cpus;                // a mask; 0: as it is
};
int port_allow_other(uint64_t process, uint64_t cpus); // as port_allow()
int port_nice(uint64_t process, int nice);
int port_policy(uint64_t process, enum port_policy policy, unsigned priority); // real time: 1 to 99, else 0
// Of a control group, by its number from 1 on; the first call makes it.
int port_limits(unsigned group, const struct port_limits *to);
int port_enter(uint64_t process, unsigned group); // 0: the group of all that are in no other

// ---- signals
void port_signal_ready(void); // in each worker, before its first port_signal()
// Interrupts the calling thread, whose handler has run when this returns: how often it has run so far.
uint64_t port_signal(void);

// ---- made of park: a barrier. `members` is set once, before the first use; the rest is 0 at first.
struct bench_barrier {
    _Alignas(128) uint32_t members;
    uint32_t arrived;
    uint32_t phase;
};
void bench_barrier(struct bench_barrier *barrier);

// ---- made of atomics: a lock that spins politely, for lists of locks per CPU
struct bench_lock {
    _Alignas(128) uint32_t taken;
};
void bench_lock(struct bench_lock *lock);
void bench_unlock(struct bench_lock *lock);

// ---- a counter that several workers take numbers from
static inline uint64_t bench_next(uint64_t *counter) {
    return __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

#endif
