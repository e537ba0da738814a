// What a program must not be able to do. Each child tries one thing and is killed with the expected vector,
// or gets an error; its siblings and the kernel go on.
#include "user/selftest.h"

#include <stddef.h>

#include "arch/layout.h"

#define KILLED(vector) (RING_STATUS_KILLED + (vector))
#define SURVIVED 77

static int read_kernel(uint64_t where) {
    return *(volatile char *)where ? SURVIVED : SURVIVED;
}
static int write_kernel(uint64_t where) {
    *(volatile char *)where = 1;
    return SURVIVED;
}
static int jump(uint64_t where) {
    ((void (*)(void))where)();
    return SURVIVED;
}
static int write_text_page(uint64_t argument) {
    (void)argument;
    return write_kernel(USER_IMAGE);
}
static int run_stack(uint64_t argument) {
    char code[] = {(char)0xc3};
    (void)argument;
    return jump((uint64_t)code);
}

#define INSTRUCTION(name, text)                                                                              \
    static int name(uint64_t argument) {                                                                     \
        (void)argument;                                                                                      \
        __asm__ volatile(text ::: "rax", "rcx", "rdx", "memory");                                            \
        return SURVIVED;                                                                                     \
    }
INSTRUCTION(no_interrupts, "cli")
INSTRUCTION(halt, "hlt")
INSTRUCTION(tables, "mov %%cr3, %%rax")
INSTRUCTION(registers, "xor %%ecx, %%ecx; wrmsr")
INSTRUCTION(port, "mov $0xf4, %%dx; mov $0x10, %%al; outb %%al, %%dx")
INSTRUCTION(gate, "int $0x80")
INSTRUCTION(timer_gate, "int $0x40")
INSTRUCTION(divide, "xor %%ecx, %%ecx; xor %%edx, %%edx; mov $1, %%eax; div %%ecx")
INSTRUCTION(undefined, "ud2")
INSTRUCTION(x87, "fninit; fld1")
INSTRUCTION(sse, "xorps %%xmm0, %%xmm0")
INSTRUCTION(breakpoint, "int3")
INSTRUCTION(step, "pushfq; orq $0x100, (%%rsp); popfq; nop; nop")
INSTRUCTION(bad_stack, "xor %%esp, %%esp; push %%rax")
INSTRUCTION(input, "in $0x64, %%al")
INSTRUCTION(other_gs, "swapgs")
INSTRUCTION(debug_registers, "mov %%rax, %%dr7")
INSTRUCTION(translation, "invlpg (%%rsp)")
INSTRUCTION(far_return, "pushq $0x08; pushq $0x400000; lretq")
INSTRUCTION(interrupt_return, "pushq $0x10; pushq %%rsp; pushf; pushq $0x08; pushq $0x400000; iretq")
INSTRUCTION(step_into_kernel, "pushfq; orq $0x100, (%%rsp); popfq; mov $2, %%eax; syscall; nop")
INSTRUCTION(segment, "mov $0x08, %%eax; mov %%eax, %%ss")

