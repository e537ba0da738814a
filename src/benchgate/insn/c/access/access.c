#include "access_state.h"

#if INSN_API >= 3

#include "journal.h"
#include "memory_keep.h"
#include "sharing.h"

#include <stdio.h>
#include <string.h>

struct memory *access_memory;
struct memory_shape access_shape;
struct access_cpu access_cpus[LOCKSTEP_MAX];
static bool charges, filters, strict, has_tlb, records;
static unsigned line_bits;
static uint64_t line_bytes;
static const char *kept; // the file that a snapshot gets

// ---- setup

// The ideal machine: caches that cost nothing, so that the order of accesses is known.
static void make_ideal(struct memory_shape *s, unsigned vcpus) {
    *s = (struct memory_shape){.cpus = vcpus, .line = 64, .ranges = 1, .local = 1, .remote = 1};
    s->l1d = s->l1i = (struct memory_level){64, 8, 1};
    s->l2 = (struct memory_level){1024, 8, 1};
    s->cluster = s->across = s->socket = 1;
    s->range[0].bytes = UINT64_C(1) << 46;
}

static const char *read_machine(const char *path, unsigned vcpus) {
    static char problem[300], message[400];
    FILE *in = fopen(path, "re");
    if (!in)
        return "the machine's file cannot be read (option machine=FILE)";
    bool good = memory_shape_read(in, &access_shape, problem, sizeof problem);
    fclose(in);
    if (!good)
        snprintf(message, sizeof message, "%.90s: %s", path, problem);
    else if (access_shape.cpus < vcpus)
        snprintf(message, sizeof message, "%.90s: the machine has %u CPUs, and the guest %u", path,
                 access_shape.cpus, vcpus);
    return *message ? message : NULL;
}

static const char *record_moves(const struct access_options *o, unsigned vcpus) {
    records = true;
    memory_on_move(access_memory, sharing_move, &access_shape);
    return sharing_setup(o->sharing, vcpus, access_shape.line, o->whole);
}

const char *access_setup(const struct access_options *o, unsigned vcpus, bool *is_strict) {
    if (o->sharing && !o->machine)
        return "lines move only on a machine with a memory system (option machine=FILE)";
    if (!o->machine && o->order == ACCESS_UNSAID)
        return NULL;
    const char *why = o->machine ? read_machine(o->machine, vcpus) : NULL;
    if (why)
        return why;
    if (!o->machine)
        make_ideal(&access_shape, vcpus);
    access_memory = memory_new(&access_shape);
    if (!access_memory)
        return "there is not enough memory on this host for the machine's";
    charges = o->machine != NULL;
    filters = o->filter;
    *is_strict = strict = o->order == ACCESS_STRICT || (o->order == ACCESS_UNSAID && access_shape.strict);
    has_tlb = access_shape.tlb_entries > 0;
    line_bits = access_memory->line_bits;
    line_bytes = UINT64_C(1) << line_bits;
    access_books_setup(vcpus, o->whole);
    if (charges)
        access_fetch_setup();
    kept = o->caches;
    return o->sharing ? record_moves(o, vcpus) : NULL;
}

const char *access_restore(const char *caches) {
    return memory_take_back(access_memory, caches);
}

bool access_charges(void) {
    return charges;
}

const char *access_name(void) {
    return charges ? access_shape.name : NULL;
}

// ---- one access

void access_look_again(unsigned c) {
    for (unsigned i = 0; i < ACCESS_RECENT; i++)
        access_cpus[c].recent[i].key = UINT64_MAX;
}

static void forget_pages(struct access_cpu *a) {
    for (unsigned i = 0; i < ACCESS_PAGES; i++)
        a->pages[i].key = UINT64_MAX;
    access_look_again((unsigned)(a - access_cpus));
}

// Call this only when the guest runs, because until then QEMU may move its counters.
void access_begin(struct access_cpu *a, unsigned c) {
    a->front = &access_memory->front[c];
    a->place = counter_place(c);
    a->slow = clock_is_slow(c);
    forget_pages(a);
}

