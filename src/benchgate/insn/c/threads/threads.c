// Lines of the file, in the order in which the clock saw them. vCPUs run one at a time, so this order is the right
// one, although the time of one vCPU may be behind that of another:
//   insn-threads 4, vcpus N, open TIME, close TIME    1: without `halt` and `resume`, 2: and `stay`, 3: and `interrupt`
//   fork VCPU TIME ID PARENT NAME            PARENT runs on the vCPU; NAME in hex, or `-`
//   name VCPU TIME ID NAME                   when it differs from the last one seen
//   switch VCPU TIME PREV STATE NEXT QUEUE   STATE of PREV: r runnable, b blocked, d dead; QUEUE: runnable threads of
//                                            the CPU after the switch, or `-`
//   wake VCPU TIME ID CPU QUEUE TRAIL READ   TRAIL: threads_trail.h, joined by `,`, or `-`; READ: the latest time that
//                                            the guest has read from its clock, on any vCPU
//   send VCPU TIME ID TRAIL READ            ID's next wake-up, on another vCPU, was asked for here
//   ask VCPU TIME ID                        the kernel is told to wake this thread, which is blocked, or about to be;
//                                            or this thread gives way, or asks for nothing that it may have
//                                            to wait for (`may_wait`), which is no reason to block it
//   migrate VCPU TIME ID FROM TO             of a runnable thread
//   allow VCPU TIME ID CPUS                  hex, when it differs from the last one seen; at first every CPU
//   exit VCPU TIME ID
//   tick VCPU TIME                           the scheduler looks at the running thread, in a timer interrupt
//   yield VCPU TIME                          the running thread gives way
//   halt VCPU TIME, resume VCPU TIME         the clock's own: the vCPU executes nothing in between, whoever runs there
//   stay VCPU TIME LENGTH SPUN COUNT, interrupt VCPU TIME LENGTH SPUN COUNT    threads_stays.h; 3: without the last two
//   full TIME                                the file is full, nothing after TIME is in it
//   end TIME
#define _GNU_SOURCE
#include "threads.h"

#include "clock.h"
#include "threads_guest.h"
#include "threads_hooks.h"
#include "threads_stays.h"
#include "threads_text.h"
#include "threads_trail.h"

#if INSN_API >= 3

#include "journal.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASKED_MOST 64 // of a list

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct hooks hooks;
static unsigned vcpus;
static bool opened, closed;
static uint64_t everywhere; // all CPUs
static struct {
    uint64_t time, running; // of its last event; the id of its thread
    bool halted;
    bool gives_way; // its thread does, and its program has not gone on since
    bool may_wait;  // its thread has asked for something, and neither blocked nor gone on since
} on[LOCKSTEP_MAX];

static void program_goes_on(unsigned vcpu, uint64_t time);

const char *threads_setup(const char *path, const char *observed, unsigned count, bool whole) {
    if (!guest_can_read())
        return "this QEMU does not let a plugin read memory, so threads cannot be seen; it needs QEMU 9.2 or newer";
    const char *why = observed ? hooks_read(&hooks, observed) : "the option observe=FILE is missing";
    if (why)
        return why;
    if (!hooks.id.length || !hooks.has[HOOK_SWITCH] || !hooks.has[HOOK_WAKE])
        return "to see threads there must be an `id`, and hooks for switches and for wake-ups "
               "(option observe=FILE)";
    if (!text_open(path))
        return "the threads cannot be written (option threads=FILE)";
    vcpus = count;
    opened = whole;
    everywhere = count < 64 ? (UINT64_C(1) << count) - 1 : UINT64_MAX;
    trail_setup(hooks.text_from, hooks.text_to);
    text_say("insn-threads 4\nvcpus");
    text_number(count);
    text_put('\n');
    if (!stays_setup(program_goes_on, hooks.has[HOOK_FAULT]))
        return "no memory for the stays of threads in the kernel";
    return NULL;
}

void threads_vcpu(unsigned vcpu) {
    if (text_is_open() && !guest_vcpu(vcpu))
        journal_refuse("this QEMU names the registers in another way, so threads cannot be seen");
}

// ---- lines

static void head(const char *what, unsigned vcpu) {
    text_limit(on[vcpu].time);
    text_say(what);
    text_number(vcpu);
    text_number(on[vcpu].time);
}

