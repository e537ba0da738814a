// The plugin's interface to QEMU: options, callbacks, and checks at load and at run time.
#define _GNU_SOURCE
#include "access.h"
#include "activity.h"
#include "blocks.h"
#include "carrier.h"
#include "clock.h"
#include "console.h"
#include "counter.h"
#include "counts.h"
#include "delays.h"
#include "device_tree.h"
#include "divert.h"
#include "events.h"
#include "forks.h"
#include "journal.h"
#include "libc.h"
#include "marks.h"
#include "mmio.h"
#include "operations.h"
#include "polls.h"
#include "pool.h"
#include "profile.h"
#include "rehearsal.h"
#include "sharing.h"
#include "stacks.h"
#include "threads.h"
#include "threads_text.h"
#include "tsc.h"
#include "typist.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

const struct arch *arch_guest;

EXPORT int qemu_plugin_version = INSN_API;
EXPORT int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv);

struct settings {
    const char *out, *profile, *events, *stacks, *explore, *threads, *observe, *bytes, *carrier, *mark, *caches;
    bool lines, disks;
    uint64_t from, to; // the window's first and last byte of the console; 0: it lies between marks
    int talk, forks; // the host's sockets, or -1
    struct clock_turn turn;
    struct clock_options clock;
    struct access_options access;
};

static struct settings settings = {
    .clock = {.rules = {.quantum = 5000, .fine = 100, .rush = 25}, .skip = 10000, .patience = 60},
    .talk = -1,
    .forks = -1,
    .access = {.filter = true}};
static unsigned vcpu_count;
static int api_least, api_now;

// ---- options, each `name=value`

static bool number(const char *text, uint64_t least, uint64_t most, uint64_t *value) {
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || n < least || n > most)
        return false;
    *value = n;
    return true;
}

// `FIRST:SECOND`
static bool two_numbers(const char *text, uint64_t *one, uint64_t *two) {
    const char *colon = strchr(text, ':');
    char first[24] = "";
    if (!colon || (size_t)(colon - text) >= sizeof first)
        return false;
    memcpy(first, text, (size_t)(colon - text));
    return number(first, 1, UINT64_MAX, one) && number(colon + 1, 1, UINT64_MAX, two);
}

// `CAPACITY:CAPACITY...`
static bool capacities(const char *text, unsigned *into) {
    for (unsigned c = 0; c < LOCKSTEP_MAX; c++) {
        char *end;
        unsigned long n = strtoul(text, &end, 10);
        if (end == text || n < 1 || n > CLOCK_FULL || (*end && *end != ':'))
            return false;
        into[c] = (unsigned)n;
        if (!*end)
            return true;
        text = end + 1;
    }
    return false;
}