// What only makes accesses fast is forgotten, because a restored guest does not have it either.
void access_pause(void) {
    for (unsigned c = 0; access_memory && c < access_shape.cpus && c < LOCKSTEP_MAX; c++) {
        if (!access_cpus[c].place.counted)
            continue;
        forget_pages(&access_cpus[c]);
        if (charges) {
            access_fetch_count(c);
            access_fetch_forget(c);
        }
    }
    const char *why = kept ? memory_keep(access_memory, kept) : NULL;
    if (why)
        journal_refuse("%s", why);
}

void access_stall(struct access_cpu *a, uint64_t stall) {
    a->waits |= stall != 0;
    *a->place.counted += a->slow ? clock_units((unsigned)(a - access_cpus), stall) : stall;
    *a->place.stalled += stall;
}

void access_line(struct access_cpu *a, unsigned c, enum memory_kind kind, uint64_t line, uint64_t now) {
    uint32_t stall = memory_access(access_memory, c, kind, line, now);
    access_stall(a, stall);
    if (access_memory->late)
        a->ends |= access_out_of_order(now, access_memory->late, line);
    else if (stall)
        a->ends |= access_waited(now, line);
}

// The rest of the block may access memory too, and by then others may come before that. An access that waits for
// nothing ends no turn, because those on the short path are not seen here.
void access_done(struct access_cpu *a, unsigned c, size_t left) {
    bool stops = a->ends || (a->waits && *a->place.counted - left >= COUNTER_TRIGGER);
    a->ends = a->waits = false;
    if (stops)
        clock_stop_here(c, left, 0);
}

// ---- data

// A page of QEMU's is 4 KiB. The number of QEMU's translation regime is in the low five bits of `info`, or in
// four of them, and then the fifth says nothing that harms: addresses mean different memory in each.
static inline uint64_t page_key(uint32_t info, uint64_t address) {
    return address >> MEMORY_PAGE_BITS << 5 | (info & 31);
}

static inline unsigned page_slot(uint64_t key) {
    return (key >> 5 ^ key << 3) % ACCESS_PAGES;
}

static uint64_t ask_qemu(uint32_t info, uint64_t address) {
    const struct qemu_hwaddr *where = qemu_plugin_get_hwaddr(info, address);
    if (!where || qemu_plugin_hwaddr_is_io(where))
        return ACCESS_NO_LINE;
    return (qemu_plugin_hwaddr_phys_addr(where) & ~(ACCESS_PAGE - 1)) >> line_bits;
}

// The filter's answers are compared with QEMU's now and then, to detect an
// instruction that changes translations although the architecture's table does not know it.
#define COMPARE_EVERY 4096

static void compare_sometimes(uint32_t info, uint64_t address, uint64_t first) {
    static unsigned answers;
    if (++answers % COMPARE_EVERY)
        return;
    if (first != ask_qemu(info, address))
        journal_refuse("the clock's translation of address %llx is no longer QEMU's",
                       (unsigned long long)address);
}

static uint64_t find_page(struct access_cpu *a, uint32_t info, uint64_t address, bool keep) {
    uint64_t key = page_key(info, address);
    unsigned slot = page_slot(key);
    if (keep && a->pages[slot].key == key) {
        compare_sometimes(info, address, a->pages[slot].line);
        return a->pages[slot].line;
    }
    uint64_t line = ask_qemu(info, address);
    if (keep && line != ACCESS_NO_LINE) {
        a->pages[slot].key = key;
        a->pages[slot].line = line;
    }
    return line;
}

static uint32_t walk(unsigned c, uint64_t address) {
    return has_tlb ? memory_walk(access_memory, c, false, address >> MEMORY_PAGE_BITS) : 0;
}

// The data of a callback: how many instructions follow in the block, and whether this one changes translations,
// so that what it reads must not be kept.
#define AFRESH 1u

static void *packed(size_t left, bool afresh) {
    return (void *)(uintptr_t)(left << 1 | (afresh ? AFRESH : 0));
}

static void record(unsigned c, enum memory_kind kind, uint64_t line, uint64_t at, uint64_t end) {
    int does = kind == MEMORY_READ    ? SHARING_READS
               : kind == MEMORY_WRITE ? SHARING_WRITES
                                      : SHARING_READS | SHARING_WRITES;
    uint64_t next = (at | (line_bytes - 1)) + 1, offset = at & (line_bytes - 1);
    sharing_access(c, does, (line << line_bits) + offset, at, (unsigned)((end < next ? end : next) - at));
}

