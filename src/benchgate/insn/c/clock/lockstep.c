// Rules: see lockstep.h. Deterministic: equal events give equal grants, whatever the host does.
#include "lockstep.h"

#include "chance.h"

#include <string.h>

// How far the only active vCPU may run. It stops early when it wakes another.
#define LONE_QUANTA 64

static uint64_t chance(const struct lockstep *m, uint64_t salt, uint64_t time, unsigned c) {
    return chance_of(m->rules.seed, salt, time, c);
}

void lockstep_init(struct lockstep *m, const struct lockstep_rules *rules, uint64_t now) {
    memset(m, 0, sizeof *m);
    m->now = now;
    m->count = rules->count;
    m->rules = *rules;
    if (m->rules.fine > m->rules.quantum)
        m->rules.fine = m->rules.quantum;
    m->deadline = LOCKSTEP_NEVER;
}

// Start skew: with a seed, the vCPUs do not begin at the same instant.
static uint64_t skew(const struct lockstep *m, unsigned c) {
    return m->rules.seed ? chance(m, 1, 0, c) % m->rules.quantum : 0;
}

void lockstep_restart(struct lockstep *m, uint64_t seed, uint64_t moved) {
    for (unsigned c = 0; c < m->count; c++)
        m->vcpu[c].time -= skew(m, c);
    m->rules.seed = seed;
    m->now += moved;
    for (unsigned c = 0; c < m->count; c++) {
        struct lockstep_vcpu *v = &m->vcpu[c];
        v->until = v->waits_since = v->time += moved + skew(m, c);
        v->halted += moved;
    }
    m->met = 0;
    for (unsigned c = 0; c < m->count; c++)
        lockstep_meet(m, m->vcpu[c].time);
}

void lockstep_appear(struct lockstep *m, unsigned c) {
    struct lockstep_vcpu *v = &m->vcpu[c];
    if (v->state != LOCKSTEP_ABSENT)
        return;
    v->state = LOCKSTEP_RUN;
    v->time = m->now + skew(m, c);
    v->halted = m->now; // of a guest that was restored: until its machine began
    v->until = v->time;
}

static void set_time(struct lockstep_vcpu *v, uint64_t time) {
    if (v->time < time)
        v->time = time;
}

void lockstep_meet(struct lockstep *m, uint64_t time) {
    if (m->met < time)
        m->met = time;
}

void lockstep_waited(struct lockstep *m, uint64_t time) {
    lockstep_meet(m, time);
    if (m->waited < time)
        m->waited = time;
}

bool lockstep_is_exact(const struct lockstep *m) {
    return m->window || m->rules.rush == 1;
}

void lockstep_hand_over(struct lockstep *m, unsigned c, uint64_t time) {
    uint64_t step = m->vcpu[c].step, from = time > step ? time - step : 0;
    if (!step || !lockstep_is_exact(m))
        return;
    m->handovers++;
    if (from < m->late_until)
        from = m->late_until;
    if (time > from) {
        m->late += time - from;
        m->late_until = time;
    }
}

// Only grants set a step. Whether a thread was seen to stop depends on the host, so states play no part.
uint64_t lockstep_pending(const struct lockstep *m, uint64_t time) {
    uint64_t step = 0, since = time > m->late_until ? time - m->late_until : 0;
    for (unsigned c = 0; c < m->count && lockstep_is_exact(m); c++)
        if (m->vcpu[c].step > step)
            step = m->vcpu[c].step;
    return step < since ? step : since;
}

// Most accesses that are late wait for nothing: each CPU's timer tick touches the same lines.
static bool waits_since_about(const struct lockstep *m, unsigned c, uint64_t time) {
    for (unsigned other = 0; other < m->count; other++) {
        const struct lockstep_vcpu *v = &m->vcpu[other];
        if (other != c && v->state == LOCKSTEP_READY && v->time >= time && v->time - time <= LOCKSTEP_LOOK)
            return true;
    }
    return false;
}

bool lockstep_disorder(struct lockstep *m, unsigned c, uint64_t time, uint64_t late) {
    if (late <= LOCKSTEP_CLOSE || !lockstep_is_exact(m) || !waits_since_about(m, c, time + late))
        return false;
    if (m->disordered < time)
        m->disordered = time;
    return true;
}