static void say_name(const uint8_t *name) {
    size_t length = strnlen((const char *)name, hooks.name_size);
    text_say(length ? " " : " -");
    for (size_t i = 0; i < length; i++) {
        text_digits(name[i] >> 4, 16);
        text_digits(name[i] & 15, 16);
    }
}

static void say_queue(const struct hook *h, unsigned vcpu, uint64_t thread) {
    if (h->queue.length)
        text_number(program_run(&h->queue, vcpu, thread) & UINT32_MAX);
    else
        text_say(" -");
}

static void say_trail(unsigned vcpu) {
    uint64_t trail[TRAIL_MOST];
    unsigned count = trail_here(vcpu, trail);
    text_say(count ? " " : " -");
    for (unsigned i = 0; i < count; i++) {
        text_say(i ? "," : "");
        text_digits(trail[i], 16);
    }
}

// Who is woken cannot have been told of it by a later time than this one.
static void say_read(void) {
    text_number(clock_last_shown());
    text_put('\n');
}

// ---- what changed of a thread

static uint64_t id_of(unsigned vcpu, uint64_t thread) {
    return program_run(&hooks.id, vcpu, thread) & UINT32_MAX;
}

static void read_name(unsigned vcpu, uint64_t thread, uint8_t *into) {
    memset(into, 0, KNOWN_NAME);
    if (hooks.name.length)
        guest_read(vcpu, program_run(&hooks.name, vcpu, thread), into, hooks.name_size);
    size_t length = strnlen((const char *)into, hooks.name_size);
    memset(into + length, 0, KNOWN_NAME - length); // what is behind the end is no name
}

static void look_at_name(unsigned vcpu, uint64_t thread, struct known *known) {
    uint8_t name[KNOWN_NAME];
    read_name(vcpu, thread, name);
    if (memcmp(name, known->name, sizeof name) == 0)
        return;
    memcpy(known->name, name, sizeof name);
    head("name", vcpu);
    text_number(known->id);
    say_name(name);
    text_put('\n');
}

static void allow(unsigned vcpu, struct known *known, uint64_t mask) {
    mask &= everywhere;
    if (mask == known->allowed)
        return;
    known->allowed = mask;
    head("allow", vcpu);
    text_number(known->id);
    text_put(' ');
    text_digits(mask, 16);
    text_put('\n');
}

static void look_at_allowed(unsigned vcpu, uint64_t thread, struct known *known) {
    if (hooks.allowed.length)
        allow(vcpu, known, program_run(&hooks.allowed, vcpu, thread));
}

static void move(unsigned vcpu, struct known *known, unsigned to) {
    if (known->has_cpu && known->cpu != to) {
        head("migrate", vcpu);
        text_number(known->id);
        text_number(known->cpu);
        text_number(to);
        text_put('\n');
    }
    known->cpu = to;
    known->has_cpu = true;
}

// ---- events

static void stayed(unsigned vcpu) {
    struct stay stay = stays_end(vcpu, on[vcpu].time);
    if (!stay.length)
        return;
    head(stay.is_interruption ? "interrupt" : "stay", vcpu);
    text_number(stay.length), text_number(stay.spun), text_number(stay.count);
    text_put('\n');
}

static void said(const char *what, unsigned vcpu) {
    head(what, vcpu);
    text_put('\n');
}

static void said_of(const char *what, unsigned vcpu, uint64_t id) {
    head(what, vcpu);
    text_number(id);
    text_put('\n');
}

static void forked(const struct hook *h, unsigned vcpu) {
    uint64_t thread = program_run(&h->thread, vcpu, 0), id = id_of(vcpu, thread);
    known_forget(id); // ids are used again
    struct known *known = known_thread(id, everywhere);
    if (!known)
        return;
    known->is_blocked = true;
    read_name(vcpu, thread, known->name);
    head("fork", vcpu);
    text_number(id);
    text_number(on[vcpu].running);
    say_name(known->name);
    text_put('\n');
    look_at_allowed(vcpu, thread, known);
}

// What the switch leaves.
static char state_of(const struct hook *h, unsigned vcpu, uint64_t thread, uint64_t id) {
    if (id == 0)
        return 'r';
    if (h->dead.length && program_run(&h->dead, vcpu, thread))
        return 'd';
    return program_run(&h->blocked, vcpu, thread) ? 'b' : 'r';
}