static bool option(struct settings *s, const char *argument) {
    uint64_t n = 0;
    const char *value = strchr(argument, '=');
    if (!value++)
        return false;
    size_t name = (size_t)(value - argument) - 1;
#define IS(word) (name == sizeof(word) - 1 && memcmp(argument, word, name) == 0)
    if (IS("out"))
        return *(s->out = value) != 0;
    if (IS("profile"))
        return *(s->profile = value) != 0;
    if (IS("events"))
        return *(s->events = value) != 0;
    if (IS("stacks"))
        return *(s->stacks = value) != 0;
    if (IS("threads"))
        return *(s->threads = value) != 0;
    if (IS("observe"))
        return *(s->observe = value) != 0;
    if (IS("bytes"))
        return *(s->bytes = value) != 0;
    if (IS("explore"))
        return *(s->explore = value) != 0;
    if (IS("quantum") && number(value, 100, 1000000000, &n))
        return s->clock.rules.quantum = n, true;
    if (IS("fine") && number(value, 100, 1000000000, &n))
        return s->clock.rules.fine = n, true;
    if (IS("rush") && number(value, 1, 1000, &n))
        return s->clock.rules.rush = n, true;
    if (IS("seed") && number(value, 0, UINT64_MAX, &n))
        return s->clock.rules.seed = n, true;
    if (IS("skip") && number(value, 0, 1000000, &n))
        return s->clock.skip = n, true;
    if (IS("lines") && number(value, 0, 1, &n))
        return s->lines = n, true;
    if (IS("window"))
        return two_numbers(value, &s->from, &s->to) && s->from < s->to;
    if (IS("start"))
        return two_numbers(value, &s->clock.start.time, &s->clock.start.bytes);
    if (IS("talk") && number(value, 3, 1023, &n))
        return s->talk = (int)n, true;
    if (IS("forks") && number(value, 3, 1023, &n))
        return s->forks = (int)n, true;
    if (IS("turn"))
        return clock_turn_read(value, &s->turn);
    if (IS("mark"))
        return *(s->mark = value) != 0;
    if (IS("disks") && number(value, 0, 1, &n))
        return s->disks = n, true;
    if (IS("carrier"))
        return *(s->carrier = value) != 0;
    if (IS("patience") && number(value, 1, 86400, &n))
        return s->clock.patience = (unsigned)n, true;
    if (IS("machine"))
        return *(s->access.machine = value) != 0;
    if (IS("capacities"))
        return capacities(value, s->clock.capacity);
    if (IS("caches"))
        return *(s->caches = value) != 0;
    if (IS("order") && strcmp(value, "watch") == 0)
        return s->access.order = ACCESS_WATCH, true;
    if (IS("order") && strcmp(value, "strict") == 0)
        return s->access.order = ACCESS_STRICT, true;
    if (IS("sharing"))
        return *(s->access.sharing = value) != 0;
    if (IS("filter") && number(value, 0, 1, &n))
        return s->access.filter = n, true;
#undef IS
    return false;
}

// ---- callbacks

static void adopt(unsigned vcpu) {
    if (clock_self >= 0 || libc_is_main())
        return;
    clock_self = (int)vcpu;
    clock_adopt(vcpu);
    delays_appear(vcpu);
    tsc_trap_this_thread();
}

static void appeared(unsigned vcpu) {
    adopt(vcpu);
    threads_vcpu(vcpu);
    counts_vcpu(vcpu);
}

static _Thread_local uint64_t waits_before;

static void idle(unsigned vcpu) {
    adopt(vcpu);
    clock_checks.halts++;
    waits_before = clock_own_waits();
    clock_asleep(true);
}

static void resumed(unsigned vcpu) {
    clock_asleep(false);
    if (clock_own_waits() == waits_before)
        journal_refuse("vCPU %u halted without pthread_cond_wait: this QEMU sleeps in another way", vcpu);
}

#define PATIENCE_NS 100000000 // by this guest time QEMU must have used every hook

// Refuses a QEMU that does not use the hooks. Called whenever a vCPU stops, until the answer is known. That its
// vCPUs notify the main loop of timers shows in the trial only: a guest may set none for long, such as OVMF.
static void check_hooks(unsigned vcpu) {
    static bool settled;
    uint64_t now = clock_own(vcpu);
    if (settled || now < PATIENCE_NS)
        return;
    settled = true;
    if (!clock_checks.main_polls || !clock_checks.main_clock)
        journal_refuse("the main loop does not sleep in ppoll or does not read clock_gettime");
}

static void check_tsc(unsigned vcpu) {
    uint64_t guest = counter_clock_reads(vcpu);
    if (arch_guest->clock_is_host_tsc && guest > 100 && !clock_checks.tsc_traps)
        journal_refuse("the guest read its TSC %llu times, but no read of the host's TSC was trapped",
                       (unsigned long long)guest);
}

static void reached(unsigned vcpu, void *data) {
    adopt(vcpu);
    check_hooks(vcpu);
    check_tsc(vcpu);
    console_look();
    clock_limit_reached(vcpu, data);
}

static void ended(void) {
    console_report();
    clock_report();
    delays_report();
    sharing_report(clock_here());
    threads_report(clock_here());
    counts_report(clock_here());
    operations_report();
    rehearsal_report();
    forks_report();
    uint64_t guest_tsc = 0;
    for (unsigned c = 0; c < vcpu_count; c++)
        guest_tsc += counter_clock_reads(c);
    journal_line("check guest_tsc %llu", (unsigned long long)guest_tsc);
    if (clock_has_capacities())
        journal_line("check told_capacities %u", device_tree_told());
    journal_line("closed");
}

