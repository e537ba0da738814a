#include "operators_waits.h"

#if INSN_API >= 3

#define MOST_WAITS 1024

// A reading of another thread that nearly tells the length which the program records.
struct nearest {
    uint64_t read, off;
    const struct operators_work *to_post; // which thread has not posted since; NULL: it has
};

// A recorded length whose post is still to come.
static struct wait {
    struct operators_work *of;
    uint64_t wanted, since, now, first;
    struct nearest begin;
    unsigned parts;
    struct part {
        struct spans *spans;
        uint64_t end;
    } part[HOOKS_OPERATIONS];
} waits[MOST_WAITS];
static unsigned waiting;

static bool has_posted(const struct operators_work *work) {
    return work->posted && work->posts[(work->posted - 1) % OPERATORS_POSTS] == work->read;
}

static void may_be(struct nearest *best, const struct wait *wait, uint64_t read, const struct operators_work *to_post) {
    uint64_t off = read > wait->wanted ? read - wait->wanted : wait->wanted - read;
    if (read > wait->since && read <= wait->now && off < best->off)
        *best = (struct nearest){read, off, to_post};
}

// Of what others had read after the last wake-up and before this moment; this moment, if there is nothing.
static struct nearest nearest(const struct wait *wait) {
    const struct operators_work *work;
    struct nearest best = {wait->now, UINT64_MAX, NULL};
    for (unsigned w = 0; (work = operators_work(w)); w++)
        for (unsigned back = 1; work != wait->of && back <= work->posted && back <= OPERATORS_POSTS; back++) {
            uint64_t read = work->posts[(work->posted - back) % OPERATORS_POSTS];
            if (read <= wait->since)
                break; // the older ones are earlier
            may_be(&best, wait, read, NULL);
        }
    for (unsigned w = 0; (work = operators_work(w)); w++)
        if (work != wait->of && !has_posted(work))
            may_be(&best, wait, work->read, work);
    return best;
}

static bool settle(unsigned n) {
    struct wait *wait = &waits[n];
    bool has_memory = true;
    for (unsigned i = 0; i < wait->parts; i++)
        has_memory &= spans_record(wait->part[i].spans, spans_length(wait->begin.read, wait->part[i].end));
    if (wait->of->since == wait->first)
        wait->of->asked = wait->begin.read;
    *wait = waits[--waiting];
    return has_memory;
}

bool waits_post(struct operators_work *work) {
    bool has_memory = true;
    work->posts[work->posted++ % OPERATORS_POSTS] = work->read;
    for (unsigned n = waiting; n-- > 0;)
        if (waits[n].begin.to_post == work)
            has_memory &= settle(n);
    return has_memory;
}

bool waits_read(struct operators_work *work, uint64_t time) {
    bool has_memory = true;
    work->read = UINT64_MAX; // what it read before was no post, and what it reads now comes too late
    for (unsigned n = waiting; n-- > 0;) {
        if (waits[n].begin.to_post != work)
            continue;
        waits[n].begin = nearest(&waits[n]);
        if (!waits[n].begin.to_post)
            has_memory &= settle(n);
    }
    work->read = time;
    return has_memory;
}

// The first histogram of a wake-up decides when it was asked for; others go on.
static bool ask(const struct operators_thread *t, uint64_t ns) {
    struct operators_work *work = t->work;
    uint64_t woken = t->woken.step ? t->woken.read : t->woken.time;
    struct wait wait = {.of = work, .wanted = t->last.read - ns, .since = work->since, .now = t->last.read};
    if (woken > work->since && t->last.step == t->step + 1)
        wait.begin.read = woken;
    else
        wait.begin = nearest(&wait);
    wait.first = work->since = work->asked = wait.begin.read;
    if (wait.begin.to_post && waiting < MOST_WAITS)
        waits[waiting++] = wait;
    return !wait.begin.to_post || waiting < MOST_WAITS;
}

bool waits_record(struct operators_thread *t, struct spans *spans, uint64_t ns) {
    struct operators_work *work = t->work;
    bool has_room = work->since > spans->since || ask(t, ns);
    unsigned n = 0;
    spans->since = work->since;
    while (n < waiting && (waits[n].of != work || waits[n].first != work->since))
        n++;
    if (n == waiting || waits[n].parts == HOOKS_OPERATIONS)
        return spans_record(spans, spans_length(work->asked, t->last.read)) && has_room;
    waits[n].part[waits[n].parts++] = (struct part){spans, t->last.read};
    return has_room;
}

bool waits_close(void) {
    bool has_memory = true;
    while (waiting)
        has_memory &= settle(waiting - 1);
    return has_memory;
}

#endif
