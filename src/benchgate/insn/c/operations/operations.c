// A system call ends where the program goes on behind it, with the stack that it had. The child of a fork goes on
// there, too, but has made no call. A signal's handler makes calls within the one that it interrupts; one that is
// restarted afterwards comes to its first instruction again, with the same stack, and goes on. A thread that
// leaves a call in another way (a jump out of a handler, a new program) never comes back to it: what is above the
// call that returns is forgotten, and the oldest one if there are too many.
//
// A time is what the vCPU could have been shown: no read of the clock before is later, and none after earlier.
#include "operations.h"

#if INSN_API >= 3

#include "clock.h"
#include "counts.h"
#include "exchanges.h"
#include "marks.h"
#include "operators.h"
#include "operators_waits.h"
#include "returns.h"
#include "threads_guest.h"

#include <string.h>

#define FAILURES 4095            // a result from -FAILURES to -1 is an error
#define PAGE 4096u
#define HISTOGRAM 29824u         // the bytes of the guest's struct bench_hist

static struct hooks hooks;
static bool follows;     // calls and threads
static const char *lost; // why there are no spans; NULL: there are
static struct on {
    struct operators_thread *thread; // NULL: it is not known
    bool reads;                      // the program is about to read the clock
    uint64_t products;               // of programs, when it began to run
} on[LOCKSTEP_MAX];
static uint64_t near_hooks[64]; // a bit for each address of a hook or function, modulo 4096
static _Thread_local struct {
    bool is_known, is_program;
    uint64_t begin;
} block;

// ---- setup

static void near(uint64_t address) {
    near_hooks[address / 64 % 64] |= UINT64_C(1) << address % 64;
}

static bool is_followed(enum hook_kind kind) {
    return kind == HOOK_FORK || kind == HOOK_EXIT || kind == HOOK_SWITCH || kind == HOOK_WAKE || kind == HOOK_SEND ||
           kind == HOOK_ASK || kind == HOOK_PUT || kind == HOOK_GET;
}

// A hook without what it needs tells nothing of threads.
static bool is_whole(const struct hook *h) {
    if (h->kind == HOOK_SWITCH)
        return h->to.length;
    if (h->kind == HOOK_EXIT)
        return true;
    return h->kind == HOOK_PUT || h->kind == HOOK_GET ? h->object.length : h->thread.length;
}

static const char *missing(void) {
    bool has[HOOK_KINDS] = {false};
    for (unsigned n = 0; n < hooks.count; n++)
        has[hooks.all[n].kind] |= is_whole(&hooks.all[n]);
    if (!hooks.id.length || !has[HOOK_SWITCH])
        return "the system names no switch of threads that this kernel has";
    if (!has[HOOK_FORK])
        return "the system names no begin of threads that this kernel has";
    for (unsigned o = 0; o < hooks.operations; o++)
        if (hooks.operation[o].is_wake && !has[HOOK_WAKE])
            return "the system names no wake-up that this kernel has";
    return NULL;
}

const char *operations_setup(const char *observed, unsigned vcpus) {
    if (!observed || !guest_can_read())
        return NULL;
    const char *why = hooks_read(&hooks, observed);
    if (why)
        return why;
    lost = missing();
    follows = !lost;
    for (unsigned n = 0; n < hooks.count; n++)
        for (unsigned i = 0; is_followed(hooks.all[n].kind) && i < hooks.all[n].places; i++)
            near(hooks.all[n].at[i]);
    for (unsigned f = 0; f < hooks.functions; f++)
        near(hooks.function[f].begin);
    near(hooks.recorder);
    bool has_objects = hooks.has[HOOK_PUT] && hooks.has[HOOK_GET]; // each names an object
    return !follows || returns_setup(vcpus, has_objects) ? NULL : "no memory for the returns of system calls";
}

static void lose(const char *why) {
    lost = lost ? lost : why;
}

// ---- calls

static uint64_t seen_time(unsigned vcpu, uint64_t left) {
    uint64_t own = clock_before(vcpu, left), shown = clock_last_shown();
    return own > shown ? own : shown;
}

static void move_bytes(const struct operators_thread *t, const struct operators_call *call, unsigned vcpu,
                       uint64_t bytes) {
    bool is_known = true;
    if (call->way == OPERATORS_PUTS)
        is_known = exchanges_put(call->object, t->serial, vcpu, bytes);
    else if (call->way == OPERATORS_GETS)
        is_known = exchanges_got(call->object, t->serial, vcpu, call->number, bytes);
    if (!is_known)
        returns_unexchanged();
}

