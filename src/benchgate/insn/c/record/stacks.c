// A call notes where it pushed its return address; the block that is entered next is the function. A return
// ends every frame whose return address lies at or below the one that it pops, so a frame that was left in
// another way (longjmp, an exit) goes as soon as an outer one ends.
#include "stacks.h"

#include "clock.h"
#include "marks.h"
#include "places.h"
#include "tree.h"

#if INSN_API >= 3

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FRAMES 192
#define MOST_STACKS 4096 // of kernel threads, as many again for their user code
#define TABLE (2 * MOST_STACKS)
#define KERNEL (UINT64_C(1) << 63)
#define REGION_BITS 14   // a kernel stack lies in a region of its own
#define APART (1u << 20) // frames further apart are not of one stack

struct stack {
    uint64_t region;
    struct stack *user; // of a kernel stack: the stack of its thread's user code
    uint32_t base;      // what runs while there is no frame
    unsigned depth;
    struct {
        uint64_t at; // where its return address lies
        uint32_t node;
    } frames[MOST_FRAMES];
};

struct entry { // of a block
    uint64_t address;
    size_t instructions;
};

enum { USER = 1, KERNEL_CODE, CALLED, CONTINUED }; // the word that says what a vCPU's next block must be

static struct {
    struct stack *kernel, *now; // its thread's kernel stack, and the stack in use
    uint64_t counted, called_at, target;
    uint32_t entry; // it has just entered the kernel by this node; 0: it has not
} on[LOCKSTEP_MAX];

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct stack *table[TABLE];
static struct qemu_counter expects;
static char file[4096];
static unsigned vcpu_count, stack_count;
static bool wanted, counting, has_total;
static struct stack spare; // for everything once there are too many stacks

const char *stacks_setup(const char *path, unsigned vcpus) {
    if (!arch_guest->flow)
        return "call stacks can be followed on x86-64 only";
    if (strlen(path) >= sizeof file)
        return "the path of the call stacks is too long";
    if (!tree_setup())
        return "no memory for the call stacks";
    strcpy(file, path);
    vcpu_count = vcpus;
    expects.score = qemu_plugin_scoreboard_new(128);
    for (unsigned c = 0; c < vcpus; c++)
        on[c].now = on[c].kernel = &spare;
    spare.user = &spare;
    wanted = true;
    return NULL;
}

static struct stack *new_stack(uint64_t region) {
    struct stack *made = stack_count < MOST_STACKS ? calloc(1, sizeof *made) : NULL;
    if (!made)
        return &spare;
    stack_count++;
    made->region = region;
    made->user = calloc(1, sizeof *made->user);
    if (!made->user)
        made->user = &spare;
    return made;
}

static struct stack *kernel_stack(uint64_t sp) {
    uint64_t region = sp >> REGION_BITS;
    size_t slot = (size_t)((region * 0x9e3779b97f4a7c15u) >> 20) % TABLE;
    while (table[slot] && table[slot]->region != region)
        slot = (slot + 1) % TABLE;
    if (!table[slot]) {
        struct stack *made = new_stack(region);
        if (made == &spare)
            return made;
        table[slot] = made;
    }
    return table[slot];
}

static uint32_t top(const struct stack *s) {
    return s->depth ? s->frames[s->depth - 1].node : s->base;
}

static void keep_nodes(struct stack *s) {
    s->base = tree_again(s->base);
    for (unsigned i = 0; i < s->depth; i++)
        s->frames[i].node = tree_again(s->frames[i].node);
}

// Forgets every path but those that are in use.
static void restart_tree(void) {
    tree_restart();
    for (size_t i = 0; i < TABLE; i++)
        if (table[i]) {
            keep_nodes(table[i]);
            if (table[i]->user != &spare)
                keep_nodes(table[i]->user);
        }
    keep_nodes(&spare);
    for (unsigned c = 0; c < vcpu_count; c++)
        on[c].entry = tree_again(on[c].entry);
}

static void count(unsigned c, uint64_t beyond) {
    uint64_t executed = clock_executed(c) - beyond;
    if (counting && executed > on[c].counted)
        tree_count(on[c].entry ? on[c].entry : top(on[c].now), executed - on[c].counted);
    on[c].counted = executed;
}

// The stack in which `sp` lies. A call on a stack without frames was made by the stack before it: so kernels
// enter a stack for interrupts.
static struct stack *switch_to(unsigned c, uint64_t sp, bool calls) {
    struct stack *before = on[c].now, *now = sp < KERNEL ? on[c].kernel->user : kernel_stack(sp);
    if (sp >= KERNEL) {
        if (on[c].entry) { // from user code, with which a kernel stack is always empty
            now->base = on[c].entry;
            now->depth = 0;
        } else if (now != before && now->depth == 0 && calls)
            now->base = top(before);
        on[c].kernel = now;
    }
    on[c].entry = 0;
    return on[c].now = now;
}

static void end_frames(struct stack *s, uint64_t sp) {
    while (s->depth && s->frames[s->depth - 1].at <= sp)
        s->depth--;
    if (s->depth && s->frames[s->depth - 1].at - sp > APART)
        s->depth = 0;
}