bool lockstep_contend(struct lockstep *m, uint64_t time) {
    if (!lockstep_is_exact(m))
        return false;
    if (m->contended < time)
        m->contended = time;
    return true;
}

void lockstep_delay(struct lockstep *m, unsigned c, uint64_t span) {
    m->vcpu[c].time += span;
}

void lockstep_stall(struct lockstep *m, unsigned c, uint64_t span) {
    m->vcpu[c].time += span;
    m->vcpu[c].stall = span;
}

void lockstep_arrive(struct lockstep *m, unsigned c, uint64_t time, enum lockstep_spin spins) {
    enum lockstep_spin was = m->vcpu[c].spins;
    set_time(&m->vcpu[c], time);
    if (spins == LOCKSTEP_PAUSES || (was != LOCKSTEP_WORKS && spins == LOCKSTEP_WORKS)) // a wait has ended
        lockstep_hand_over(m, c, m->vcpu[c].time);
    m->vcpu[c].spins = spins;
    if (spins != LOCKSTEP_ONLY_PAUSES)
        m->vcpu[c].waits_since = m->vcpu[c].time;
    if (spins == LOCKSTEP_PAUSES || spins != was) // a vCPU that only spins interacts when it begins and ends
        lockstep_waited(m, time);
    m->vcpu[c].state = LOCKSTEP_READY;
}

void lockstep_halt(struct lockstep *m, unsigned c, uint64_t time) {
    set_time(&m->vcpu[c], time);
    m->vcpu[c].spins = LOCKSTEP_WORKS;
    m->vcpu[c].waits_since = m->vcpu[c].time;
    m->vcpu[c].state = LOCKSTEP_HALT;
    lockstep_meet(m, time);
}

static void end_halt(struct lockstep *m, struct lockstep_vcpu *v, uint64_t time) {
    if (time < m->now)
        time = m->now;
    lockstep_meet(m, time);
    if (time > v->time) {
        v->halted += time - v->time;
        v->time = time;
    }
}

bool lockstep_wake(struct lockstep *m, unsigned c, uint64_t time) {
    struct lockstep_vcpu *v = &m->vcpu[c];
    if (v->state != LOCKSTEP_HALT)
        return false;
    end_halt(m, v, time);
    v->state = LOCKSTEP_READY;
    return true;
}

void lockstep_window(struct lockstep *m, bool open) {
    if (m->window && !open)
        m->closed = m->now;
    m->window = open;
    m->met = m->now;
}

void lockstep_main_wants(struct lockstep *m) {
    if (m->main == LOCKSTEP_MAIN_IDLE || m->main == LOCKSTEP_MAIN_NONE)
        m->main = LOCKSTEP_MAIN_WANTS;
}

void lockstep_main_idle(struct lockstep *m, uint64_t deadline) {
    m->main = LOCKSTEP_MAIN_IDLE;
    m->deadline = deadline;
}

void lockstep_main_blocks(struct lockstep *m) {
    m->main = LOCKSTEP_MAIN_NONE;
    m->deadline = LOCKSTEP_NEVER;
}

void lockstep_main_works(struct lockstep *m) {
    m->main = LOCKSTEP_MAIN_BUSY;
}

bool lockstep_still(const struct lockstep *m) {
    for (unsigned c = 0; c < m->count; c++)
        if (m->vcpu[c].state == LOCKSTEP_RUN || m->vcpu[c].state == LOCKSTEP_ABSENT)
            return false;
    return true;
}

struct census {
    bool absent;
    uint64_t spinning; // least time for which a spinning vCPU has done nothing else; NEVER: none spins
    unsigned running, ready;
    uint64_t lowest, second; // times of the slowest and second slowest active vCPU
    unsigned first;          // the ready vCPU whose turn it is
    bool stalls;             // every active vCPU stalls: none has anything to do before the end of its stall
    uint64_t since;          // when the last one began
};

