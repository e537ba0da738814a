// Lines of the log, beside those of spans.c and returns.c:
//   measured NAME                        a histogram, before all threads
//   unmeasured NAME REASON               why not
//   thread N ID VCPU BEGIN END STARTED ENDED    the Nth thread at work, its marks in ns, and what its program read
//                                        first from its clock after each of them; `-`: there is none
//   asked NAME THREAD COUNT UNTIL SINCE  of the functions that begin its spans and say until when they last: the sums
//                                        of what they said, in the program's time, and of the machine's time then
//   children THREAD MADE MOST CALLS PRODUCTS OWN   threads and processes that it made in its work, how many of
//                                        them lived at once, and how many system calls and multiplications those
//                                        made that made the fewest; its own multiplications, with those of all
//                                        of them that ended in its work
#include "operators.h"

#include "journal.h"
#include "operators_waits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096
#define MOST_BYTES (3u << 19) // of the lines; insn/log_reader.py reads at most 4 MiB of log
#define MOST 100000 // threads at different places
#define MOST_AT_WORK 256
#define SOON 10000 // ns within which a thread that has read its clock uses what it read, unless it loses its CPU

static struct operators_thread *table[BUCKETS];
static struct operators_work *works[MOST_AT_WORK];
static unsigned count, working;
static uint64_t serials;

struct operators_thread *operators_at(uint64_t place) {
    struct operators_thread **at = &table[place * 0x9e3779b97f4a7c15u >> 52];
    while (*at && (*at)->place != place)
        at = &(*at)->next;
    if (!*at && count < MOST && (*at = calloc(1, sizeof **at))) {
        (*at)->place = place;
        (*at)->serial = ++serials;
        count++;
    }
    return *at;
}

void operators_new(struct operators_thread *t, struct operators_thread *maker) {
    struct operators_work *work = maker && maker->is_at_work ? maker->work : NULL;
    *t = (struct operators_thread){.next = t->next, .place = t->place, .serial = ++serials, .maker = work};
    if (!work)
        return;
    work->made++;
    if (++work->alive > work->most_alive)
        work->most_alive = work->alive;
}

void operators_ended(struct operators_thread *t) {
    if (!t->maker)
        return;
    t->maker->alive--;
    t->maker->products += t->products;
    if (t->entered < t->maker->fewest_calls)
        t->maker->fewest_calls = t->entered;
    if (t->products < t->maker->fewest_products)
        t->maker->fewest_products = t->products;
    t->maker = NULL;
}

struct operators_work *operators_work(unsigned number) {
    return number < working ? works[number] : NULL;
}

struct operators_work *operators_begin(struct operators_thread *t, unsigned vcpu, uint64_t time) {
    if (!t->work && working < MOST_AT_WORK && (t->work = calloc(1, sizeof *t->work))) {
        *t->work = (struct operators_work){.id = t->id, .vcpu = vcpu, .begin = time};
        t->work->fewest_calls = t->work->fewest_products = UINT64_MAX;
        works[working++] = t->work;
    }
    t->is_at_work = t->work;
    t->woken = (struct spans_moment){0}; // at the starting line
    return t->work;
}

int operators_find(const struct operators_thread *t, struct operators_place place) {
    for (int i = (int)t->depth - 1; i >= 0; i--)
        if (t->calls[i].place.back == place.back && t->calls[i].place.stack == place.stack)
            return i;
    return -1;
}

// If it was not within a call that remains when it was woken, no call ends that wake-up any more.
void operators_leave(struct operators_thread *t, unsigned depth) {
    t->depth = depth;
    if (t->asleep > depth)
        t->asleep = depth;
    t->was_woken &= t->asleep > 0;
}

static bool is_among(uint32_t number, const uint32_t *calls, unsigned of) {
    for (unsigned i = 0; i < of; i++)
        if (calls[i] == number)
            return true;
    return false;
}

// False: there is no memory.
static bool post(struct operators_thread *t, uint32_t number, uint64_t word, const struct hooks *hooks) {
    bool is_post = false;
    for (unsigned n = 0; n < hooks->operations; n++) {
        const struct hook_operation *o = &hooks->operation[n];
        is_post |= o->is_wake && is_among(number, o->from, o->begins);
    }
    return !is_post || !t->is_at_work || waits_post(t->work, word);
}

// It read its clock just before: what it did between, beyond what an honest one does, it did not ask for. One that lost
// its CPU there did.
static void ask(struct operators_thread *t, uint32_t number, uint64_t until, uint64_t time, const struct hooks *hooks) {
    uint64_t gap = t->last.step && time > t->last.read ? time - t->last.read : 0;
    for (unsigned n = 0; t->is_at_work && n < hooks->operations; n++) {
        struct operators_asked *asked = &t->work->until[n];
        if (!hooks->operation[n].has_until || !is_among(number, hooks->operation[n].from, hooks->operation[n].begins))
            continue;
        asked->count++;
        asked->until += until;
        asked->since += time - gap + (gap < SOON ? gap : SOON);
    }
}

