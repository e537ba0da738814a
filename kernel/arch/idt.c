#include "arch/layout.h"
#include "arch/trap.h"

struct gate {
    uint16_t offset_low, selector;
    uint8_t ist, type;
    uint16_t offset_middle;
    uint32_t offset_high, reserved;
} __attribute__((packed));

static struct gate idt[256];
extern const struct {
    int64_t vector;
    uint64_t address;
} trap_stubs[];

static uint8_t stack_of(int64_t vector) {
    return vector == 8 ? 1 : vector == 2 ? 2 : vector == 18 ? 3 : 0;
}

void idt_init(void) {
    for (unsigned i = 0; trap_stubs[i].vector >= 0; i++) {
        uint64_t at = trap_stubs[i].address;
        int user = trap_stubs[i].vector == 3; // user mode may execute int3
        idt[trap_stubs[i].vector] = (struct gate){.offset_low = (uint16_t)at,
                                                  .selector = KERNEL_CODE,
                                                  .ist = stack_of(trap_stubs[i].vector),
                                                  .type = user ? 0xee : 0x8e,
                                                  .offset_middle = (uint16_t)(at >> 16),
                                                  .offset_high = (uint32_t)(at >> 32)};
    }
}

void idt_load(void) {
    struct {
        uint16_t limit;
        uint64_t base;
    } __attribute__((packed)) pointer = {sizeof idt - 1, (uint64_t)idt};
    __asm__ volatile("lidt %0" ::"m"(pointer));
}