// Odd but harmless: system calls with an arbitrary stack pointer and GS.
static int odd_registers(uint64_t argument) {
    uint64_t number = RING_CALL_CPU;
    __asm__ volatile("mov %1, %%eax; mov %%eax, %%gs; mov %%eax, %%fs\n\t"
                     "mov %%rsp, %%rbx; mov $0x8000000000000000, %%rsp\n\t"
                     "mov %0, %%rax; syscall; mov %%rbx, %%rsp; mov %%rax, %0"
                     : "+r"(number)
                     : "i"(USER_DATA)
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
    return number < info()->online ? (int)argument : 1;
}
INSTRUCTION(odd_stack, "mov $0x8000000000000000, %%rsp; mov $2, %%eax; syscall; pushq %%rax")

static int recurse(uint64_t depth) {
    volatile char fill[1024];
    fill[0] = (char)depth;
    return depth == UINT64_MAX ? fill[0] : recurse(depth + 1) + fill[0];
}

static int expect(body *what, uint64_t argument, int64_t status) {
    return finish(RING_SPAWN_PROCESS, start(RING_SPAWN_PROCESS, what, argument)) == status;
}

static int memory(void) {
    NEED(expect(read_kernel, 0, KILLED(14)));
    NEED(expect(read_kernel, KERNEL_BASE + KERNEL_LOAD, KILLED(14)));
    NEED(expect(read_kernel, DIRECT_BASE, KILLED(14)));
    NEED(expect(write_kernel, KERNEL_BASE + KERNEL_LOAD, KILLED(14)));
    NEED(expect(write_kernel, STACKS_BASE, KILLED(14)));
    NEED(expect(read_kernel, 0x800000000000, KILLED(13))); // not canonical
    NEED(expect(jump, KERNEL_BASE + KERNEL_LOAD, KILLED(14)));
    NEED(expect(write_text_page, 0, KILLED(14)));
    NEED(expect(write_kernel, USER_MAIN_SLOT + RING_INFO_OFFSET, KILLED(14)));
    NEED(expect(run_stack, 0, KILLED(14)));
    NEED(expect(recurse, 0, KILLED(14)));
    return 0;
}

static int instructions(void) {
    NEED(expect(no_interrupts, 0, KILLED(13)));
    NEED(expect(halt, 0, KILLED(13)));
    NEED(expect(tables, 0, KILLED(13)));
    NEED(expect(registers, 0, KILLED(13)));
    NEED(expect(port, 0, KILLED(13)));
    NEED(expect(gate, 0, KILLED(13)));
    NEED(expect(timer_gate, 0, KILLED(13)));
    NEED(expect(segment, 0, KILLED(13)));
    NEED(expect(input, 0, KILLED(13)));
    NEED(expect(other_gs, 0, KILLED(13)));
    NEED(expect(debug_registers, 0, KILLED(13)));
    NEED(expect(translation, 0, KILLED(13)));
    // QEMU 7.2 reads the program's stack with kernel rights here, and so violates SMAP.
    NEED(expect(far_return, 0, KILLED(13)) || expect(far_return, 0, KILLED(14)));
    NEED(expect(interrupt_return, 0, KILLED(13)) || expect(interrupt_return, 0, KILLED(14)));
    NEED(expect(step_into_kernel, 0, KILLED(1)));
    NEED(expect(odd_stack, 0, KILLED(12)) || expect(odd_stack, 0, KILLED(13))); // TCG reports 13
    NEED(expect(odd_registers, 6, 6));
    NEED(expect(divide, 0, KILLED(0)));
    NEED(expect(undefined, 0, KILLED(6)));
    NEED(expect(x87, 0, KILLED(7)));
    NEED(expect(sse, 0, KILLED(6)));
    NEED(expect(breakpoint, 0, KILLED(3)));
    NEED(expect(step, 0, KILLED(1)));
    NEED(expect(bad_stack, 0, KILLED(14)));
    return 0;
}

static int too_many_submissions(uint64_t by) {
    my_ring()->sq_tail += (uint32_t)by;
    kernel_call(RING_CALL_ENTER, 1, 0, 0);
    return SURVIVED;
}
static int impossible_head(uint64_t by) {
    my_ring()->cq_head += (uint32_t)by;
    kernel_call(RING_CALL_ENTER, 1, 0, 0);
    return SURVIVED;
}
// The kernel keeps its own counts: overwriting the ones it wrote does no harm.
static int overwritten_counts(uint64_t argument) {
    my_ring()->sq_head = 12345;
    my_ring()->cq_tail = my_ring()->cq_head;
    return RING_DO(RING_NOP, 0) == 0 ? (int)argument : 1;
}

static struct ring *fed;

// While its sibling sleeps in the last submission of its ring, fills all other places again.
static int feed(uint64_t asleep_at) {
    while (__atomic_load_n(&fed->cq_tail, __ATOMIC_ACQUIRE) != (uint32_t)asleep_at)
        kernel_call(RING_CALL_YIELD, 0, 0, 0);
    fed->cq_head = fed->cq_tail;
    __atomic_store_n(&fed->sq_tail, fed->sq_tail + RING_SIZE - 1, __ATOMIC_RELEASE);
    while (RING_DO(RING_UNPARK, (uint64_t)&board->word[0], 1) == 0)
        kernel_call(RING_CALL_YIELD, 0, 0, 0);
    return 0;
}

// The enter call returns although a sibling refills the ring: otherwise that sibling could keep this CPU in
// the kernel forever.
static int refilled_ring(uint64_t argument) {
    fed = my_ring();
    uint32_t tail = fed->sq_tail + 1; // once the sibling is started
    NEED(start(RING_SPAWN_THREAD, feed, tail + RING_SIZE - 1) > 0);
    for (unsigned i = 0; i < RING_SIZE; i++)
        fed->sq[i] = (struct ring_submission){.operation = RING_NOP};
    fed->sq[(tail + RING_SIZE - 1) % RING_SIZE] =
        (struct ring_submission){.operation = RING_PARK, .argument = {(uint64_t)&board->word[0], 0}};
    __atomic_store_n(&fed->sq_tail, tail + RING_SIZE, __ATOMIC_RELEASE);
    NEED(kernel_call(RING_CALL_ENTER, 2 * RING_SIZE, 0, 0) == RING_SIZE);
    NEED(kernel_call(RING_CALL_ENTER, 2 * RING_SIZE, 0, 0) == RING_SIZE - 1);
    return (int)argument;
}

static int rings(void) {
    NEED(expect(too_many_submissions, RING_SIZE + 1, KILLED(RING_VECTOR_NONE)));
    NEED(expect(too_many_submissions, 0x80000000, KILLED(RING_VECTOR_NONE)));
    NEED(expect(impossible_head, 1, KILLED(RING_VECTOR_NONE)));
    NEED(expect(impossible_head, 0x7fffffff, KILLED(RING_VECTOR_NONE)));
    NEED(expect(overwritten_counts, 5, 5));
    NEED(expect(refilled_ring, 5, 5));
    return 0;
}

static int arguments(void) {
    const uint64_t bad[] = {0,
                            1,
                            KERNEL_BASE + KERNEL_LOAD,
                            DIRECT_BASE,
                            USER_END,
                            UINT64_MAX - 3,
                            0x800000000000,
                            USER_SHARED - 4096,
                            (uint64_t)board + 2};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        NEED(RING_DO(RING_PARK, bad[i], 0) == -RING_EFAULT);
        NEED(RING_DO(RING_UNPARK, bad[i], 1) == -RING_EFAULT);
        NEED(i == 8 || RING_DO(RING_LOG, bad[i], 16) == -RING_EFAULT);
        NEED(RING_DO(RING_UNMAP, bad[i], 4096) == -RING_EINVAL);
        NEED(RING_DO(RING_WAIT, bad[i], RING_SPAWN_PROCESS) == -RING_ESRCH);
        NEED(RING_DO(RING_WAIT, bad[i], RING_SPAWN_THREAD) == -RING_ESRCH);
        NEED(RING_DO(RING_CALL, bad[i], 0, 0) == -RING_ESRCH);
        NEED(i == 0 || RING_DO(RING_REPLY, bad[i], 0, 0) == -RING_ESRCH);
    }
    NEED(RING_DO(RING_LOG, (uint64_t)board, RING_LOG_BYTES + 1) == -RING_EINVAL);
    NEED(RING_DO(RING_LOG, (uint64_t)board, UINT64_MAX) == -RING_EINVAL);
    NEED(RING_DO(RING_MAP, 0, 0) == -RING_EINVAL);
    NEED(RING_DO(RING_MAP, UINT64_MAX, 0) == -RING_EINVAL);
    NEED(RING_DO(RING_MAP, 0xff000000, 0) == -RING_ENOMEM);
    NEED(RING_DO(RING_UNMAP, USER_PRIVATE, UINT64_MAX - 4095) == -RING_EINVAL);
    const uint64_t mine[] = {USER_MAIN_SLOT, USER_MAIN_SLOT + RING_INFO_OFFSET, (uint64_t)bad & ~4095ul,
                             USER_IMAGE, USER_THREADS}; // its ring, info page, stack, text, threads
    for (unsigned i = 0; i < sizeof mine / sizeof *mine; i++)
        NEED(RING_DO(RING_UNMAP, mine[i], 4096) == -RING_EINVAL);
    NEED(RING_DO(RING_SPAWN, 2, 0, 0) == -RING_EINVAL);
    NEED(RING_DO(RING_SPAWN, 0, 0, 0, UINT64_MAX) == -RING_EINVAL);
    NEED(RING_DO(RING_SPAWN, 0, 0, 0, 0, RING_LATENCIES) == -RING_EINVAL);
    NEED(kernel_call(RING_CALLS, 0, 0, 0) == -RING_EINVAL);
    NEED(kernel_call((enum ring_call) - 1, 0, 0, 0) == -RING_EINVAL);
    NEED(kernel_call(RING_CALL_READ, UINT64_MAX, UINT64_MAX, UINT64_MAX) == -RING_EINVAL);
    return 0;
}

const struct check hostile_checks[] = {
    {"hostile-memory", memory},
    {"hostile-instructions", instructions},
    {"hostile-rings", rings},
    {"hostile-arguments", arguments},
    {NULL, NULL},
};
