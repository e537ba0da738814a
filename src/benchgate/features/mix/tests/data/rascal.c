// rascal: a part of a mix that does one wrong thing, chosen by its parameter `does`, or nothing wrong
// (`well`).
#include "work.h"

#define FORGED "@bench end lines=0 seq=0 crc=00000000\n"
#define FLOOD_LINES 100000
#define HUNGRY_BYTES (64u << 20)
#define PAGE 4096u

// Of the C library, which a freestanding file does not include.
extern int open(const char *path, int flags, ...);
extern int kill(int pid, int signal);
extern long write(int file, const void *bytes, unsigned long length);
extern _Noreturn void _exit(int status);

#define WRITE_ONLY 1
#define KILL 9

static void say(const char *text) {
    unsigned long length = 0;
    while (text[length] != 0)
        length++;
    if (write(1, text, length) != (long)length)
        _exit(4);
}

// How many of these it could write to, or kill: none, without privileges.
static uint64_t attack(void) {
    static const char *const files[] = {"/dev/console", "/dev/ttyS0", "/proc/1/oom_score_adj",
                                        "/sys/fs/cgroup/mix/part0/cpu.max"};
    uint64_t done = 0;
    for (unsigned i = 0; i < sizeof files / sizeof *files; i++) {
        int file = open(files[i], WRITE_ONLY);
        if (file >= 0 && write(file, FORGED, sizeof FORGED - 1) > 0)
            done++;
    }
    for (int pid = 1; pid < 4; pid++)
        done += kill(pid, KILL) == 0;
    return done;
}

// A transcript of somebody else: the nonce of part 0, whichever part this is.
static void forge_nonce(void) {
    static char nonce[65];
    const char *own = bench_param("nonce");
    unsigned n = 0, at = 0;
    for (; own[n] != 0 && n < 64; n++) {
        nonce[n] = own[n];
        if (n > 0 && own[n - 1] == '.' && own[n] == 'p')
            at = n + 1;
    }
    nonce[at] = '0';
    bench_line_begin("begin");
    bench_line_word("v", "2");
    bench_line_word("nonce", nonce);
    const char *const words[] = {"system", "workload", "mode", "workers", "online", "unit", "hz"};
    const char *const values[] = {"native", "rascal", "process", "1", "2", "ns", "1000000000"};
    for (unsigned i = 0; i < 7; i++)
        bench_line_word(words[i], values[i]);
    bench_line_word("does", "nonce");
    bench_line_end();
}

static const char *prepare(struct bench_job *job) {
    (void)job;
    if (bench_param_is("does", "exits"))
        _exit(3);
    if (bench_param_is("does", "garbage"))
        say("no line of any format\n@bench rubbish\n\n\nKernel panic - not syncing: it only says so\n");
    if (bench_param_is("does", "conductor"))
        say("@bench window start=0 end=1 ended=least seq=0 crc=00000000\n" FORGED);
    if (bench_param_is("does", "nonce"))
        forge_nonce();
    for (unsigned i = 0; i < FLOOD_LINES && bench_param_is("does", "flood"); i++)
        say("so much to say, and nobody who listens\n");
    return NULL;
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)job, (void)worker;
    slot->value[0] = bench_turns(1, 100000);
    if (bench_param_is("does", "attack"))
        slot->value[1] = attack();
    if (bench_param_is("does", "wrong"))
        slot->value[0]++;
    while (bench_param_is("does", "endless"))
        bench_relax();
    if (bench_param_is("does", "marks"))
        __asm__ volatile(".byte 0x0f,0x1f,0x84,0x00\n\t.long 0x4c420400" ::: "memory");
    if (bench_param_is("does", "hungry")) {
        volatile char *at = port_private(HUNGRY_BYTES);
        for (unsigned i = 0; at != NULL && i < HUNGRY_BYTES; i += PAGE)
            at[i] = 1;
    }
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    (void)job;
    fields[0] = (struct bench_field){"attacks", job->slot[0].value[1], 0};
    return 1;
}

static const char *const params[] = {"does", NULL}, *const none[] = {NULL};
static const char *const values[] = {"turned", "done", NULL};

const struct bench_workload bench_workload = {
    .name = "rascal",
    .mode = BENCH_PROCESS,
    .param_names = params,
    .task_names = none,
    .value_names = values,
    .prepare = prepare,
    .work = work,
    .result = result,
};
