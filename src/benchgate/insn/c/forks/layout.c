#include "layout.h"

#include <string.h>

#define REMEMBERED 256
#define EVERY 16         // so many blocks between two looks at jumps
#define MOST_BEFORE 1024 // bytes from a block to its code
#define MOST_CODE (1u << 20)
#define EFLAGS_FIXED 0x2u // always set
#define EFLAGS_KNOWN 0x3fffffull
#define EFLAGS_ELSEWHERE 0xcd5u // conditions and direction, which QEMU keeps apart

// What is seen of real blocks. REFUTED: one was otherwise.
enum { FIRST_JUMP = 1, SECOND_JUMP = 2, HEAD = 4, CHAIN = 8, ALL = 15, REFUTED = 16 };

static const struct block *remembered[REMEMBERED];
static unsigned looked;

bool layout_is_proven(const struct layout_proof *proof) {
    return atomic_load(&proof->seen) == ALL;
}

void layout_forget(void) {
    memset(remembered, 0, sizeof remembered);
}

bool layout_env_is(const struct env *env, uint64_t pc, uint32_t state) {
    return env->pc == pc && (env->eflags & EFLAGS_FIXED) && !(env->eflags & ~EFLAGS_KNOWN) &&
           !(env->eflags & EFLAGS_ELSEWHERE) &&
           (env->hflags | (uint32_t)(env->eflags & LAYOUT_IN_EFLAGS)) == state;
}

static bool is_known(uintptr_t block) {
    for (unsigned i = 0; block && i < REMEMBERED; i++)
        if ((uintptr_t)remembered[i] == block)
            return true;
    return false;
}

static unsigned fresh(const struct block *b, const struct layout_told *told) {
    size_t before = (uintptr_t)b->code - (uintptr_t)b;
    bool crosses = told->pc % LAYOUT_PAGE + told->size > LAYOUT_PAGE;
    unsigned seen = 0;
    if (b->base != told->base || b->state != told->state || b->flags != told->flags ||
        b->size != told->size || b->instructions != told->instructions)
        return REFUTED;
    if (before < sizeof *b || before > MOST_BEFORE || !b->code_size || b->code_size > MOST_CODE ||
        b->page[0] != told->at || (b->page[1] != LAYOUT_NOWHERE) != crosses)
        return REFUTED;
    if (b->lock || b->jumps_here || b->next_jump[0] || b->next_jump[1] || b->jumps[0] || b->jumps[1])
        return REFUTED;
    for (int i = 0; i < 2; i++) {
        if (b->jump[i] == LAYOUT_NO_JUMP)
            continue;
        if (b->jump[i] > b->code_size || b->jump_to[i] != (uintptr_t)b->code + b->jump[i])
            return REFUTED;
        seen |= i ? SECOND_JUMP : FIRST_JUMP;
    }
    return seen;
}

// A jump that QEMU has set is in the list of the block to which it goes.
static unsigned linked(const struct block *b, unsigned i) {
    if (!is_known(b->jumps[i]))
        return 0;
    const struct block *to = (const struct block *)b->jumps[i];
    if (b->jump[i] == LAYOUT_NO_JUMP || b->jump_to[i] != (uintptr_t)to->code)
        return REFUTED;
    unsigned seen = HEAD;
    for (uintptr_t at = to->jumps_here; at != ((uintptr_t)b | i); seen = CHAIN) {
        uintptr_t other = at & ~(uintptr_t)1;
        if (!is_known(other))
            return at && other % sizeof(void *) == 0 ? 0 : REFUTED;
        at = ((const struct block *)other)->next_jump[at & 1];
    }
    return seen;
}

bool layout_look(struct layout_proof *proof, const struct block *block, const struct layout_told *told) {
    unsigned seen = atomic_load(&proof->seen);
    if (seen & REFUTED)
        return false;
    unsigned more = fresh(block, told);
    if (seen != ALL && !(more & REFUTED)) {
        remembered[looked++ % REMEMBERED] = block;
        for (unsigned i = 0; looked % EVERY == 0 && i < REMEMBERED; i++)
            if (remembered[i])
                more |= linked(remembered[i], 0) | linked(remembered[i], 1);
    }
    if (more & ~seen)
        atomic_fetch_or(&proof->seen, more);
    return !(more & REFUTED);
}