static void switched(const struct hook *h, unsigned vcpu) {
    uint64_t from = program_run(&h->from, vcpu, 0), to = program_run(&h->to, vcpu, 0);
    uint64_t before = id_of(vcpu, from), next = id_of(vcpu, to);
    char state = state_of(h, vcpu, from, before);
    stayed(vcpu);
    bool has_reason = !on[vcpu].gives_way && (on[vcpu].may_wait || !hooks.has[HOOK_MAY_WAIT]);
    struct known *known = before && state != 'd' ? known_thread(before, everywhere) : NULL;
    if (known) {
        look_at_allowed(vcpu, from, known);
        known->is_blocked = state == 'b';
        known->may_wait = state == 'r' && on[vcpu].may_wait;
    }
    known = next ? known_thread(next, everywhere) : NULL;
    if (known) {
        look_at_name(vcpu, to, known);
        if (!hooks.has[HOOK_MIGRATE])
            move(vcpu, known, vcpu);
        known->cpu = vcpu;
        known->has_cpu = true;
    }
    if (state == 'b' && !has_reason)
        said_of("ask", vcpu, before);
    on[vcpu].gives_way = false;
    on[vcpu].may_wait = known && known->may_wait;
    head("switch", vcpu);
    text_number(before);
    text_put(' ');
    text_put(state);
    text_number(next);
    say_queue(h, vcpu, from);
    text_put('\n');
    on[vcpu].running = next;
    stays_begin(vcpu, on[vcpu].time, known ? &known->is_program : NULL);
    if (state == 'd')
        known_forget(before);
}

static void woken(const struct hook *h, unsigned vcpu) {
    uint64_t thread = program_run(&h->thread, vcpu, 0), id = id_of(vcpu, thread);
    struct known *known = id ? known_thread(id, everywhere) : NULL;
    if (!known || (h->only_blocked && !known->is_blocked))
        return;
    unsigned cpu = known->has_cpu ? known->cpu : vcpu;
    if (h->cpu.length)
        cpu = (unsigned)program_run(&h->cpu, vcpu, thread);
    known->is_blocked = false;
    look_at_name(vcpu, thread, known);
    look_at_allowed(vcpu, thread, known);
    known->cpu = cpu;
    known->has_cpu = true;
    head("wake", vcpu);
    text_number(id);
    text_number(cpu);
    say_queue(h, vcpu, thread);
    say_trail(vcpu);
    say_read();
}

static void sent(const struct hook *h, unsigned vcpu) {
    uint64_t id = id_of(vcpu, program_run(&h->thread, vcpu, 0));
    if (!id)
        return;
    head("send", vcpu);
    text_number(id);
    say_trail(vcpu);
    say_read();
}

// With `next` it is a list, of which those are asked for that `which` tells. A list that another CPU changes may lead
// anywhere.
static void asked(const struct hook *h, unsigned vcpu) {
    uint64_t thread = program_run(&h->thread, vcpu, 0);
    for (unsigned n = 0; thread && n < ASKED_MOST; n++) {
        bool is_it = !h->which.length || program_run(&h->which, vcpu, thread);
        uint64_t id = is_it ? id_of(vcpu, thread) : 0;
        if (id)
            said_of("ask", vcpu, id);
        thread = h->next.length ? program_run(&h->next, vcpu, thread) : 0;
    }
}

static void migrated(const struct hook *h, unsigned vcpu) {
    uint64_t thread = program_run(&h->thread, vcpu, 0);
    struct known *known = known_thread(id_of(vcpu, thread), everywhere);
    if (!known)
        return;
    look_at_allowed(vcpu, thread, known);
    move(vcpu, known, (unsigned)program_run(&h->cpu, vcpu, thread));
}

static void allowed(const struct hook *h, unsigned vcpu) {
    uint64_t thread = program_run(&h->thread, vcpu, 0), id = id_of(vcpu, thread);
    struct known *known = id ? known_thread(id, everywhere) : NULL;
    if (known)
        allow(vcpu, known, program_run(&h->mask, vcpu, thread));
}

static void gives_way(unsigned vcpu) {
    on[vcpu].gives_way = true;
    said("yield", vcpu);
}