// ---- the same as this QEMU calls them

#if INSN_API >= 7
#define DATA , NULL
#define CALLED_FOR_VCPU(event) \
    static void on_##event(unsigned vcpu, void *data) { (void)data, event(vcpu); }

static void on_translated(struct qemu_plugin_tb *tb, void *data) {
    (void)data, blocks_translated(tb);
}

static void on_ended(void *data) {
    (void)data, ended();
}
#else
#define DATA
#define CALLED_FOR_VCPU(event) \
    static void on_##event(uint64_t id, unsigned vcpu) { (void)id, event(vcpu); }

static void on_translated(uint64_t id, struct qemu_plugin_tb *tb) {
    (void)id, blocks_translated(tb);
}

static void on_ended(uint64_t id, void *data) {
    (void)id, (void)data, ended();
}
#endif

CALLED_FOR_VCPU(appeared)
CALLED_FOR_VCPU(idle)
CALLED_FOR_VCPU(resumed)

// ---- load

static int complain(const char *what, const char *detail) {
    fprintf(stderr, "instruction clock: %s%s\n", what, detail);
    return -1;
}

static const char *memory_system(unsigned vcpus, struct settings *s) {
    if (!s->access.machine && s->access.order == ACCESS_UNSAID)
        return NULL;
    s->access.whole = s->lines;
    s->access.caches = s->clock.start.time ? NULL : s->caches;
    return access_setup(&s->access, vcpus, &s->clock.rules.strict);
}

static const char *requests(unsigned vcpus, struct settings *s) {
    const unsigned *capacity = s->clock.capacity;
    if (capacity[0] && (!capacity[vcpus - 1] || (vcpus < LOCKSTEP_MAX && capacity[vcpus])))
        return "the option capacities does not have one for each vCPU";
    if (capacity[0])
        device_tree_capacities(capacity, vcpus);
    const char *refused = memory_system(vcpus, s);
    if (refused)
        return refused;
    const char *why = s->explore ? delays_setup(s->explore, vcpus, s->lines) : NULL;
    if (why)
        return why;
    why = s->profile ? profile_setup(s->profile, vcpus) : NULL;
    if (!why && s->stacks)
        why = stacks_setup(s->stacks, vcpus);
    if (!why && s->threads)
        why = threads_setup(s->threads, s->observe, vcpus, s->lines);
    if (!why && s->lines && s->talk >= 0)
        why = polls_setup(vcpus);
    if (!why)
        why = counts_setup(s->observe, s->bytes, vcpus);
    if (!why && !s->lines)
        why = operations_setup(s->observe, vcpus);
    return !why && s->events ? events_setup(s->events, vcpus, s->lines) : why;
}

static void write_header(const struct settings *s) {
    journal_line("insn-clock 1");
    journal_line("level full");
    journal_line("mode serial");
    journal_line("seed %llu", (unsigned long long)s->clock.rules.seed);
    journal_line("quantum %llu", (unsigned long long)s->clock.rules.quantum);
    journal_line("fine %llu", (unsigned long long)s->clock.rules.fine);
    journal_line("rush %llu", (unsigned long long)s->clock.rules.rush);
    journal_line("vcpus %u", vcpu_count);
    journal_line("api %d %d %d", INSN_API, api_least, api_now);
    journal_line("host carrier %s", carrier_name());
    if (s->clock.start.time)
        journal_line("start %llu %llu", (unsigned long long)s->clock.start.time,
                     (unsigned long long)s->clock.start.bytes);
    if (access_name())
        journal_line("machine %s", access_name());
    for (int c = 0; c < (int)vcpu_count && s->clock.capacity[0]; c++)
        journal_line("capacity %d %u", c, s->clock.capacity[c]);
    delays_header();
    journal_headed();
}

