// Each read of QEMU walks the guest's page tables, which costs much more than the copy. The fields of a thread lie
// close together, so pieces of memory are read and kept until the event is over.
#include "threads_guest.h"

#include "arch.h"
#include "lockstep.h"
#include "rehearsal.h"

#include <string.h>

#if INSN_API >= 3

#define PIECE 256 // of an aligned address; never crosses a page
#define PIECES 8

enum { STACK = GUEST_ARGUMENTS, LINK, CALL, LEVEL, RESULT, REGISTERS };

static struct reader {
    struct qemu_register *registers[REGISTERS];
    struct qemu_bytes *bytes; // NULL: this vCPU has not appeared
    bool is_named;
    unsigned used, next;
    struct {
        uint64_t address;
        bool is_mapped;
        uint8_t content[PIECE];
    } pieces[PIECES];
} readers[LOCKSTEP_MAX];

bool guest_has_registers(void) {
    return qemu_plugin_get_registers && qemu_plugin_read_register;
}

bool guest_can_read(void) {
    return qemu_plugin_read_memory_vaddr && guest_has_registers();
}

static const char *name_of(unsigned which) {
    switch (which) {
    case STACK:
        return arch_guest->stack;
    case LINK:
        return arch_guest->link;
    case CALL:
        return arch_guest->call;
    case LEVEL:
        return arch_guest->level;
    case RESULT:
        return arch_guest->result;
    default:
        return arch_guest->arguments[which];
    }
}

static struct qemu_register *find_register(const struct qemu_registers *all, const char *name) {
    size_t each = g_array_get_element_size(all);
    for (unsigned i = 0; i < all->count; i++) {
        const struct qemu_descriptor *one = (const void *)(all->descriptors + i * each);
        if (strcmp(one->name, name) == 0)
            return one->handle;
    }
    return NULL;
}

bool guest_vcpu(unsigned vcpu) {
    struct reader *r = &readers[vcpu];
    if (r->bytes)
        return r->is_named;
    r->bytes = g_byte_array_new();
    r->is_named = true;
    struct qemu_registers *all = qemu_plugin_get_registers();
    for (unsigned i = 0; i < REGISTERS; i++) {
        const char *name = name_of(i);
        r->registers[i] = name ? find_register(all, name) : NULL;
        r->is_named &= !name || r->registers[i];
    }
    return r->is_named;
}

void guest_begin(unsigned vcpu) {
    readers[vcpu].used = readers[vcpu].next = 0;
}

static bool look_at_register(unsigned vcpu, unsigned which, uint64_t *value) {
    struct reader *r = &readers[vcpu];
    *value = 0;
    if (!r->registers[which])
        return false;
    g_byte_array_set_size(r->bytes, 0);
    qemu_plugin_read_register(r->registers[which], r->bytes);
    unsigned length = r->bytes->length;
    if (length != 4 && length != 8)
        return false;
    memcpy(value, r->bytes->data, length); // little-endian
    return true;
}

static uint64_t read_register(unsigned vcpu, unsigned which) {
    uint64_t value;
    look_at_register(vcpu, which, &value);
    return value;
}

uint64_t guest_argument(unsigned vcpu, unsigned number) {
    return read_register(vcpu, number);
}

uint64_t guest_stack(unsigned vcpu) {
    return read_register(vcpu, STACK);
}

uint64_t guest_link(unsigned vcpu) {
    return read_register(vcpu, LINK);
}

uint64_t guest_call(unsigned vcpu) {
    return read_register(vcpu, CALL) & UINT32_MAX;
}

uint64_t guest_result(unsigned vcpu) {
    return read_register(vcpu, RESULT);
}

bool guest_level(unsigned vcpu, bool *is_user) {
    uint64_t level;
    if (rehearsal_level(is_user))
        return true;
    bool is_known = look_at_register(vcpu, LEVEL, &level);
    *is_user = is_known && (level & arch_guest->level_bits) == arch_guest->level_user;
    return is_known;
}

// The piece at this address, or NULL if it is not mapped.
static const uint8_t *piece(struct reader *r, uint64_t address) {
    for (unsigned i = 0; i < r->used; i++)
        if (r->pieces[i].address == address)
            return r->pieces[i].is_mapped ? r->pieces[i].content : NULL;
    unsigned at = r->next++ % PIECES;
    if (r->used < PIECES)
        r->used++;
    r->pieces[at].address = address;
    r->pieces[at].is_mapped = qemu_plugin_read_memory_vaddr(address, r->bytes, PIECE) && r->bytes->length == PIECE;
    if (!r->pieces[at].is_mapped)
        return NULL;
    memcpy(r->pieces[at].content, r->bytes->data, PIECE);
    return r->pieces[at].content;
}

bool guest_read(unsigned vcpu, uint64_t address, void *into, size_t size) {
    uint8_t *to = into;
    bool is_mapped = true;
    if (rehearsal_read(address, into, size, &is_mapped))
        return is_mapped;
    while (size) {
        size_t offset = address % PIECE, part = PIECE - offset < size ? PIECE - offset : size;
        const uint8_t *from = piece(&readers[vcpu], address - offset);
        if (from)
            memcpy(to, from + offset, part);
        else
            memset(to, 0, part);
        is_mapped &= from != NULL;
        to += part, address += part, size -= part;
    }
    return is_mapped;
}

#endif
