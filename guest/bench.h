// The contract between a workload, the harness (bench.c) and a port (port/*/, kernel/user/).
//
// A workload is one C file that defines `const struct bench_workload bench_workload`. Its work() never
// prints, never reads a clock and never makes a system call. The harness does these things around it, and the
// port implements them for one system. The same workload source runs on every system.
#ifndef BENCH_H
#define BENCH_H

#include <stddef.h>
#include <stdint.h>

#define BENCH_MAX_WORKERS 64
#define BENCH_VALUES 8
#define BENCH_TASK_WORDS 4

// A mark is one instruction that does nothing, is legal at any privilege level on every system, and that no
// compiler emits. It shows an instruction clock where the window is. KK is the kind:
//   x86-64   a long NOP whose displacement is 0x4c42'KK'00
//   RISC-V   slti x0, s2, 0x4KK   (a HINT)
//   AArch64  movz xzr, #0x4cKK
#define BENCH_MARK_WORK_BEGIN 0x01
#define BENCH_MARK_WORK_END 0x02
#define BENCH_MARK_TOTAL_BEGIN 0x03
#define BENCH_MARK_TOTAL_END 0x04
#if defined(BENCH_NO_MARKS) // the program of a part of a mix: the window is the conductor's
#define BENCH_MARK(kind) ((void)0)
#elif defined(__x86_64__)
#define BENCH_MARK(kind)                                                                                     \
    __asm__ volatile(".byte 0x0f,0x1f,0x84,0x00\n\t.long %c0" ::"i"(0x4c420000 | ((kind) << 8)) : "memory")
#elif defined(__riscv)
#define BENCH_MARK(kind) __asm__ volatile("slti x0, s2, %0" ::"i"(0x400 + (kind)) : "memory")
#elif defined(__aarch64__)
#define BENCH_MARK(kind) __asm__ volatile("movz xzr, %0" ::"i"(0x4c00 + (kind)) : "memory")
#else
#define BENCH_MARK(kind) ((void)0)
#endif

// Belongs into every loop that waits for another CPU. The instruction clock keeps the CPUs in closer step
// while one of them executes it.
static inline void bench_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__riscv)
    __asm__ volatile(".4byte 0x0100000f" ::: "memory"); // pause
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

enum bench_mode { BENCH_PROCESS, BENCH_THREAD };

// A histogram of lengths in port_unit() or of other numbers: 128 buckets for each power of two, so that the
// middle of a bucket is at most 0.4% from every value in it. Values below 128 have a bucket each. Bucket
// b >= 128 begins at (128 + b % 128) << (b / 128 - 1). `places` and `squares` are sums over all values of b
// and of b * b: together with count and sum they show a value that was moved to another bucket.
#define BENCH_HISTS 4
#define BENCH_HIST_BUCKETS (58 * 128)
struct bench_hist {
    _Alignas(128) uint64_t count;
    uint64_t sum, min, max, places, squares;
    uint32_t bucket[BENCH_HIST_BUCKETS];
};
void bench_record(struct bench_hist *hist, uint64_t value);

// One worker's findings. Each slot has cache lines of its own and is written by its worker only.
struct bench_slot {
    _Alignas(128) uint64_t start; // set by the harness at the starting line
    uint64_t end;
    int32_t cpu; // CPU at the start
    int32_t cpu_end;
    uint64_t value[BENCH_VALUES]; // set by work(), named by bench_workload.value_names
};

// Shared by the coordinator and all workers, also across processes. `data` and `hist` are therefore its only
// pointers; they are valid at the same address in every worker.
struct bench_job {
    uint32_t workers;               // prepare() may change it, if the YAML says `workers: own`
    uint32_t cpus;
    uint32_t wait_spin;             // 1: the coordinator spins while it waits (a negative control)
    _Alignas(128) uint32_t arrived; // starting line: workers that have arrived
    _Alignas(128) uint32_t gate;    // starting line: 0 closed, 1 open
    _Alignas(128) uint32_t finished;
    _Alignas(128) uint64_t task[BENCH_MAX_WORKERS][BENCH_TASK_WORDS]; // set by prepare()
    void *data;                                                       // set by prepare(), from port_shared()
    struct bench_hist *hist; // BENCH_HISTS of each worker; NULL if the workload names none
    uint64_t runtime;        // the parameter time_ns in port_unit(), 0 if the workload does not have it
    uint64_t deadline;       // set when the gate opens, if runtime is not 0
    uint64_t total_start, total_end;
    struct bench_slot slot[BENCH_MAX_WORKERS];
};

// One named result; the harness prints them as key=value on one line.
struct bench_field {
    const char *name;
    uint64_t value;
    int hex;
};

