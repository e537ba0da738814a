#include "operators_waits.h"

#if INSN_API >= 3

#define MOST_WAITS 1024
#define WORDS 1024

// Whom a word has woken.
static struct word {
    uint64_t word;    // 0: the place is free
    uint64_t sleeper; // the number of the only thread; 0: it was not only one
} words[WORDS];

// A reading of another thread that nearly tells the length which the program records.
struct nearest {
    uint64_t read, off;
    const struct operators_work *to_post; // which thread has not posted so since; NULL: it has
};

// A recorded length whose post is still to come.
static struct wait {
    struct operators_work *of;
    uint64_t sleeper; // the number of its thread
    uint64_t wanted, since, now, first;
    struct nearest begin;
    unsigned parts;
    struct part {
        struct spans *spans;
        uint64_t end;
    } part[HOOKS_OPERATIONS];
} waits[MOST_WAITS];
static unsigned waiting;

// NULL: there is no room.
static struct word *word_at(uint64_t word) {
    for (unsigned n = 0; n < WORDS; n++) {
        struct word *at = &words[((word * 0x9e3779b97f4a7c15u >> 54) + n) % WORDS];
        if (!at->word || at->word == word)
            return at;
    }
    return NULL;
}

void waits_woken(const struct operators_thread *t) {
    struct word *at = t->woken.word ? word_at(t->woken.word) : NULL;
    if (at && !at->word)
        *at = (struct word){t->woken.word, t->serial};
    else if (at && at->sleeper != t->serial)
        at->sleeper = 0;
}

static bool may_wake(uint64_t word, uint64_t sleeper) {
    const struct word *at = word ? word_at(word) : NULL;
    return !at || !at->sleeper || at->sleeper == sleeper;
}

// A thread that no word of its own has woken yet may have found any word set so far: also one by which only another
// thread has slept.
static bool has_own_word(uint64_t sleeper) {
    for (unsigned n = 0; n < WORDS; n++)
        if (words[n].word && words[n].sleeper == sleeper)
            return true;
    return false;
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
    bool is_choosy = has_own_word(wait->sleeper);
    for (unsigned w = 0; (work = operators_work(w)); w++)
        for (unsigned back = 1; work != wait->of && back <= work->posted && back <= OPERATORS_POSTS; back++) {
            const struct operators_post *post = &work->posts[(work->posted - back) % OPERATORS_POSTS];
            if (post->read <= wait->since)
                break; // the older ones are earlier
            if (!is_choosy || may_wake(post->word, wait->sleeper))
                may_be(&best, wait, post->read, NULL);
        }
    for (unsigned w = 0; (work = operators_work(w)); w++)
        if (work != wait->of)
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

// Those that wait for this thread's post, again.
static bool look_again(const struct operators_work *work) {
    bool has_memory = true;
    for (unsigned n = waiting; n-- > 0;) {
        if (waits[n].begin.to_post != work)
            continue;
        waits[n].begin = nearest(&waits[n]);
        if (!waits[n].begin.to_post)
            has_memory &= settle(n);
    }
    return has_memory;
}

bool waits_post(struct operators_work *work, uint64_t word) {
    work->posts[work->posted++ % OPERATORS_POSTS] = (struct operators_post){work->read, word};
    return look_again(work);
}

// What it read last came before no post.
static bool forget(struct operators_work *work) {
    work->read = UINT64_MAX;
    return look_again(work);
}

bool waits_read(struct operators_work *work, uint64_t time) {
    bool has_memory = forget(work);
    work->read = time; // too late for the waits that were recorded before
    return has_memory;
}

// The first histogram of a wake-up decides when it was asked for; others go on.
static bool ask(const struct operators_thread *t, uint64_t ns) {
    struct operators_work *work = t->work;
    uint64_t woken = t->woken.step ? t->woken.read : t->woken.time;
    struct wait wait = {.of = work, .sleeper = t->serial, .since = work->since, .now = t->last.read};
    wait.wanted = wait.now - ns;
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
    struct operators_work *work;
    bool has_memory = true;
    for (unsigned w = 0; (work = operators_work(w)); w++)
        has_memory &= forget(work);
    return has_memory;
}

#endif
