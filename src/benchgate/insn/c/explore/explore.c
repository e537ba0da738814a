#include "explore.h"

#include "chance.h"
#include "lines.h"

#include <string.h>

#define MOST (UINT64_C(1000000000000000000) - 1)
#define MOST_NS 1000000000
#define MOST_COUNT UINT64_C(1000000000000)
#define MOST_REACH 1000000

// The purposes of random values, which keep them apart.
enum { DRAWN = 11, PRIORITY, CHANGE, INTERRUPTED };

const char *const explore_name[EXPLORE_STRATEGIES] = {"sync", "pct", "anywhere", "interrupt",
                                                    "place", "points"};

// ---- the file

static enum explore_strategy read_strategy(struct lines *l) {
    lines_expect(l, "strategy");
    for (unsigned i = 0; i < EXPLORE_STRATEGIES; i++)
        if (!l->failed && strcmp(l->rest, explore_name[i]) == 0)
            return i;
    lines_fail(l, "strategy: `%s` is unknown", l->failed ? "" : l->rest);
    return EXPLORE_POINTS;
}

static void read_points(struct lines *l, struct explore_rules *r) {
    uint64_t last[LOCKSTEP_MAX] = {0};
    while (lines_next_is(l, "point")) {
        lines_expect(l, "point");
        if (r->count == EXPLORE_MOST) {
            lines_fail(l, "point: there are more than %d", EXPLORE_MOST);
            return;
        }
        struct explore_point *p = &r->points[r->count++];
        p->vcpu = (unsigned)lines_number(l, 0, LOCKSTEP_MAX - 1);
        p->at = lines_number(l, 0, MOST);
        p->ns = lines_number(l, 0, MOST_NS);
        lines_end(l);
        if (!l->failed && p->at < last[p->vcpu])
            lines_fail(l, "point: it comes before the one of its vCPU that is listed before it");
        if (!l->failed)
            last[p->vcpu] = p->at;
    }
}

static void read_places(struct lines *l, struct explore_rules *r) {
    while (lines_next_is(l, "place")) {
        if (r->places == EXPLORE_PLACES) {
            lines_fail(l, "place: there are more than %d", EXPLORE_PLACES);
            return;
        }
        r->place[r->places++] = lines_single(l, "place", 0, EXPLORE_ADDRESS);
    }
}

bool explore_read(FILE *in, struct explore_rules *r, char *problem, size_t size) {
    struct lines l = {.in = in, .problem = problem, .size = size, .key = ""};
    memset(r, 0, sizeof *r);
    lines_single(&l, "benchgate-exploration", 1, 1);
    r->strategy = read_strategy(&l);
    r->seed = lines_single(&l, "seed", 0, MOST);
    r->from = lines_single(&l, "from_ns", 0, MOST);
    r->until = lines_single(&l, "until_ns", 0, MOST);
    r->until = r->until ? r->until : EXPLORE_NEVER;
    r->window = lines_single(&l, "window", 0, 1);
    r->one_in = lines_single(&l, "one_in", 1, MOST_COUNT);
    r->reach = lines_single(&l, "reach", 0, MOST_REACH);
    r->shortest = lines_single(&l, "shortest_ns", 1, MOST_NS);
    r->longest = lines_single(&l, "longest_ns", r->shortest, MOST_NS);
    r->depth = lines_single(&l, "depth", 1, EXPLORE_DEPTH);
    r->steps = lines_single(&l, "steps", 0, MOST_COUNT);
    if (r->strategy == EXPLORE_PCT && r->depth > 1 && !r->steps)
        lines_fail(&l, "steps: a depth of more than 1 needs the number of steps of a run");
    if (r->strategy == EXPLORE_POINTS)
        read_points(&l, r);
    if (r->strategy == EXPLORE_PLACE)
        read_places(&l, r);
    lines_finish(&l);
    return !l.failed;
}

// ---- chance

static uint64_t draw(struct explore *e, unsigned c) {
    return chance_of(e->rules.seed, DRAWN, e->vcpu[c].drawn++, c);
}

// Draws a value from `least` to `most`, in which each doubling is equally likely.
static uint64_t draw_between(struct explore *e, unsigned c, uint64_t least, uint64_t most) {
    unsigned doublings = 1;
    while (least << doublings <= most)
        doublings++;
    uint64_t low = least << draw(e, c) % doublings, high = 2 * low - 1;
    return low + draw(e, c) % ((high < most ? high : most) - low + 1);
}

static uint64_t draw_reach(struct explore *e, unsigned c) {
    uint64_t kind = draw(e, c) % 4, reach = e->rules.reach;
    if (kind < 2)
        return kind < reach ? kind : reach;
    return reach < 2 ? reach : draw_between(e, c, 2, reach);
}

static uint64_t draw_gap(struct explore *e, unsigned c) {
    return 1 + draw(e, c) % (2 * e->rules.one_in);
}

// ---- pct

// The priorities 1 to depth - 1 are for those that are lowered.
static void set_priorities(struct explore *e) {
    for (unsigned c = 0; c < e->vcpus; c++) {
        unsigned other = (unsigned)(chance_of(e->rules.seed, PRIORITY, 0, c) % (c + 1));
        e->vcpu[c].priority = e->vcpu[other].priority;
        e->vcpu[other].priority = e->rules.depth + c;
    }
    for (unsigned i = 0; i + 1 < e->rules.depth; i++)
        e->change[i] = 1 + chance_of(e->rules.seed, CHANGE, i, 0) % e->rules.steps;
}

