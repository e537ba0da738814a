#include "threads_trail.h"

#include "arch.h"
#include "threads_guest.h"

#if INSN_API >= 3

#define DEEP 512     // bytes of the stack
#define REMEMBERED 8192 // a power of two

static uint64_t text_from, text_to;
static struct {
    uint64_t address;
    bool is_return;
} seen[REMEMBERED];

void trail_setup(uint64_t from, uint64_t to) {
    text_from = from;
    text_to = to;
}

// Whether the instruction before this address is a call. The kernel's text hardly ever changes, so one look is enough.
static bool is_return(unsigned vcpu, uint64_t address) {
    uint8_t before[ARCH_BEFORE] = {0};
    if (address < text_from + sizeof before || address >= text_to)
        return false;
    size_t slot = (address >> 1) % REMEMBERED;
    if (seen[slot].address != address) {
        bool mapped = guest_read(vcpu, address - sizeof before, before, sizeof before);
        seen[slot].is_return = mapped && arch_guest->ends_with_call(before + sizeof before);
        seen[slot].address = address;
    }
    return seen[slot].is_return;
}

static unsigned add(unsigned vcpu, uint64_t value, uint64_t *addresses, unsigned count) {
    value = arch_guest->unsigned_pointer ? arch_guest->unsigned_pointer(value) : value;
    if (count == TRAIL_MOST || (count && addresses[count - 1] == value) || !is_return(vcpu, value))
        return count;
    addresses[count] = value;
    return count + 1;
}

unsigned trail_here(unsigned vcpu, uint64_t *addresses) {
    uint64_t stack[DEEP / 8], from = guest_stack(vcpu) & ~UINT64_C(7);
    if (!text_to || !from)
        return 0;
    unsigned count = add(vcpu, guest_link(vcpu), addresses, 0);
    guest_read(vcpu, from, stack, sizeof stack);
    for (unsigned i = 0; i < DEEP / 8; i++)
        count = add(vcpu, stack[i], addresses, count);
    return count;
}

#endif
