// The harness: reads the manifest, runs the workload between the window's marks, reports on the wire.
//
// Takes the manifest, and everything that depends on the system from the port (bench.h). Gives the lines of
// docs/wire.md. Fails by port_fail() with the reason, and then prints no end line. From libc it needs only
// memcpy and memset, because a compiler may insert calls to them; every system builds it with -ffreestanding.
#include "harness.h"

#define MANIFEST_BYTES 4096
#define VALUE_BYTES 64

// ---- small functions that a libc would provide

static size_t length_of(const char *text) {
    size_t n = 0;
    while (text[n] != 0)
        n++;
    return n;
}

static int same(const char *a, const char *b) {
    while (*a != 0 && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static _Noreturn void fail_about(const char *before, const char *what, const char *after) {
    static char why[160];
    const char *part[3] = {before, what, after};
    size_t used = 0;
    for (int i = 0; i < 3; i++)
        for (const char *c = part[i]; *c != 0 && used < sizeof why - 1; c++)
            why[used++] = *c;
    why[used] = 0;
    port_fail(why);
}

// ---- the manifest

static char manifest_words[MANIFEST_BYTES];
static size_t manifest_bytes;

// Keeps a copy in which every word ends with a zero byte, so that words can be compared in place.
static void manifest_read(const char *manifest) {
    size_t length = length_of(manifest);
    if (length >= MANIFEST_BYTES)
        port_fail("the manifest is longer than 4095 bytes");
    for (size_t i = 0; i < length; i++) {
        char c = manifest[i];
        manifest_words[i] = c == ' ' || c == '\t' || c == '\n' || c == '\r' ? 0 : c;
    }
    manifest_words[length] = 0;
    manifest_bytes = length + 1;
}

// Returns VALUE if `word` is `bench.KEY=VALUE` with this key, else NULL.
static const char *value_in(const char *word, const char *key) {
    for (const char *c = "bench."; *c != 0; c++)
        if (*word++ != *c)
            return NULL;
    for (; *key != 0; key++)
        if (*word++ != *key)
            return NULL;
    return *word == '=' ? word + 1 : NULL;
}

const char *bench_param(const char *key) {
    for (size_t at = 0; at < manifest_bytes; at += length_of(manifest_words + at) + 1) {
        const char *value = value_in(manifest_words + at, key);
        if (value != NULL)
            return value;
    }
    return NULL;
}

uint64_t bench_param_u64(const char *key, uint64_t otherwise) {
    const char *text = bench_param(key);
    if (text == NULL)
        return otherwise;
    uint64_t value = 0;
    if (*text == 0)
        fail_about("parameter ", key, " is empty");
    for (; *text != 0; text++) {
        if (*text < '0' || *text > '9')
            fail_about("parameter ", key, " is not a decimal number");
        uint64_t digit = (uint64_t)(*text - '0');
        if (value > (INT64_MAX - digit) / 10)
            fail_about("parameter ", key, " is too large");
        value = value * 10 + digit;
    }
    return value;
}

int bench_param_is(const char *key, const char *value) {
    const char *text = bench_param(key);
    return text != NULL && same(text, value);
}

// Checks that the wire can carry a value before the run starts.
static const char *echoed(const char *key) {
    const char *value = bench_param(key);
    if (value == NULL)
        fail_about("parameter ", key, " is missing from the manifest");
    size_t length = length_of(value);
    if (length == 0 || length > VALUE_BYTES)
        fail_about("parameter ", key, " must have 1 to 64 characters");
    for (const char *c = value; *c != 0; c++) {
        int letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        if (!letter && *c != '_' && *c != '.' && *c != ':' && *c != '+' && *c != '-')
            fail_about("parameter ", key, " has a character that the wire does not carry");
    }
    return value;
}

// ---- the run

// Causes the page faults and first calls that would otherwise happen inside the window: a forked worker
// starts without page tables for shared memory and for the clock's page.
static void warm_up(struct bench_job *job, unsigned worker) {
    job->slot[worker].start = port_now();
    (void)*(volatile uint64_t *)&job->task[worker][0];
    (void)port_cpu();
    hist_touch(job, worker);
}

// The last worker to arrive opens the gate for all. A run of a fixed time begins there.
static void pass_gate(struct bench_job *job) {
    uint32_t here = __atomic_add_fetch(&job->arrived, 1, __ATOMIC_ACQ_REL);
    if (here != job->workers) {
        port_gate_wait(&job->gate, 1);
        return;
    }
    if (job->runtime != 0)
        job->deadline = port_now() + job->runtime;
    port_gate_open(&job->gate, 1); // releases the deadline, too
}

// At both ends the mark comes just before the clock is read. The cost of a clock read before and after its
// sample then counts once inside and once outside, so the window by marks is as long as the window by clock.
void bench_worker(struct bench_job *job, unsigned worker) {
    struct bench_slot *slot = &job->slot[worker];
    warm_up(job, worker);
    if (bench_workload.before != NULL)
        bench_workload.before(job, worker, slot);
    pass_gate(job);
    slot->cpu = port_cpu();
    BENCH_MARK(BENCH_MARK_WORK_BEGIN);
    uint64_t start = port_now();
    bench_workload.work(job, worker, slot);
    BENCH_MARK(BENCH_MARK_WORK_END);
    uint64_t end = port_now();
    slot->cpu_end = port_cpu();
    slot->start = start;
    slot->end = end;
    if (bench_workload.after != NULL)
        bench_workload.after(job, worker, slot);
    __atomic_add_fetch(&job->finished, 1, __ATOMIC_ACQ_REL);
}

// CPU time that the coordinator used while it only had to wait. It takes that time from a worker only where
// there are few CPUs, so it counts as foreign.
static uint64_t waiting_time;

static void run(struct bench_job *job) {
    (void)port_now();
    (void)port_thread_time();
    port_window_open();
    BENCH_MARK(BENCH_MARK_TOTAL_BEGIN);
    job->total_start = port_now();
    for (unsigned i = 0; i < job->workers; i++)
        if (port_spawn(bench_workload.mode, job, i) != 0)
            port_fail("a worker could not be started");
    uint64_t spawned = port_thread_time();
    if (job->wait_spin)
        while (__atomic_load_n(&job->finished, __ATOMIC_ACQUIRE) != job->workers)
            bench_relax();
    int bad = 0;
    for (unsigned i = 0; i < job->workers; i++)
        bad |= port_join(bench_workload.mode, i) != 0;
    waiting_time = port_thread_time() - spawned;
    BENCH_MARK(BENCH_MARK_TOTAL_END);
    job->total_end = port_now();
    port_window_close();
    if (bad || __atomic_load_n(&job->finished, __ATOMIC_ACQUIRE) != job->workers)
        port_fail("a worker did not finish its work");
}

// ---- the report

static void report_begin(const struct bench_job *job) {
    bench_line_begin("begin");
    bench_line_word("v", "2");
    bench_line_word("nonce", echoed("nonce"));
    bench_line_word("system", port_system());
    bench_line_word("workload", bench_workload.name);
    bench_line_word("mode", bench_workload.mode == BENCH_PROCESS ? "process" : "thread");
    bench_line_u64("workers", job->workers);
    bench_line_u64("online", port_online());
    bench_line_word("unit", port_unit());
    bench_line_u64("hz", port_hz());
    for (const char *const *name = bench_workload.param_names; *name != NULL; name++)
        bench_line_word(*name, echoed(*name));
    bench_line_end();
}

static void report_worker(const struct bench_job *job, unsigned worker) {
    const struct bench_slot *slot = &job->slot[worker];
    bench_line_begin("worker");
    bench_line_u64("id", worker);
    bench_line_u64("cpu", (uint64_t)slot->cpu);
    bench_line_u64("cpu_end", (uint64_t)slot->cpu_end);
    bench_line_u64("start", slot->start);
    bench_line_u64("end", slot->end);
    for (unsigned i = 0; bench_workload.task_names[i] != NULL; i++)
        bench_line_u64(bench_workload.task_names[i], job->task[worker][i]);
    for (unsigned i = 0; bench_workload.value_names[i] != NULL; i++) {
        const char *name = bench_workload.value_names[i];
        if (*name == '#')
            bench_line_hex(name + 1, slot->value[i]);
        else
            bench_line_u64(name, slot->value[i]);
    }
    bench_line_end();
}

static void report_window(const struct bench_job *job) {
    uint64_t first = job->slot[0].start, last = job->slot[0].end;
    for (unsigned i = 1; i < job->workers; i++) {
        if (job->slot[i].start < first)
            first = job->slot[i].start;
        if (job->slot[i].end > last)
            last = job->slot[i].end;
    }
    bench_line_begin("window");
    bench_line_u64("work_start", first);
    bench_line_u64("work_end", last);
    bench_line_u64("total_start", job->total_start);
    bench_line_u64("total_end", job->total_end);
    bench_line_end();
}

static void report_result(struct bench_job *job) {
    struct bench_field field[BENCH_VALUES];
    unsigned count = bench_workload.result(job, field);
    bench_line_begin("result");
    for (unsigned i = 0; i < count; i++) {
        if (field[i].hex)
            bench_line_hex(field[i].name, field[i].value);
        else
            bench_line_u64(field[i].name, field[i].value);
    }
    bench_line_end();
}

static void report_foreign(void) {
    uint64_t time = 0;
    bench_line_begin("foreign");
    if (port_foreign(&time) == 0)
        bench_line_u64("time", time + waiting_time);
    else
        bench_line_word("time", "na");
    bench_line_end();
}

static void report(struct bench_job *job) {
    report_begin(job);
    for (unsigned i = 0; i < job->workers; i++)
        report_worker(job, i);
    hist_report(job);
    report_window(job);
    report_result(job);
    report_foreign();
    port_report();
    uint64_t before = wire_lines();
    bench_line_begin("end");
    bench_line_u64("lines", before);
    bench_line_end();
}

// ---- the whole

// A number of workers or CPUs.
static uint32_t count_of(const char *key) {
    uint64_t count = bench_param_u64(key, 0);
    if (count < 1 || count > BENCH_MAX_WORKERS)
        fail_about("bench.", key, " must be 1 to 64");
    return (uint32_t)count;
}

// Refuses an unsuitable manifest before any worker starts.
static void check_request(void) {
    if (!bench_param_is("workload", bench_workload.name))
        fail_about("bench.workload does not ask for ", bench_workload.name,
                   ", which is what this program runs");
    const char *mode = bench_workload.mode == BENCH_PROCESS ? "process" : "thread";
    if (!bench_param_is("mode", mode))
        fail_about("this workload runs with bench.mode=", mode, " only");
    (void)echoed("nonce");
    for (const char *const *name = bench_workload.param_names; *name != NULL; name++)
        (void)echoed(*name);
    if (bench_param("wait") != NULL && !bench_param_is("wait", "spin") && !bench_param_is("wait", "join"))
        port_fail("bench.wait must be join or spin");
}

// The job as the manifest asks for it; prepare() adds the work.
static struct bench_job *new_job(void) {
    struct bench_job *job = port_shared(sizeof *job);
    if (job == NULL)
        port_fail("no memory for the job");
    job->workers = count_of("workers");
    job->cpus = count_of("cpus");
    job->wait_spin = (uint32_t)bench_param_is("wait", "spin");
    job->runtime = bench_ticks(bench_param_u64("time_ns", 0));
    hist_make(job);
    return job;
}

int bench_main(const char *manifest) {
    manifest_read(manifest);
    check_request();
    struct bench_job *job = new_job();
    const char *wrong = bench_workload.prepare(job);
    if (wrong != NULL)
        port_fail(wrong);
    if (job->workers < 1 || job->workers > BENCH_MAX_WORKERS)
        port_fail("the workload must prepare 1 to 64 workers");
    run(job);
    port_files_end();
    report(job);
    return 0;
}