// The guest begins, as its snapshot was taken.
static void restored(void) {
    const char *why = settings.caches ? access_restore(settings.caches) : NULL;
    if (why)
        journal_refuse("%s", why);
    text_restored(settings.clock.start.time);
    divert_flush(false);
}

// In a fork: all is as in a machine that was started by itself, for this snapshot.
static const char *begins(const struct forks_own *own) {
    static char caches[4096];
    struct settings *s = &settings;
    uint64_t moved = own->start.time - s->clock.start.time;
    const char *why = clock_restart(own->seed, own->start), *name = s->caches ? strrchr(s->caches, '/') : NULL;
    if (name && snprintf(caches, sizeof caches, "%s%s", own->snapshot, name) < (int)sizeof caches)
        s->caches = caches;
    libc_restart(moved);
    s->clock.rules.seed = own->seed;
    s->clock.start = own->start;
    typist_restart(own->start);
    console_begins(own->start.bytes);
    activity_setup(vcpu_count, s->lines, own->start.time);
    write_header(s);
    return why;
}

static void begins_as_before(void) {
    write_header(&settings);
}

static const char *problem(uint64_t id, const struct qemu_info *info, struct settings *s) {
    const struct arch *arch = arch_of(info->target_name);
    if (!info->system_emulation || !arch)
        return "the plugin supports only qemu-system-x86_64, qemu-system-riscv64 and qemu-system-aarch64";
    arch_guest = arch;
    mmio_setup();
    if (info->system.smp_vcpus < 1 || info->system.smp_vcpus > LOCKSTEP_MAX)
        return "the number of vCPUs is not from 1 to 256";
#if INSN_API >= 3
    if (!dlsym(RTLD_DEFAULT, "qemu_plugin_register_vcpu_tb_exec_cond_cb"))
        return "this QEMU has no conditional callbacks; it needs a plugin that is built for plugin API 1";
#endif
    const char *why = libc_problem();
    why = why ? why : tsc_setup(arch->clock_is_host_tsc);
    why = why ? why : clock_carries(s->carrier);
    if (!why && s->talk >= 0)
        why = typist_setup(s->talk, (unsigned)info->system.smp_vcpus, s->clock.start, restored);
    if (why)
        return why;
    if (!s->out || !journal_open(s->out))
        return "the log cannot be written (option out=FILE)";
    why = requests((unsigned)info->system.smp_vcpus, s);
    if (why || s->forks < 0)
        return why;
    rehearsal_setup(info->target_name, info->version.cur, info->system.max_vcpus, id);
    return forks_setup(s->forks, s->mark, s->out, begins, begins_as_before);
}

int qemu_plugin_install(uint64_t id, const struct qemu_info *info, int argc, char **argv) {
    struct settings *s = &settings;
    for (int i = 0; i < argc; i++)
        if (!option(s, argv[i]))
            return complain("invalid option: ", argv[i]);
    const char *why = problem(id, info, s);
    if (why)
        return complain("refused: ", why);
    vcpu_count = s->clock.rules.count = (unsigned)info->system.smp_vcpus;
    api_least = info->version.min;
    api_now = info->version.cur;
    write_header(s);
    counter_setup(reached);
    clock_setup(&s->clock);
    if (s->turn.at)
        clock_turn_at(&s->turn);
    console_begins(s->clock.start.bytes);
    activity_setup(vcpu_count, s->lines, s->clock.start.time);
    if (s->lines)
        console_setup(vcpu_count);
    marks_between_lines(s->from, s->to);
    libc_activate();
    if (!clock_watch_begin())
        return complain("refused: ", "the host allows no further thread");
    if (s->disks)
        pool_expect();
    tsc_trap_this_thread();
    qemu_plugin_register_vcpu_init_cb(id, on_appeared DATA);
    qemu_plugin_register_vcpu_idle_cb(id, on_idle DATA);
    qemu_plugin_register_vcpu_resume_cb(id, on_resumed DATA);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated DATA);
    qemu_plugin_register_atexit_cb(id, on_ended, NULL);
    return 0;
}
