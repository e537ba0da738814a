// Interrupt gates and handlers. Each handler counts its interrupts per CPU.
#include "stress.h"

struct frame {
    uint64_t ip, cs, flags, sp, ss;
};
static struct {
    uint16_t low, selector;
    uint8_t ist, kind;
    uint16_t middle;
    uint32_t high, zero;
} gates[256];

__attribute__((interrupt)) static void on_timer(volatile struct frame *f) {
    (void)f;
    seen[self()].ticks++;
    timer_due();
    *apic(APIC_EOI) = 0;
}

__attribute__((interrupt)) static void on_ipi(volatile struct frame *f) {
    (void)f;
    seen[self()].ipis++;
    *apic(APIC_EOI) = 0;
}

__attribute__((interrupt)) static void on_nmi(volatile struct frame *f) {
    (void)f;
    seen[self()].nmis++;
}

__attribute__((interrupt)) static void on_undefined(volatile struct frame *f) {
    seen[self()].faults++;
    f->ip += 2; // ud2
}

__attribute__((interrupt)) static void on_breakpoint(volatile struct frame *f) {
    (void)f;
    seen[self()].faults++;
}

__attribute__((interrupt)) static void on_page_fault(volatile struct frame *f, uint64_t code) {
    (void)code;
    seen[self()].faults++;
    f->ip += 3; // mov (%rax), %rax
}

__attribute__((interrupt)) static void on_other(volatile struct frame *f) {
    (void)f;
    check(false, "an unexpected interrupt");
}

__attribute__((interrupt)) static void on_call(volatile struct frame *f) {
    (void)f;
    work(100);
}

static void gate(unsigned vector, void *handler) {
    uint64_t at = (uint64_t)handler;
    gates[vector].low = (uint16_t)at;
    gates[vector].selector = 8;
    gates[vector].kind = 0x8e;
    gates[vector].middle = (uint16_t)(at >> 16);
    gates[vector].high = (uint32_t)(at >> 32);
}

void load_gates(bool all) {
    struct {
        uint16_t limit;
        uint64_t base;
    } __attribute__((packed)) table = {all ? sizeof gates - 1 : 0, (uint64_t)gates};
    __asm__ volatile("lidt %0" ::"m"(table));
}

void set_gates(void) {
    for (unsigned vector = 0; vector < 256; vector++)
        gate(vector, on_other);
    gate(2, on_nmi);
    gate(3, on_breakpoint);
    gate(6, on_undefined);
    gate(14, on_page_fault);
    gate(VECTOR_TIMER, on_timer);
    gate(VECTOR_IPI, on_ipi);
    gate(VECTOR_CALL, on_call);
}