// The call at this place returns; those above it never will.
static void returned(struct operators_thread *t, unsigned place, unsigned vcpu, size_t left) {
    struct operators_call call = t->calls[place];
    uint64_t result = guest_result(vcpu);
    bool is_function = call.number >= HOOKS_FUNCTION;
    bool fails = result >= (uint64_t)-FAILURES ||
                 (is_function && result <= UINT32_MAX && (uint32_t)result >= (uint32_t)-FAILURES);
    if (!fails && t->is_at_work && !operators_measure(t, place, &hooks, seen_time(vcpu, left)))
        lose(OPERATORS_NO_MEMORY);
    if (!fails && !is_function) {
        returns_succeeded(vcpu, call.number, result);
        move_bytes(t, &call, vcpu, result);
    }
    operators_leave(t, place);
}

// The pointer of a callback carries an address, without its highest bits, and the instructions that are left.
#define ADDRESS ((UINT64_C(1) << 48) - 1)

static void enter(struct operators_thread *t, uint32_t number, uint64_t argument, struct operators_place place,
                  uint64_t time) {
    if (!operators_enter(t, number, argument, place, time, &hooks))
        lose(OPERATORS_NO_MEMORY);
}

static void enters_kernel(unsigned vcpu, void *data) {
    struct operators_thread *t = on[vcpu].thread;
    uint64_t number = guest_call(vcpu);
    if (!t)
        return;
    t->entered++;
    enter(t, number < HOOKS_FUNCTION ? (uint32_t)number : HOOKS_FUNCTION - 1, 0,
          (struct operators_place){(uintptr_t)data, guest_stack(vcpu)}, seen_time(vcpu, 1));
}

static void is_behind_call(unsigned vcpu, void *data) {
    struct operators_thread *t = on[vcpu].thread;
    if (!t || !t->depth)
        return;
    int place = operators_find(t, (struct operators_place){(uintptr_t)data & ADDRESS, guest_stack(vcpu)});
    if (place >= 0)
        returned(t, (unsigned)place, vcpu, (uintptr_t)data >> 48);
}

// A function has no place behind it: its number is there.
static void enters_function(unsigned vcpu, void *data) {
    struct operators_thread *t = on[vcpu].thread;
    uint32_t number = HOOKS_FUNCTION + ((uintptr_t)data & 0xff);
    uint64_t time = seen_time(vcpu, (uintptr_t)data >> 8);
    if (t)
        enter(t, number, guest_argument(vcpu, 0), (struct operators_place){number, guest_stack(vcpu)}, time);
}

// Which of a worker's histograms it is tells its address: they are one after the other, of all workers, from the
// begin of a page on (struct bench_hist in guest/bench.h). 32 of them are whole pages.
static void records(unsigned vcpu, void *unused) {
    (void)unused;
    struct operators_thread *t = on[vcpu].thread;
    unsigned which = 0;
    if (!t || !t->is_at_work)
        return;
    uint64_t place = guest_argument(vcpu, 0) % PAGE, value = guest_argument(vcpu, 1);
    while (which < 32 && which * HISTOGRAM % PAGE != place)
        which++;
    if (!operators_record(t, &hooks, which % HOOKS_HISTOGRAMS, value))
        lose(OPERATORS_NO_MEMORY);
}

static void leaves_function(unsigned vcpu, void *data) {
    struct operators_thread *t = on[vcpu].thread;
    if (!t || !t->depth)
        return;
    uint64_t function = HOOKS_FUNCTION + ((uintptr_t)data & 0xff);
    int place = operators_find(t, (struct operators_place){function, guest_stack(vcpu)});
    if (place >= 0)
        returned(t, (unsigned)place, vcpu, (uintptr_t)data >> 8);
}

// ---- threads

// What the running thread did since it began to run.
static void settle(unsigned vcpu) {
    uint64_t now = counts_products(vcpu);
    if (on[vcpu].thread)
        on[vcpu].thread->products += now - on[vcpu].products;
    on[vcpu].products = now;
}

static void ended(unsigned vcpu) {
    settle(vcpu);
    if (on[vcpu].thread)
        operators_ended(on[vcpu].thread);
}

