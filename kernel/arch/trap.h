// Interrupts, exceptions and the IDT. Kernel code runs with interrupts off. They are taken in user mode, in
// the idle loop and in thread_breathe, where no lock is held: a handler never waits for a lock of its own
// CPU.
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
