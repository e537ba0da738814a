// Each read of QEMU walks the guest's page tables, which costs much more than the copy. The fields of a thread lie
// close together, so pieces of memory are read and kept until the event is over.
#include "threads_guest.h"

#include "blocks.h"
#include "lockstep.h"

#include <string.h>

#if INSN_API >= 3

#define PIECE 1024 // of an aligned address; never crosses a page
#define PIECES 8

enum { STACK = GUEST_ARGUMENTS, LINK, REGISTERS };

static struct reader {
    struct qemu_register *registers[REGISTERS];
    struct qemu_bytes *bytes;
    unsigned used, next;
    struct {
        uint64_t address;
        bool is_mapped;
        uint8_t content[PIECE];
    } pieces[PIECES];
} readers[LOCKSTEP_MAX];

bool guest_can_read(void) {
    return qemu_plugin_read_memory_vaddr && qemu_plugin_get_registers && qemu_plugin_read_register;
}

bool guest_vcpu(unsigned vcpu) {
    struct reader *r = &readers[vcpu];
    struct qemu_registers *all = qemu_plugin_get_registers();
    for (unsigned i = 0; i < REGISTERS; i++) {
        const char *name = i < STACK ? blocks_arch->arguments[i] : i == STACK ? blocks_arch->stack : blocks_arch->link;
        for (unsigned k = 0; name && k < all->count; k++)
            if (strcmp(all->descriptors[k].name, name) == 0)
                r->registers[i] = all->descriptors[k].handle;
        if (name && !r->registers[i])
            return false;
    }
    r->bytes = g_byte_array_new();
    return true;
}

void guest_begin(unsigned vcpu) {
    readers[vcpu].used = readers[vcpu].next = 0;
}

static uint64_t read_register(unsigned vcpu, unsigned which) {
    struct reader *r = &readers[vcpu];
    uint64_t value = 0;
    if (!r->registers[which])
        return 0;
    g_byte_array_set_size(r->bytes, 0);
    if (qemu_plugin_read_register(r->registers[which], r->bytes) >= 8)
        memcpy(&value, r->bytes->data, sizeof value);
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
