// Interrupts, exceptions and the IDT. Kernel code runs with interrupts off; they are taken in user mode and
// in the idle loop only, so a handler never meets a lock that its own CPU holds.
#ifndef ARCH_TRAP_H
#define ARCH_TRAP_H

#include <stdint.h>

struct frame {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8, rdi, rsi, rbp, rbx, rdx, rcx, rax;
    uint64_t vector, error, ip, cs, flags, sp, ss;
};

void idt_init(void); // once
void idt_load(void); // each CPU
void trap(struct frame *frame);
_Noreturn void fatal_interrupt(const struct frame *frame);
_Noreturn void enter_user(uint64_t ip, uint64_t stack, uint64_t first, uint64_t second);
void switch_stacks(uint64_t *from, uint64_t to);
void syscall_entry(void);
void thread_first(void);

#endif