static bool before(const struct lockstep *m, unsigned a, unsigned b) {
    const struct lockstep_vcpu *x = &m->vcpu[a], *y = &m->vcpu[b];
    if (x->time != y->time)
        return x->time < y->time;
    if (!m->rules.seed)
        return a < b;
    uint64_t i = chance(m, 2, x->time, a), j = chance(m, 2, x->time, b);
    return i != j ? i < j : a < b;
}

static struct census take_census(const struct lockstep *m) {
    struct census s = {
        .spinning = LOCKSTEP_NEVER, .lowest = LOCKSTEP_NEVER, .second = LOCKSTEP_NEVER, .first = m->count,
        .stalls = true};
    for (unsigned c = 0; c < m->count; c++) {
        const struct lockstep_vcpu *v = &m->vcpu[c];
        if (v->state == LOCKSTEP_ABSENT)
            s.absent = true;
        if (v->state != LOCKSTEP_RUN && v->state != LOCKSTEP_READY)
            continue;
        if (v->spins != LOCKSTEP_WORKS && v->time - v->waits_since < s.spinning)
            s.spinning = v->time - v->waits_since;
        s.stalls &= v->stall != 0;
        if (v->time - v->stall > s.since)
            s.since = v->time - v->stall;
        if (v->state == LOCKSTEP_RUN)
            s.running++;
        else if (s.ready++ == 0 || before(m, c, s.first))
            s.first = c;
        if (v->time < s.lowest) {
            s.second = s.lowest;
            s.lowest = v->time;
        } else if (v->time < s.second)
            s.second = v->time;
    }
    return s;
}

static uint64_t add(uint64_t time, uint64_t span) {
    return time > LOCKSTEP_NEVER - span ? LOCKSTEP_NEVER : time + span;
}

