#define _GNU_SOURCE
#include "switch.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__

#include <asm/prctl.h>
#include <elf.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define FSGSBASE 2 // of AT_HWCAP2: programs may use wrfsbase

_Static_assert(offsetof(struct switch_context, mxcsr) == 24 && offsetof(struct switch_context, base) == 32 &&
                   offsetof(struct switch_context, argument) == 40,
               "the assembly below knows these places");

// The compiler itself saves the registers that are said to change. rbp may be its frame pointer.
#define CHANGE(set_base)                                                                                     \
    __asm__ volatile("leaq 1f(%%rip), %%rax\n\t"                                                             \
                     "movq %%rsp, (%%rdi)\n\t"                                                               \
                     "movq %%rbp, 8(%%rdi)\n\t"                                                              \
                     "movq %%rax, 16(%%rdi)\n\t"                                                             \
                     "stmxcsr 24(%%rdi)\n\t"                                                                 \
                     "fnstcw 28(%%rdi)\n\t" set_base "ldmxcsr 24(%%rdx)\n\t"                                 \
                     "fldcw 28(%%rdx)\n\t"                                                                   \
                     "movq 40(%%rdx), %%rdi\n\t"                                                             \
                     "movq 8(%%rdx), %%rbp\n\t"                                                              \
                     "movq (%%rdx), %%rsp\n\t"                                                               \
                     "jmpq *16(%%rdx)\n"                                                                     \
                     "1:"                                                                                    \
                     : "+D"(from), "+d"(to)                                                                  \
                     :                                                                                       \
                     : "memory", "cc", "rax", "rbx", "rcx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13",   \
                       "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", \
                       "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15")

static __attribute__((noinline)) void by_instruction(struct switch_context *from,
                                                     const struct switch_context *to) {
    CHANGE("movq 32(%%rdx), %%rax\n\t"
           ".byte 0xf3, 0x48, 0x0f, 0xae, 0xd0\n\t"); // wrfsbase %rax, for assemblers that must be told of it
}

static __attribute__((noinline)) void by_call(struct switch_context *from, const struct switch_context *to) {
    CHANGE("movl $158, %%eax\n\t"    // arch_prctl
           "movl $0x1002, %%edi\n\t" // ARCH_SET_FS
           "movq 32(%%rdx), %%rsi\n\t"
           "syscall\n\t");
}

_Static_assert(SYS_arch_prctl == 158 && ARCH_SET_FS == 0x1002, "the assembly above knows these numbers");

void switch_to(enum switch_way way, struct switch_context *from, const struct switch_context *to) {
    if (way == SWITCH_FSBASE)
        by_instruction(from, to);
    else
        by_call(from, to);
}

// The first word of the thread-local storage is its own address.
uintptr_t switch_base(void) {
    uintptr_t base;
    __asm__ volatile("movq %%fs:0, %0" : "=r"(base));
    return base;
}

static uint32_t mxcsr_now(void) {
    uint32_t word;
    __asm__ volatile("stmxcsr %0" : "=m"(word));
    return word;
}

static uint16_t x87_now(void) {
    uint16_t word;
    __asm__ volatile("fnstcw %0" : "=m"(word));
    return word;
}

struct switch_context switch_new(void *stack, uint64_t size, void (*function)(void *), void *argument) {
    struct switch_context new = {.mxcsr = mxcsr_now(), .x87 = x87_now(), .argument = argument};
    uintptr_t top = ((uintptr_t)stack + size) & ~(uintptr_t)15;
    new.stack = (void *)(top - 8); // as after a call
    new.base = switch_base();
    __builtin_memcpy(&new.next, &function, sizeof function);
    return new;
}

long switch_futex(_Atomic uint32_t *word, int operation, uint32_t value) {
    long result = SYS_futex;
    register const void *forever __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(word), "S"((long)operation), "d"((unsigned long)value), "r"(forever)
                     : "rcx", "r11", "memory");
    return result;
}

// ---- the trial

#define ROUNDED_UP 0x4000u // of mxcsr

static struct {
    enum switch_way way;
    struct switch_context here, there;
    uintptr_t storage[64];
    _Alignas(16) unsigned char stack[4096];
    unsigned visits;
} trial;

static void visit(void *argument) {
    for (;;) {
        trial.visits += argument == &trial && switch_base() == trial.there.base && (mxcsr_now() & ROUNDED_UP);
        switch_to(trial.way, &trial.there, &trial.here);
    }
}

// A stack that the processor keeps beside ours would have to change, too.
static bool has_shadow_stack(void) {
    uintptr_t top = 0;
    __asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0x1e, 0xc8" : "+a"(top)); // rdsspq %rax
    return top;
}

static bool passes(enum switch_way way) {
    uintptr_t base = switch_base(), self;
    __asm__ volatile("movq %%fs:16, %0" : "=r"(self));
    uint32_t mxcsr = mxcsr_now();
    trial.way = way;
    trial.here.base = base;
    trial.there = switch_new(trial.stack, sizeof trial.stack, visit, &trial);
    trial.there.base = trial.storage[0] = (uintptr_t)trial.storage;
    trial.there.mxcsr |= ROUNDED_UP;
    for (int i = 0; i < 2; i++)
        switch_to(way, &trial.here, &trial.there);
    return base == self && trial.visits == 2 && switch_base() == base && mxcsr_now() == mxcsr;
}

// What does not work may end the process that tries it. That process sends no signal when it ends, and
// calls no handlers of pthread_atfork.
bool switch_works(enum switch_way way) {
    bool has_instruction = getauxval(AT_HWCAP2) & FSGSBASE;
    if (has_shadow_stack() || way == SWITCH_NONE || (way == SWITCH_FSBASE && !has_instruction))
        return false;
    long child = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
    if (child == 0) {
        syscall(SYS_prctl, PR_SET_DUMPABLE, 0);
        syscall(SYS_exit_group, passes(way) ? 0 : 1);
    }
    int status = 1;
    return child > 0 && waitpid((pid_t)child, &status, __WALL) == child && status == 0;
}

#else

bool switch_works(enum switch_way way) {
    (void)way;
    return false;
}

uintptr_t switch_base(void) {
    return 0;
}

void switch_to(enum switch_way way, struct switch_context *from, const struct switch_context *to) {
    (void)way, (void)from, (void)to;
}

struct switch_context switch_new(void *stack, uint64_t size, void (*function)(void *), void *argument) {
    (void)stack, (void)size, (void)function, (void)argument;
    return (struct switch_context){0};
}

long switch_futex(_Atomic uint32_t *word, int operation, uint32_t value) {
    return syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}

#endif