static void switched(const struct hook *h, unsigned vcpu) {
    settle(vcpu);
    struct operators_thread *t = operators_at(program_run(&h->to, vcpu, 0));
    if (!t)
        lose("there were too many threads");
    else if (!t->has_id)
        t->id = program_run(&hooks.id, vcpu, t->place) & UINT32_MAX;
    if (t) {
        t->has_id = true;
        t->was_sent = false;
    }
    on[vcpu].thread = t;
    on[vcpu].reads = false;
}

static void forked(const struct hook *h, unsigned vcpu) {
    struct operators_thread *t = operators_at(program_run(&h->thread, vcpu, 0));
    if (t)
        operators_new(t, on[vcpu].thread);
}

// The call in which the running thread wakes another one, if it does so itself.
static const struct operators_call *waking(unsigned vcpu) {
    struct operators_thread *t = on[vcpu].thread;
    bool is_interrupt = hooks.interrupt.length && program_run(&hooks.interrupt, vcpu, 0);
    return t && t->depth && !is_interrupt ? &t->calls[t->depth - 1] : NULL;
}

static void wakes(const struct hook *h, unsigned vcpu) {
    struct operators_thread *t = operators_at(program_run(&h->thread, vcpu, 0));
    const struct operators_call *call = t && t != on[vcpu].thread ? waking(vcpu) : NULL;
    if (t && t->was_sent)
        operators_woken(t, &t->sent);
    else if (call)
        operators_woken(t, &call->begin);
    if (t)
        t->was_sent = false;
}

// The wake-up is asked for, or sent to another CPU. The first one counts: what the kernel does with it later, perhaps in
// the call of a thread that has nothing to do with it, is a part of the wait.
static void sends(const struct hook *h, unsigned vcpu) {
    struct operators_thread *t = operators_at(program_run(&h->thread, vcpu, 0));
    const struct operators_call *call = t ? waking(vcpu) : NULL;
    if (!t || t->was_sent)
        return;
    t->was_sent = call;
    if (call)
        t->sent = call->begin;
}

static void moves(const struct hook *h, unsigned vcpu) {
    struct operators_thread *t = on[vcpu].thread;
    if (!t || !t->depth || t->calls[t->depth - 1].number >= HOOKS_FUNCTION)
        return;
    struct operators_call *call = &t->calls[t->depth - 1];
    call->object = program_run(&h->object, vcpu, 0);
    call->way = !call->object ? OPERATORS_STAYS : h->kind == HOOK_PUT ? OPERATORS_PUTS : OPERATORS_GETS;
}

static void reached(unsigned vcpu, void *data) {
    const struct hook *h = &hooks.all[(uintptr_t)data];
    guest_begin(vcpu);
    if (h->when.length && !program_run(&h->when, vcpu, 0))
        return;
    if (h->kind == HOOK_SWITCH)
        switched(h, vcpu);
    else if (h->kind == HOOK_FORK)
        forked(h, vcpu);
    else if (h->kind == HOOK_EXIT)
        ended(vcpu);
    else if (h->kind == HOOK_WAKE)
        wakes(h, vcpu);
    else if (h->kind == HOOK_SEND || h->kind == HOOK_ASK)
        sends(h, vcpu);
    else if (h->kind == HOOK_PUT || h->kind == HOOK_GET)
        moves(h, vcpu);
}

// ---- reads of the clock

static void reads_clock(unsigned vcpu, void *unused) {
    (void)unused;
    on[vcpu].reads = true;
}

static void read_after_mark(struct operators_work *work, uint64_t time) {
    if (work && work->has_end && !work->has_ended) {
        work->ended = time;
        work->has_ended = true;
    } else if (work && !work->has_started) {
        work->started = time;
        work->has_started = true;
    }
}

void operations_shown(unsigned vcpu, uint64_t time) {
    struct operators_thread *t = on[vcpu].thread;
    if (!follows || !on[vcpu].reads)
        return;
    on[vcpu].reads = false;
    if (!t)
        return;
    t->last.read = time;
    t->last.step++;
    if (t->work && !waits_read(t->work, time))
        lose(OPERATORS_NO_MEMORY);
    read_after_mark(t->work, time);
    for (unsigned n = 0; t->is_at_work && n < hooks.operations; n++)
        spans_read(&t->work->spans[n], time);
}

// ---- translation