struct bench_workload {
    const char *name;
    enum bench_mode mode;
    const char *const *param_names; // NULL-terminated; each is echoed on the begin line
    const char *const *task_names;  // NULL-terminated, at most BENCH_TASK_WORDS; echoed per worker
    const char *const *value_names; // NULL-terminated, at most BENCH_VALUES; a leading '#' prints in hex
    const char *const *hist_names;  // NULL-terminated, at most BENCH_HISTS; NULL: none
    // Untimed, in the coordinator. Fills job->task, may allocate. Returns NULL, or an error message.
    const char *(*prepare)(struct bench_job *job);
    // Outside the work window, in each worker: before the starting line, and after its work. NULL: none. For
    // what work() needs but should not measure: threads to work with, open files, the first call of each
    // kind.
    void (*before)(struct bench_job *job, unsigned worker, struct bench_slot *slot);
    void (*after)(struct bench_job *job, unsigned worker, struct bench_slot *slot);
    // Timed. No system call, no output. In process mode it runs in another address space, which shares only
    // *job and the memory that job->data points to.
    void (*work)(struct bench_job *job, unsigned worker, struct bench_slot *slot);
    // Untimed, in the coordinator, after the last join. Returns how many fields it filled, at most
    // BENCH_VALUES.
    unsigned (*result)(struct bench_job *job, struct bench_field *fields);
};

extern const struct bench_workload bench_workload;

// The histogram of a worker with this number in hist_names. A worker writes only its own.
static inline struct bench_hist *bench_hist(struct bench_job *job, unsigned worker, unsigned which) {
    return &job->hist[worker * BENCH_HISTS + which];
}

// ---- parameters, from the manifest: words `bench.KEY=VALUE` on the kernel command line or in argv. It must
// contain every parameter of the workload, because defaults exist in the workload's YAML only.
const char *bench_param(const char *key);                      // NULL if absent
uint64_t bench_param_u64(const char *key, uint64_t otherwise); // a malformed number ends the run
int bench_param_is(const char *key, const char *value);

// ---- the harness; a port calls these
int bench_main(const char *manifest);                      // coordinator; returns the exit status
void bench_worker(struct bench_job *job, unsigned worker); // body of a worker, with gate and marks
// One `@bench` line; bench_line_end adds sequence number and CRC. port_report() uses these for measure and
// balance lines.
void bench_line_begin(const char *kind);
void bench_line_word(const char *key, const char *value);
void bench_line_u64(const char *key, uint64_t value);
void bench_line_hex(const char *key, uint64_t value);
void bench_line_end(void);

// ---- the functions that a port provides
uint64_t port_now(void);          // in port_unit()
const char *port_unit(void);      // "ns" or "cycles"
const char *port_system(void);    // "linux", "native", "tern" ...
int port_cpu(void);               // the CPU this runs on
unsigned port_online(void);       // CPUs that came up
void *port_private(size_t bytes); // zeroed, page-aligned; NULL if there is no memory
void *port_shared(size_t bytes);  // the same, visible to all workers at the same address
// Starts a worker that calls bench_worker(job, worker). Returns 0 or a negative error.
int port_spawn(enum bench_mode mode, struct bench_job *job, unsigned worker);
int port_join(enum bench_mode mode, unsigned worker); // blocks; the worker's exit status, 0 on success
void port_gate_wait(uint32_t *word, uint32_t value);  // returns once *word == value; may block or spin
void port_gate_open(uint32_t *word, uint32_t value);  // stores value, wakes all waiters
void port_window_open(void);                          // just before total_start: takes a snapshot of CPU use
void port_window_close(void);                         // just after total_end
// CPU time, in port_unit(), that anything except coordinator and workers used between open and close. Returns
// 0 and sets *value, or returns -1 if this system cannot tell. The harness adds what the coordinator used
// between the last spawn and the last join.
int port_foreign(uint64_t *value);
uint64_t port_thread_time(void); // CPU time of the calling thread, in port_unit()
void port_report(void); // after the foreign line: prints measure and balance lines, if any
void port_line(const char *line, size_t length); // writes a whole line, atomically, newline included
// For workloads that measure scheduling: their work() may call these three functions, and nothing else of a
// port. port_task starts a thread of this process and returns its number or a negative error; port_task_join
// waits for its end and returns 0 on success; port_yield lets another thread run.
int port_task(void (*body)(void *argument), void *argument);
int port_task_join(int task);
void port_yield(void);
_Noreturn void port_fail(const char *why); // prints one log line "benchfail: WHY", then exits with failure

#endif
