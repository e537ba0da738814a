#include "spin.h"

#include <string.h>

// Judges a straight piece of code that ends with a jump to its start. Other jumps may leave it.
static struct spin judge(const struct arch *arch, const struct arch_insn *insns, const int8_t *counted,
                         size_t count) {
    uint32_t began_with = 0, changed = 0;
    bool loads = false, clock = false;
    int64_t length = 0, at = 0;
    int left = (int)count;
    for (size_t i = 0; i < count; i++)
        length += (int64_t)insns[i].length;
    for (size_t i = 0; i + 1 < count; i++) {
        left -= counted[i];
        bool conditional;
        int64_t by;
        at += (int64_t)insns[i].length;
        if (arch->jump(&insns[i], &conditional, &by)) {
            if (!conditional || (at + by >= 0 && at + by < length))
                return (struct spin){0};
            continue;
        }
        struct arch_effect e = arch->effect(&insns[i]);
        if (e.unknown)
            return (struct spin){0};
        began_with |= e.reads & ~changed;
        changed |= e.writes;
        loads |= e.loads;
        clock |= e.clock;
    }
    if (began_with & changed)
        return (struct spin){0};
    return (struct spin){.on = clock ? SPIN_ON_CLOCK : loads ? SPIN_ON_MEMORY : SPIN_ON_NOTHING,
                         .counted = left > 0 ? left : 1,
                         .instructions = count};
}

void spin_add(struct spin_trail *trail, uint64_t start, const struct arch_insn *insn) {
    if (start != trail->end)
        trail->count = 0;
    if (trail->count == SPIN_MOST) {
        memmove(trail->insns, trail->insns + 1, --trail->count * sizeof *insn);
        memmove(trail->counted, trail->counted + 1, trail->count);
    }
    trail->counted[trail->count] = 0;
    trail->insns[trail->count++] = *insn;
    trail->end = start + insn->length;
}

struct spin spin_closed(const struct arch *arch, struct spin_trail *trail) {
    bool conditional;
    int64_t by;
    if (!trail->count || !arch->jump(&trail->insns[trail->count - 1], &conditional, &by))
        return (struct spin){0};
    for (size_t first = trail->count; by < 0 && first-- > 0;) {
        by += (int64_t)trail->insns[first].length;
        if (by == 0) {
            struct spin found =
                judge(arch, trail->insns + first, trail->counted + first, trail->count - first);
            trail->counted[trail->count - 1] = (int8_t)found.counted;
            return found;
        }
    }
    return (struct spin){.begins_before = by < 0};
}