// The number of offsets in a line at which an access with this `info` stays in the line; 0 if unknown yet.
static inline uint16_t *room_of(uint32_t info) {
    static uint16_t room[1u << 16];
    return &room[info % (1u << 16)];
}

static uint64_t size_of(uint32_t info) {
    uint16_t *room = room_of(info);
    if (*room)
        return line_bytes - *room + 1;
    uint64_t size = UINT64_C(1) << qemu_plugin_mem_size_shift(info);
    *room = (uint16_t)(size <= line_bytes ? line_bytes - size + 1 : 0);
    return size;
}

// `recent` keeps, for each line of virtual addresses that a vCPU has used lately, where the model has its
// line and its page while they are the last used of their sets. Most accesses are to such a line.
static inline uint64_t recent_key(uint32_t info, uint64_t address) {
    return address >> line_bits << 5 | (info & 31);
}

static inline struct access_recent *recent_of(struct access_cpu *a, uint64_t key) {
    return &a->recent[(key >> 5) % ACCESS_RECENT];
}

static void keep_recent(struct access_cpu *a, uint32_t info, uint64_t address, uint64_t line) {
    uint64_t key = recent_key(info, address);
    *recent_of(a, key) = (struct access_recent){key, memory_spot_of(a->front, MEMORY_READ, line),
                                                memory_page_spot_of(a->front, address >> MEMORY_PAGE_BITS)};
}

// Gives the kept place of an access in the model; NULL if none is kept, or the access crosses a line. A wary
// vCPU keeps none.
static inline const struct access_recent *find_recent(struct access_cpu *a, uint32_t info, uint64_t address) {
    uint64_t key = recent_key(info, address);
    const struct access_recent *r = recent_of(a, key);
    return r->key == key && (address & (line_bytes - 1)) < *room_of(info) ? r : NULL;
}

static void slow_access(unsigned c, uint32_t info, uint64_t address, void *data, enum memory_kind kind) {
    struct access_cpu *a = access_of(c);
    size_t left = (uintptr_t)data >> 1;
    bool keep = filters && !a->wary && !((uintptr_t)data & AFRESH);
    uint64_t end = address + size_of(info), now = access_time(a, c, left);
    for (uint64_t at = address; at < end; at = (at | (line_bytes - 1)) + 1) {
        uint64_t first = find_page(a, info, at, keep);
        if (first == ACCESS_NO_LINE)
            continue;
        uint64_t line = first + (at % ACCESS_PAGE >> line_bits);
        access_stall(a, walk(c, at));
        access_line(a, c, kind, line, now);
        if (keep)
            keep_recent(a, info, at, line);
        if (sharing_on)
            record(c, kind, line, at, end);
    }
    access_done(a, c, left);
}

static inline bool recent_access(struct access_cpu *a, unsigned c, uint32_t info, uint64_t address, void *data,
                                 enum memory_kind kind) {
    const struct access_recent *r = find_recent(a, info, address);
    return r && memory_walked(&r->page) &&
           memory_spot_hit(a->front, &r->line, kind, access_time(a, c, (uintptr_t)data >> 1));
}

// This is not part of recent_access, which so needs few of the host's registers.
static __attribute__((noinline)) void further_access(unsigned c, uint32_t info, uint64_t address, void *data,
                                                     enum memory_kind kind) {
    struct access_cpu *a = &access_cpus[c];
    const struct access_recent *r = find_recent(a, info, address);
    size_t left = (uintptr_t)data >> 1;
    if (!r) {
        slow_access(c, info, address, data, kind);
        return;
    }
    uint64_t now = access_time(a, c, left), line = memory_spot_line(&r->line);
    compare_sometimes(info, address, line - (address % ACCESS_PAGE >> line_bits));
    if (!memory_walked(&r->page))
        access_stall(a, walk(c, address));
    if (!memory_spot_hit(a->front, &r->line, kind, now) &&
        !memory_spot_hit_again(a->front, &r->line, kind, now))
        access_line(a, c, kind, line, now);
    access_done(a, c, left);
}