static void lower(struct explore *e, struct explore_vcpu *v) {
    for (unsigned i = 0; i + 1 < e->rules.depth; i++)
        if (e->change[i] == e->steps)
            v->priority = i + 1;
}

// Whether a vCPU with a higher priority is busy. With `gives_up` no such one is waited for until it is not.
static bool is_behind(struct explore *e, unsigned c, const bool *busy, bool gives_up) {
    bool behind = false;
    for (unsigned i = 0; i < e->vcpus; i++) {
        struct explore_vcpu *other = &e->vcpu[i];
        other->endless &= busy[i];
        if (!busy[i] || other->endless || other->priority <= e->vcpu[c].priority)
            continue;
        behind = true;
        other->endless = gives_up;
    }
    return behind;
}

static bool hold(struct explore *e, unsigned c, const bool *busy, uint64_t *ns) {
    struct explore_vcpu *v = &e->vcpu[c];
    uint64_t left = e->rules.longest - v->held;
    if (is_behind(e, c, busy, !left) && left) {
        v->piece = v->piece ? 2 * v->piece : e->rules.shortest;
        v->piece = v->piece < left ? v->piece : left;
        v->held += v->piece;
        *ns = v->piece;
        return true;
    }
    v->held = v->piece = 0;
    v->next = EXPLORE_NEVER;
    return false;
}

// ---- points

static void next_point(struct explore *e, unsigned c, size_t from) {
    struct explore_vcpu *v = &e->vcpu[c];
    for (v->point = from; v->point < e->rules.count; v->point++)
        if (e->rules.points[v->point].vcpu == c)
            break;
    v->next = v->point < e->rules.count ? e->rules.points[v->point].at : EXPLORE_NEVER;
}

// ----

const char *explore_begin(struct explore *e, unsigned vcpus) {
    e->vcpus = vcpus;
    for (size_t i = 0; i < e->rules.count; i++)
        if (e->rules.points[i].vcpu >= vcpus)
            return "a point is of a vCPU that the guest does not have";
    for (unsigned c = 0; c < vcpus; c++) {
        next_point(e, c, 0);
        if (e->rules.strategy == EXPLORE_ANYWHERE)
            e->vcpu[c].next = draw_gap(e, c);
    }
    if (e->rules.strategy == EXPLORE_PCT)
        set_priorities(e);
    return NULL;
}

static bool in_range(const struct explore *e, uint64_t now) {
    return !e->alone && (e->open || !e->rules.window) && now >= e->rules.from && now < e->rules.until;
}

bool explore_meets(const struct explore *e, uint64_t pc, bool synchronises) {
    if (e->rules.strategy != EXPLORE_PLACE)
        return synchronises;
    for (size_t i = 0; i < e->rules.places; i++)
        if (e->rules.place[i] == (pc & EXPLORE_ADDRESS))
            return true;
    return false;
}

void explore_synchronises(struct explore *e, unsigned c, uint64_t at, uint64_t now) {
    struct explore_vcpu *v = &e->vcpu[c];
    if (!in_range(e, now))
        return;
    e->steps++;
    if (e->rules.strategy == EXPLORE_PCT) {
        lower(e, v);
        v->next = at;
        return;
    }
    bool chooses = e->rules.strategy == EXPLORE_SYNC || e->rules.strategy == EXPLORE_PLACE;
    if (chooses && v->next == EXPLORE_NEVER && draw(e, c) % e->rules.one_in == 0)
        v->next = at + draw_reach(e, c);
}

// The random value depends on the place, because QEMU may wake a halted vCPU more often than the guest knows.
void explore_interrupted(struct explore *e, unsigned c, uint64_t at, int sender, uint64_t sender_at,
                         uint64_t now) {
    uint64_t chance = chance_of(e->rules.seed, INTERRUPTED, at, c), more = chance_mix(chance);
    if (e->rules.strategy != EXPLORE_INTERRUPT || !in_range(e, now) || chance % e->rules.one_in != 0)
        return;
    bool stalls_sender = sender >= 0 && more & 1;
    struct explore_vcpu *v = &e->vcpu[stalls_sender ? (unsigned)sender : c];
    if (v->next == EXPLORE_NEVER)
        v->next = (stalls_sender ? sender_at : at) + (more >> 1) % (e->rules.reach + 1);
}

uint64_t explore_next(const struct explore *e, unsigned c) {
    return e->vcpu[c].next;
}

bool explore_take(struct explore *e, unsigned c, uint64_t at, uint64_t now, const bool *busy, uint64_t *ns) {
    struct explore_vcpu *v = &e->vcpu[c];
    if (v->next > at)
        return false;
    switch (e->rules.strategy) {
    case EXPLORE_PCT:
        return hold(e, c, busy, ns);
    case EXPLORE_POINTS:
        *ns = e->rules.points[v->point].ns;
        next_point(e, c, v->point + 1);
        return true;
    default:
        v->next = e->rules.strategy == EXPLORE_ANYWHERE ? at + draw_gap(e, c) : EXPLORE_NEVER;
        *ns = draw_between(e, c, e->rules.shortest, e->rules.longest);
        return in_range(e, now);
    }
}