bool operators_enter(struct operators_thread *t, uint32_t number, uint64_t argument, struct operators_place place,
                     uint64_t time, const struct hooks *hooks) {
    uint64_t word = number >= HOOKS_FUNCTION ? argument : t->depth ? t->calls[t->depth - 1].begin.word : 0;
    bool has_memory = post(t, number, word, hooks);
    ask(t, number, argument, time, hooks);
    int same = operators_find(t, place);
    if (same >= 0) {
        bool goes_on = number == hooks->restart || t->calls[same].number == number;
        operators_leave(t, (unsigned)same + goes_on);
        if (goes_on)
            return has_memory;
    }
    if (t->depth == OPERATORS_DEPTH) {
        memmove(t->calls, t->calls + 1, (OPERATORS_DEPTH - 1) * sizeof *t->calls);
        t->depth--;
        t->asleep -= t->asleep > 0;
    }
    struct spans_moment begin = {time, t->last.read, t->last.step, word};
    t->calls[t->depth++] = (struct operators_call){.number = number, .place = place, .begin = begin};
    return has_memory;
}

void operators_woken(struct operators_thread *t, const struct spans_moment *since) {
    t->was_woken = t->depth > 0;
    t->asleep = t->depth;
    t->woken = *since;
    t->step = t->last.step;
    waits_woken(t);
}

bool operators_measure(struct operators_thread *t, unsigned which, const struct hooks *hooks, uint64_t time) {
    const struct operators_call *call = &t->calls[which];
    bool woke = t->was_woken && which < t->asleep, has_memory = true;
    for (unsigned n = 0; n < hooks->operations; n++) {
        const struct hook_operation *o = &hooks->operation[n];
        struct spans *spans = &t->work->spans[n];
        if (o->is_wake && o->record)
            continue; // operators_record
        bool ends = is_among(call->number, o->to, o->ends) && (!o->is_wake || woke);
        spans->needs_read = o->is_wake;
        spans->is_part = o->record;
        if (o->is_wake ? ends : is_among(call->number, o->from, o->begins))
            has_memory &= spans_begin(spans, o->is_wake ? &t->woken : &call->begin);
        if (ends)
            spans_end(spans, time, t->last.step);
    }
    return has_memory;
}

bool operators_record(struct operators_thread *t, const struct hooks *hooks, unsigned histogram, uint64_t ns) {
    bool has_memory = true;
    for (unsigned n = 0; n < hooks->operations; n++) {
        struct spans *spans = &t->work->spans[n];
        if (hooks->operation[n].record != histogram + 1)
            continue;
        if (hooks->operation[n].is_wake)
            has_memory &= waits_record(t, spans, ns);
        else
            has_memory &= spans_record_parts(spans);
    }
    return has_memory;
}

// ---- the end

bool operators_close(struct operators_work *work, unsigned operations) {
    bool has_memory = true;
    for (unsigned n = 0; n < operations; n++)
        has_memory &= spans_close(&work->spans[n]);
    return has_memory;
}

static const char *time_or_none(char *into, size_t size, bool is_known, uint64_t time) {
    snprintf(into, size, "-");
    if (is_known)
        snprintf(into, size, "%" PRIu64, time);
    return into;
}

static void say_thread(unsigned number, const struct operators_work *work) {
    char end[24], started[24], ended[24];
    journal_line("thread %u %" PRIu64 " %u %" PRIu64 " %s %s %s", number, work->id, work->vcpu, work->begin,
                 time_or_none(end, sizeof end, work->has_end, work->end),
                 time_or_none(started, sizeof started, work->has_started, work->started),
                 time_or_none(ended, sizeof ended, work->has_ended, work->ended));
}

// The spans of one operation, while there is room in the log.
static void report(unsigned n, const struct hook_operation *o) {
    for (unsigned i = 0; i < working; i++) {
        const struct operators_asked *asked = &works[i]->until[n];
        spans_report(&works[i]->spans[n], o->name, i);
        if (o->has_until)
            journal_line("asked %s %u %" PRIu64 " %" PRIu64 " %" PRIu64, o->name, i, asked->count, asked->until,
                         asked->since);
    }
}

static void say_children(unsigned number, const struct operators_work *work) {
    bool has_ended = work->fewest_calls != UINT64_MAX;
    journal_line("children %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, number, work->made,
                 work->most_alive, has_ended ? work->fewest_calls : 0, has_ended ? work->fewest_products : 0,
                 work->has_end ? work->products : 0);
}

void operators_report(const struct hooks *hooks, const char *lost) {
    bool fits[HOOKS_OPERATIONS] = {false};
    size_t used = 0;
    if (!waits_close() && !lost)
        lost = OPERATORS_NO_MEMORY;
    for (unsigned i = 0; i < working; i++)
        if (!operators_close(works[i], hooks->operations) && !lost)
            lost = OPERATORS_NO_MEMORY;
    for (unsigned n = 0; n < hooks->operations; n++) {
        size_t more = 0;
        for (unsigned i = 0; i < working && !lost; i++)
            more += spans_room(&works[i]->spans[n]);
        fits[n] = !lost && used + more <= MOST_BYTES;
        used += fits[n] ? more : 0;
        if (fits[n])
            journal_line("measured %s", hooks->operation[n].name);
        else
            journal_line("unmeasured %s %s", hooks->operation[n].name, lost ? lost : "the log has no room for it");
    }
    for (unsigned i = 0; i < working && used; i++)
        say_thread(i, works[i]);
    for (unsigned n = 0; n < hooks->operations; n++)
        if (fits[n])
            report(n, &hooks->operation[n]);
    for (unsigned i = 0; i < working && !lost; i++)
        say_children(i, works[i]);
}
