#include "operators.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096
#define MOST 100000 // threads at different places
#define MOST_AT_WORK 256

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

void operators_new(struct operators_thread *t) {
    *t = (struct operators_thread){.next = t->next, .place = t->place, .serial = ++serials};
}

struct operators_work *operators_begin(struct operators_thread *t, unsigned vcpu, uint64_t time) {
    if (!t->work && working < MOST_AT_WORK && (t->work = calloc(1, sizeof *t->work))) {
        *t->work = (struct operators_work){.id = t->id, .vcpu = vcpu, .begin = time};
        works[working++] = t->work;
    }
    t->is_at_work = t->work;
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

void operators_enter(struct operators_thread *t, uint32_t number, bool restarts, struct operators_place place,
                     uint64_t time) {
    int same = operators_find(t, place);
    if (same >= 0) {
        bool goes_on = restarts || t->calls[same].number == number;
        operators_leave(t, (unsigned)same + goes_on);
        if (goes_on)
            return;
    }
    if (t->depth == OPERATORS_DEPTH) {
        memmove(t->calls, t->calls + 1, (OPERATORS_DEPTH - 1) * sizeof *t->calls);
        t->depth--;
        t->asleep -= t->asleep > 0;
    }
    struct spans_moment begin = {time, t->last.read, t->last.step};
    t->calls[t->depth++] = (struct operators_call){.number = number, .place = place, .begin = begin};
}

void operators_woken(struct operators_thread *t, const struct spans_moment *since) {
    t->was_woken = t->depth > 0;
    t->asleep = t->depth;
    t->woken = *since;
}

static bool is_among(uint32_t number, const uint32_t *calls, unsigned of) {
    for (unsigned i = 0; i < of; i++)
        if (calls[i] == number)
            return true;
    return false;
}

bool operators_measure(struct operators_thread *t, unsigned which, const struct hooks *hooks, uint64_t time) {
    const struct operators_call *call = &t->calls[which];
    bool woke = t->was_woken && which < t->asleep, has_memory = true;
    for (unsigned n = 0; n < hooks->operations; n++) {
        const struct hook_operation *o = &hooks->operation[n];
        struct spans *spans = &t->work->spans[n];
        bool ends = is_among(call->number, o->to, o->ends) && (!o->is_wake || woke);
        spans->needs_read = o->is_wake;
        if (o->is_wake ? ends : is_among(call->number, o->from, o->begins))
            has_memory &= spans_begin(spans, o->is_wake ? &t->woken : &call->begin);
        if (ends)
            spans_end(spans, time, t->last.step);
    }
    return has_memory;
}

unsigned operators_works(struct operators_work *const **all) {
    *all = works;
    return working;
}
