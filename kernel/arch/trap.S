// Entry from user mode, interrupts and exceptions into C, and the return. Interrupts stay off in the kernel.
#include "arch/layout.h"
#include "config.h"

#define CPU_KERNEL_STACK 8
#define CPU_USER_STACK 16

.text

// struct frame (arch/trap.h), from the lowest address: r15 ... rax, vector, error, rip, cs, flags, rsp, ss.
.macro PUSH_ALL
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rbx
    pushq %rbp
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
.endm
.macro POP_ALL
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rbp
    popq %rbx
    popq %rdx
    popq %rcx
    popq %rax
.endm

.macro STUB vector, error=0, target=trap_common
stub_\vector:
    .if \error == 0
    pushq $0
    .endif
    pushq $\vector
    jmp \target
.endm

trap_common:
    testb $3, 24(%rsp) // cs
    jz 1f
    swapgs
1:  PUSH_ALL
    cld
#if CONFIG_HARDENED
    pushfq // user mode may have set AC, which would disable SMAP
    andl $~0x40000, (%rsp)
    popfq
#endif
    movq %rsp, %rdi
    call trap
trap_return:
    POP_ALL
    testb $3, 24(%rsp) // cs
    jz 2f
    swapgs
2:  addq $16, %rsp
    iretq

// Double fault, NMI, machine check: each has its own stack, GS is unknown, and there is no return.
trap_fatal:
    PUSH_ALL
    cld
    movq %rsp, %rdi
    call fatal_interrupt
    ud2

STUB 0
STUB 1
STUB 2, 0, trap_fatal
STUB 3
STUB 4
STUB 5
STUB 6
STUB 7
STUB 8, 1, trap_fatal
STUB 9
STUB 10, 1
STUB 11, 1
STUB 12, 1
STUB 13, 1
STUB 14, 1
STUB 15
STUB 16
STUB 17, 1
STUB 18, 0, trap_fatal
STUB 19
STUB 20
STUB 21, 1
STUB 22
STUB 23
STUB 24
STUB 25
STUB 26
STUB 27
STUB 28
STUB 29, 1
STUB 30, 1
STUB 31
STUB 64
STUB 65
STUB 66
STUB 255

.section .rodata
.globl trap_stubs
trap_stubs: // vector, address; ends with vector -1
.irp v, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,64,65,66,255
    .quad \v, stub_\v
.endr
    .quad -1, 0

.text
// rax: number; rdi, rsi, rdx, r10: arguments. SFMASK has cleared IF, DF, TF and AC. Saves only the registers
// that the C calling convention does not preserve, and clears the others, so that no kernel value leaks.
.globl syscall_entry
syscall_entry:
    swapgs
    movq %rsp, %gs:CPU_USER_STACK
    movq %gs:CPU_KERNEL_STACK, %rsp
    pushq %gs:CPU_USER_STACK
    pushq %r11
    pushq %rcx
    subq $8, %rsp
    movq %r10, %rcx
    movq %rax, %r8
    call syscall
    addq $8, %rsp
    xorl %edi, %edi
    xorl %esi, %esi
    xorl %edx, %edx
    xorl %r8d, %r8d
    xorl %r9d, %r9d
    xorl %r10d, %r10d
    popq %rcx
    popq %r11
    popq %rsp
    swapgs
    sysretq

// enter_user(ip, stack, first, second): first entry of a thread; never returns.
.globl enter_user
enter_user:
    pushq $USER_DATA
    pushq %rsi
    pushq $0x202 // IF
    pushq $USER_CODE
    pushq %rdi
    movq %rdx, %rdi
    movq %rcx, %rsi
    xorl %eax, %eax
    xorl %ebx, %ebx
    xorl %ecx, %ecx
    xorl %edx, %edx
    xorl %ebp, %ebp
    xorl %r8d, %r8d
    xorl %r9d, %r9d
    xorl %r10d, %r10d
    xorl %r11d, %r11d
    xorl %r12d, %r12d
    xorl %r13d, %r13d
    xorl %r14d, %r14d
    xorl %r15d, %r15d
    swapgs
    iretq

// switch_stacks(&from, to): saves the callee-saved registers and continues where `to` was saved.
.globl switch_stacks
switch_stacks:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret

// A new thread's first return address: thread_begin never returns.
.globl thread_first
thread_first:
    xorl %ebp, %ebp
    call thread_begin
    ud2
.section .note.GNU-stack, "", @progbits