static void loads(unsigned c, uint32_t info, uint64_t address, void *data) {
    if (!recent_access(&access_cpus[c], c, info, address, data, MEMORY_READ))
        further_access(c, info, address, data, MEMORY_READ);
}

static void stores(unsigned c, uint32_t info, uint64_t address, void *data) {
    if (!recent_access(&access_cpus[c], c, info, address, data, MEMORY_WRITE))
        further_access(c, info, address, data, MEMORY_WRITE);
}

static void loads_slowly(unsigned c, uint32_t info, uint64_t address, void *data) {
    slow_access(c, info, address, data, MEMORY_READ);
}

static void stores_slowly(unsigned c, uint32_t info, uint64_t address, void *data) {
    slow_access(c, info, address, data, MEMORY_WRITE);
}

static void locks(unsigned c, uint32_t info, uint64_t address, void *data) {
    slow_access(c, info, address, data, MEMORY_ATOMIC);
}

// ---- translations change

static void forget(unsigned c) {
    forget_pages(access_of(c));
    memory_flush(access_memory, c);
    if (charges)
        access_fetch_flush(c);
}

static void remaps_here(unsigned c, void *unused) {
    (void)unused;
    forget(c);
}

// QEMU tells the other vCPUs' threads, which act on it when they leave their block. Each does so a moment
// after its next turn begins, so before that turn ends.
static void remaps_everywhere(unsigned c, void *unused) {
    (void)c, (void)unused;
    for (unsigned other = 0; other < access_shape.cpus; other++) {
        if (!access_cpus[other].place.counted)
            continue;
        forget(other);
        access_cpus[other].wary = true;
    }
}

void access_turn(unsigned c) {
    if (!access_memory || !access_cpus[c].wary)
        return;
    forget_pages(&access_cpus[c]);
    access_cpus[c].wary = false;
}

// ---- at translation

void access_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, size_t left) {
    if (!access_memory)
        return;
    enum arch_reach reach = arch_guest->remaps(seen);
    if (reach != ARCH_NOWHERE)
        qemu_plugin_register_vcpu_insn_exec_cb(
            insn, reach == ARCH_HERE ? remaps_here : remaps_everywhere, QEMU_NO_REGS, NULL);
    bool slow = strict || !filters || records || reach != ARCH_NOWHERE;
    void *data = packed(left, reach != ARCH_NOWHERE);
    if (arch_guest->atomic(seen)) {
        qemu_plugin_register_vcpu_mem_cb(insn, locks, QEMU_NO_REGS, QEMU_READS, data);
        return;
    }
    qemu_plugin_register_vcpu_mem_cb(insn, slow ? loads_slowly : loads, QEMU_NO_REGS, QEMU_READS, data);
    qemu_plugin_register_vcpu_mem_cb(insn, slow ? stores_slowly : stores, QEMU_NO_REGS, QEMU_WRITES, data);
}

uint64_t access_interrupt(unsigned c) {
    return charges ? memory_interrupt(access_memory, c) : 0;
}

#else

const char *access_setup(const struct access_options *o, unsigned vcpus, bool *is_strict) {
    (void)vcpus, (void)is_strict;
    return o->machine || o->order != ACCESS_UNSAID
               ? "a machine with a memory system needs QEMU 9.1 or newer (plugin API 3)"
               : NULL;
}

const char *access_restore(const char *caches) {
    (void)caches;
    return NULL;
}

bool access_charges(void) {
    return false;
}

const char *access_name(void) {
    return NULL;
}

void access_block(struct qemu_plugin_tb *tb, size_t instructions) {
    (void)tb, (void)instructions;
}

void access_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, size_t left) {
    (void)insn, (void)seen, (void)left;
}

void access_pause(void) {
}

void access_turn(unsigned c) {
    (void)c;
}

uint64_t access_interrupt(unsigned c) {
    (void)c;
    return 0;
}

void access_window(bool open, uint64_t now, uint64_t latest) {
    (void)open, (void)now, (void)latest;
}

void access_report(uint64_t now) {
    (void)now;
}

#endif