static uint64_t lower(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

// An error of a thousandth of the wait is tolerable. Without it a guest that spins for long, for example
// until its workers are done, would be far too slow to emulate.
static uint64_t spinning_quantum(const struct lockstep *m, uint64_t spinning) {
    uint64_t tolerable = spinning / 1000;
    return tolerable > m->rules.fine ? tolerable : m->rules.fine;
}

// Calm: vCPUs that compute independently need no close step. An error of a thousandth of the time since one
// of them last halted, woke, interrupted or waited for another is tolerable.
static uint64_t calm_quantum(const struct lockstep *m, uint64_t now) {
    uint64_t quantum = m->rules.quantum, tolerable = now > m->met ? (now - m->met) / 1000 : 0;
    if (tolerable < quantum)
        return quantum;
    return tolerable < LOCKSTEP_CALM * quantum ? tolerable : LOCKSTEP_CALM * quantum;
}

// Aftermath: a vCPU that has just waited works now and soon waits again. The error is kept to a fraction of
// the length of its work; else each exchange would cost the rest of a quantum.
static uint64_t aftermath_quantum(const struct lockstep *m, uint64_t now) {
    if (!m->waited)
        return LOCKSTEP_NEVER;
    uint64_t tolerable = now > m->waited ? (now - m->waited) / LOCKSTEP_AFTERMATH : 0;
    return tolerable > m->rules.fine ? tolerable : m->rules.fine;
}

// Order: vCPUs share memory without a wait that the clock recognises. An error of the time since it was last
// seen, divided by LOCKSTEP_ORDER, is tolerable.
static uint64_t orderly_quantum(const struct lockstep *m, uint64_t now) {
    if (!m->disordered)
        return LOCKSTEP_NEVER;
    uint64_t tolerable = now > m->disordered ? (now - m->disordered) / LOCKSTEP_ORDER : 0;
    return tolerable > LOCKSTEP_CLOSE ? tolerable : LOCKSTEP_CLOSE;
}

// Contention: while vCPUs want one line at the same time, each must meet the others' last access to it.
static uint64_t contended_quantum(const struct lockstep *m, uint64_t now) {
    bool ended = !m->contended || now > m->contended + LOCKSTEP_CONTENTION;
    return ended ? LOCKSTEP_NEVER : LOCKSTEP_CLOSE;
}

// Rush: what is not measured is not worth the host's time. But the guest reads the end of its window after it.
static uint64_t rushed_quantum(const struct lockstep *m, uint64_t now, uint64_t exact) {
    uint64_t whole = exact * m->rules.rush;
    if (!m->closed)
        return whole;
    uint64_t tolerable = now > m->closed ? (now - m->closed) / LOCKSTEP_AFTERMATH : 0;
    return lower(whole, tolerable > exact ? tolerable : exact);
}

static uint64_t whole_quantum(const struct lockstep *m, const struct census *s, uint64_t closest) {
    if (!lockstep_is_exact(m))
        return rushed_quantum(m, s->lowest, lower(m->rules.quantum, closest));
    return lower(calm_quantum(m, s->lowest), closest);
}

// With a seed each turn is between a half and a whole quantum long.
static uint64_t quantum_at(struct lockstep *m, const struct census *s, unsigned c) {
    if (m->rules.strict && lockstep_is_exact(m))
        return 0;
    uint64_t closest = lockstep_is_exact(m)
                           ? lower(lower(aftermath_quantum(m, s->lowest), orderly_quantum(m, s->lowest)),
                                   contended_quantum(m, s->lowest))
                           : LOCKSTEP_NEVER;
    if (s->spinning != LOCKSTEP_NEVER)
        closest = lower(closest, spinning_quantum(m, s->spinning));
    uint64_t quantum = whole_quantum(m, s, closest);
    if (lockstep_is_exact(m) && quantum > m->longest)
        m->longest = quantum;
    return m->rules.seed ? quantum - chance(m, 3, s->lowest, c) % (quantum / 2) : quantum;
}

// `step`: how far ahead of another active vCPU it may be; 0 if there is none.
static void grant(struct lockstep *m, struct lockstep_grants *out, unsigned c, uint64_t until,
                  uint64_t step) {
    struct lockstep_vcpu *v = &m->vcpu[c];
    v->state = LOCKSTEP_RUN;
    v->step = step;
    v->stall = 0;
    v->until = until > v->time ? until : v->time;
    m->grants++;
    out->vcpu[out->count++] = c;
}

static void grant_main(struct lockstep *m, struct lockstep_grants *out) {
    m->main = LOCKSTEP_MAIN_BUSY;
    m->main_turns++;
    out->main = true;
}

// The slowest vCPU runs until it is a quantum ahead of the second slowest. Its turn is twice as long as if it
// stopped a quantum after its own start, and no vCPU gets further ahead than a quantum.
static void grant_slowest(struct lockstep *m, struct lockstep_grants *out, const struct census *s) {
    if (s->running)
        return;
    bool lone = s->second == LOCKSTEP_NEVER;
    uint64_t step = lone ? 0 : quantum_at(m, s, s->first);
    uint64_t until = lone ? add(s->lowest, LONE_QUANTA * whole_quantum(m, s, LOCKSTEP_NEVER))
                          : add(s->second, step);
    grant(m, out, s->first, lower(until, m->deadline), step);
}

void lockstep_step(struct lockstep *m, struct lockstep_grants *out) {
    out->main = false;
    out->count = 0;
    struct census s = take_census(m);
    if (s.absent || m->main == LOCKSTEP_MAIN_BUSY)
        return;
    if (m->main == LOCKSTEP_MAIN_WANTS) {
        uint64_t present = s.stalls ? s.since : s.lowest;
        if (s.lowest != LOCKSTEP_NEVER && present > m->now && !s.running)
            m->now = present;
        if (!s.running)
            grant_main(m, out);
        return;
    }
    bool timer = m->main == LOCKSTEP_MAIN_IDLE && m->deadline != LOCKSTEP_NEVER;
    if (!s.running && !s.ready) {
        if (timer) {
            m->jumps++;
            m->now = m->deadline > m->now ? m->deadline : m->now;
            grant_main(m, out);
        }
        return;
    }
    uint64_t next = s.stalls && timer ? lower(s.lowest, m->deadline) : s.lowest;
    if (next > m->now)
        m->now = next;
    if (timer && m->now >= m->deadline) {
        if (!s.running)
            grant_main(m, out);
        return;
    }
    grant_slowest(m, out, &s);
}