static void event(const struct hook *h, unsigned vcpu) {
    switch (h->kind) {
    case HOOK_FORK:
        return forked(h, vcpu);
    case HOOK_SWITCH:
        return switched(h, vcpu);
    case HOOK_WAKE:
        return woken(h, vcpu);
    case HOOK_SEND:
        return sent(h, vcpu);
    case HOOK_ASK:
        return asked(h, vcpu);
    case HOOK_MIGRATE:
        return migrated(h, vcpu);
    case HOOK_ALLOW:
        return allowed(h, vcpu);
    case HOOK_TICK:
        return said("tick", vcpu);
    case HOOK_YIELD:
        return gives_way(vcpu);
    case HOOK_MAY_WAIT:
        on[vcpu].may_wait = true;
        return;
    default:
        return said_of("exit", vcpu, on[vcpu].running);
    }
}

// The pointer carries the hook's number and the distance to the end of the block, which counts as a whole (marks.c).
static void reached(unsigned vcpu, void *data) {
    uintptr_t packed = (uintptr_t)data;
    const struct hook *h = &hooks.all[packed & 0xff];
    if (text_is_full() || !text_is_open())
        return;
    guest_begin(vcpu);
    if (h->when.length && !program_run(&h->when, vcpu, 0))
        return;
    uint64_t time = clock_before(vcpu, packed >> 8);
    pthread_mutex_lock(&mutex);
    if (time > on[vcpu].time)
        on[vcpu].time = time;
    if (h->kind == HOOK_FAULT)
        stays_fault(vcpu);
    else
        event(h, vcpu);
    pthread_mutex_unlock(&mutex);
}

static bool is_watched(enum hook_kind kind) {
    return kind < HOOK_SYSCALL || kind == HOOK_FAULT;
}

void threads_instruction(struct qemu_plugin_insn *insn, uint64_t address, size_t left) {
    for (unsigned n = 0; text_is_open() && n < hooks.count; n++)
        for (unsigned i = 0; i < hooks.all[n].places && is_watched(hooks.all[n].kind); i++)
            if (hooks.all[n].at[i] == address) {
                uintptr_t packed = (uintptr_t)left << 8 | n;
                qemu_plugin_register_vcpu_insn_exec_cb(insn, reached, QEMU_READS_REGS, (void *)packed);
            }
}

// ---- the clock, the window and the end

void threads_halted(unsigned vcpu, bool halted, uint64_t time) {
    if (!text_is_open() || on[vcpu].halted == halted)
        return;
    pthread_mutex_lock(&mutex);
    on[vcpu].halted = halted;
    if (time > on[vcpu].time)
        on[vcpu].time = time;
    if (halted)
        stayed(vcpu);
    else
        stays_resume(vcpu, on[vcpu].time);
    said(halted ? "halt" : "resume", vcpu);
    pthread_mutex_unlock(&mutex);
}

static void program_goes_on(unsigned vcpu, uint64_t time) {
    if (!text_is_open())
        return;
    pthread_mutex_lock(&mutex);
    if (time > on[vcpu].time)
        on[vcpu].time = time;
    stayed(vcpu);
    on[vcpu].gives_way = false;
    on[vcpu].may_wait = false;
    pthread_mutex_unlock(&mutex);
}

void threads_window(bool open, uint64_t time) {
    if (!text_is_open() || (open ? opened : !opened || closed))
        return;
    pthread_mutex_lock(&mutex);
    text_say(open ? "open" : "close");
    text_number(time);
    text_put('\n');
    opened = true;
    closed = !open;
    text_flush();
    pthread_mutex_unlock(&mutex);
}

void threads_report(uint64_t end) {
    if (!text_is_open())
        return;
    pthread_mutex_lock(&mutex);
    text_end(end);
    pthread_mutex_unlock(&mutex);
}

#else

const char *threads_setup(const char *path, const char *observed, unsigned count, bool whole) {
    (void)path, (void)observed, (void)count, (void)whole;
    return "threads can be seen with QEMU 9.2 or newer only";
}

void threads_vcpu(unsigned vcpu) {
    (void)vcpu;
}

void threads_instruction(struct qemu_plugin_insn *insn, uint64_t address, size_t left) {
    (void)insn, (void)address, (void)left;
}

void threads_halted(unsigned vcpu, bool halted, uint64_t time) {
    (void)vcpu, (void)halted, (void)time;
}

void threads_window(bool open, uint64_t time) {
    (void)open, (void)time;
}

void threads_report(uint64_t end) {
    (void)end;
}

#endif