static void called(unsigned c, uint32_t info, uint64_t sp, void *target) {
    (void)info;
    pthread_mutex_lock(&mutex);
    count(c, 0);
    end_frames(switch_to(c, sp, true), sp);
    on[c].called_at = sp;
    on[c].target = (uint64_t)(uintptr_t)target;
    qemu_plugin_u64_set(expects, c, CALLED);
    pthread_mutex_unlock(&mutex);
}

static void returned(unsigned c, uint32_t info, uint64_t sp, void *unused) {
    (void)info, (void)unused;
    pthread_mutex_lock(&mutex);
    count(c, 0);
    const struct stack *before = on[c].now, *now = switch_to(c, sp, false);
    end_frames(on[c].now, sp);
    if (now != before && now->depth == 0) // a new thread begins
        qemu_plugin_u64_set(expects, c, CONTINUED);
    pthread_mutex_unlock(&mutex);
}

static void begin_frame(unsigned c, uint64_t address) {
    struct stack *s = on[c].now;
    if (s->depth == MOST_FRAMES || s == &spare)
        return;
    if (tree_is_full() && !counting)
        restart_tree();
    s->frames[s->depth].node = tree_child(top(s), address);
    s->frames[s->depth++].at = on[c].called_at;
}

// The vCPU enters a block of another kind than the one before: a called function, or code of the other half.
static void entered(unsigned c, void *data) {
    const struct entry *block = data;
    uint64_t is = block->address < KERNEL ? USER : KERNEL_CODE, was = qemu_plugin_u64_get(expects, c);
    pthread_mutex_lock(&mutex);
    count(c, block->instructions);
    if (was == CALLED) {
        begin_frame(c, on[c].target ? on[c].target : block->address);
        was = on[c].called_at < KERNEL ? USER : KERNEL_CODE;
    }
    if (was == CONTINUED) {
        on[c].now->base = tree_child(TREE_ROOT, block->address);
        was = is;
    }
    if (is == USER && was != USER) {
        on[c].entry = 0;
        on[c].now = on[c].kernel->user;
        if (on[c].now->depth == 0)
            on[c].now->base = tree_child(TREE_ROOT, block->address);
    } else if (is == KERNEL_CODE && was == USER)
        on[c].entry = tree_child(top(on[c].now), block->address);
    qemu_plugin_u64_set(expects, c, is);
    pthread_mutex_unlock(&mutex);
}

// The notes are never freed, because a block may run at any time.
void stacks_block(struct qemu_plugin_tb *tb, size_t instructions) {
    struct entry *block = wanted ? malloc(sizeof *block) : NULL;
    if (!block)
        return;
    *block = (struct entry){qemu_plugin_tb_vaddr(tb), instructions};
    qemu_plugin_register_vcpu_tb_exec_cond_cb(tb, entered, QEMU_NO_REGS, QEMU_COND_NE, expects,
                                              block->address < KERNEL ? USER : KERNEL_CODE, block);
}

void stacks_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, uint64_t address) {
    int64_t by = 0;
    enum arch_flow flow = wanted ? arch_guest->flow(seen, &by) : ARCH_STRAIGHT;
    uint64_t target = flow == ARCH_CALLS_NEAR ? address + seen->length + (uint64_t)by : 0;
    if (flow == ARCH_CALLS_NEAR || flow == ARCH_CALLS_FAR)
        qemu_plugin_register_vcpu_mem_cb(insn, called, QEMU_NO_REGS, QEMU_WRITES, (void *)(uintptr_t)target);
    else if (flow == ARCH_RETURNS)
        qemu_plugin_register_vcpu_mem_cb(insn, returned, QEMU_NO_REGS, QEMU_READS, NULL);
}

static void begin(void) {
    restart_tree();
    for (unsigned c = 0; c < vcpu_count; c++)
        on[c].counted = clock_executed(c);
    counting = true;
}

static void write_file(void) {
    FILE *out = fopen(places_own(file), "we");
    if (!out)
        return;
    for (unsigned c = 0; c < vcpu_count; c++)
        count(c, 0);
    fprintf(out, "insn-stacks 1\n");
    tree_write(out);
    fclose(out);
}

void stacks_mark(unsigned kind) {
    if (!wanted)
        return;
    pthread_mutex_lock(&mutex);
    has_total |= kind == MARKS_TOTAL_BEGIN;
    if (!counting && (kind == MARKS_WORK_BEGIN || kind == MARKS_TOTAL_BEGIN))
        begin();
    if (counting && (kind == MARKS_TOTAL_END || (kind == MARKS_WORK_END && !has_total)))
        write_file();
    pthread_mutex_unlock(&mutex);
}

#else

const char *stacks_setup(const char *path, unsigned vcpus) {
    (void)path, (void)vcpus;
    return "call stacks need QEMU 9.1 or newer";
}

void stacks_block(struct qemu_plugin_tb *tb, size_t instructions) {
    (void)tb, (void)instructions;
}

void stacks_instruction(struct qemu_plugin_insn *insn, const struct arch_insn *seen, uint64_t address) {
    (void)insn, (void)seen, (void)address;
}

void stacks_mark(unsigned kind) {
    (void)kind;
}

#endif