void operations_block(uint64_t address) {
    block.is_known = false;
    block.begin = address;
}

// All of a block has one privilege: that of its vCPU, which is about to execute it.
static bool is_of_program(void) {
    if (!block.is_known && !guest_level((unsigned)clock_self, &block.is_program))
        block.is_program = false;
    block.is_known = true;
    return block.is_program;
}

// A system call ends its block.
static bool follows_call(uint64_t address) {
    struct arch_insn before = {.length = arch_guest->call_length};
    if (address != block.begin || !is_of_program())
        return false;
    guest_begin((unsigned)clock_self);
    return guest_read((unsigned)clock_self, address - before.length, before.bytes, before.length) &&
           arch_guest->kind(&before) == ARCH_CALLS;
}

static void call_back(struct qemu_plugin_insn *insn, qemu_exec_callback *callback, uint64_t data) {
    qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, QEMU_READS_REGS, (void *)(uintptr_t)data);
}

static void look_for_hooks(struct qemu_plugin_insn *insn, uint64_t address, size_t left) {
    if (!(near_hooks[address / 64 % 64] >> address % 64 & 1))
        return;
    for (unsigned n = 0; n < hooks.count; n++)
        for (unsigned i = 0; is_followed(hooks.all[n].kind) && i < hooks.all[n].places; i++)
            if (hooks.all[n].at[i] == address && is_whole(&hooks.all[n]))
                call_back(insn, reached, n);
    for (unsigned f = 0; f < hooks.functions; f++)
        if (hooks.function[f].begin == address && is_of_program())
            call_back(insn, enters_function, left << 8 | f);
    if (hooks.recorder == address && is_of_program())
        call_back(insn, records, 0);
}

static void look_for_returns(struct qemu_plugin_insn *insn, const struct arch_insn *seen, uint64_t address,
                             size_t left) {
    for (unsigned f = 0; f < hooks.functions; f++)
        if (address >= hooks.function[f].begin && address < hooks.function[f].end &&
            arch_guest->returns(seen) && is_of_program())
            call_back(insn, leaves_function, left << 8 | f);
}

void operations_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, uint64_t address,
                            size_t left) {
    if (!follows)
        return;
    if (follows_call(address))
        call_back(insn, is_behind_call, (uint64_t)left << 48 | (address & ADDRESS));
    look_for_hooks(insn, address, left);
    look_for_returns(insn, seen, address, left);
    enum arch_kind kind = arch_guest->kind(seen);
    if (kind == ARCH_CALLS && is_of_program())
        call_back(insn, enters_kernel, (address + seen->length) & ADDRESS);
    else if (kind == ARCH_READS_CLOCK && is_of_program())
        qemu_plugin_register_vcpu_insn_exec_cb(insn, reads_clock, QEMU_NO_REGS, NULL);
}

// ---- the work, and the end

void operations_mark(unsigned kind, unsigned vcpu, uint64_t time) {
    struct operators_thread *t = on[vcpu].thread;
    if (!follows)
        return;
    settle(vcpu);
    returns_mark(kind);
    if (kind == MARKS_WORK_BEGIN && !t)
        lose("a worker began before its CPU had switched to a thread");
    else if (kind == MARKS_WORK_BEGIN && !operators_begin(t, vcpu, time))
        lose("there were too many workers");
    else if (kind == MARKS_WORK_BEGIN)
        t->work->products -= t->products;
    if (kind != MARKS_WORK_END || !t || !t->is_at_work)
        return;
    t->is_at_work = false;
    t->work->has_end = true;
    t->work->products += t->products;
    t->work->end = time;
    if (!operators_close(t->work, hooks.operations))
        lose(OPERATORS_NO_MEMORY);
}

void operations_report(void) {
    operators_report(&hooks, lost);
}

#else

const char *operations_setup(const char *observed, unsigned vcpus) {
    (void)observed, (void)vcpus;
    return NULL;
}

void operations_block(uint64_t address) {
    (void)address;
}

void operations_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, uint64_t address,
                            size_t left) {
    (void)insn, (void)seen, (void)address, (void)left;
}

void operations_mark(unsigned kind, unsigned vcpu, uint64_t time) {
    (void)kind, (void)vcpu, (void)time;
}

void operations_shown(unsigned vcpu, uint64_t time) {
    (void)vcpu, (void)time;
}

void operations_report(void) {
}

#endif
