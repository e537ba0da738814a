// Runs reads of the TSC under tsc.c and thunk.c, and prints what of the CPU's state is not as it should be.
//
// Each place has a twin, in which moves of constants stand for the read. Whatever else the two leave behind
// must be equal: general registers, flags, stack pointer, red zone, x87, mxcsr and all vectors. What answers
// for the clock changes all that a C function may.
#define _GNU_SOURCE
#include "clock.h"
#include "journal.h"
#include "libc.h"
#include "outer.h"
#include "tsc.h"

#include <cpuid.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define AREA 16384
#define ALL_FLAGS 0xcd7u // carry, parity, adjust, zero, sign, direction, overflow
#define NO_FLAGS 0x202u

struct state {
    uint64_t general[16]; // rax rcx rdx rbx rsp rbp rsi rdi r8-r15
    uint64_t flags;
    uint8_t red_zone[128];
    _Alignas(64) uint8_t vectors[AREA];
};
struct state before, after;
uint8_t stack_of_native[65536] __attribute__((aligned(4096)));
uint64_t saved_rsp, vector_mask;
const void *entry;
static _Alignas(64) uint8_t ruin[AREA];
static uint64_t has_xsave;
void native(void); // loads `before`, jumps to `entry`, and saves `after`

// At offsets of struct state. The stack is the program's own, so rsp is saved and not loaded.
__asm__(".text\n"
        "native: push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "mov %rsp, saved_rsp(%rip)\n"
        "lea stack_of_native+32768(%rip), %rsp\n"
        "lea before+136(%rip), %rsi\n lea -128(%rsp), %rdi\n mov $128, %ecx\n cld\n rep movsb\n"
        "mov vector_mask(%rip), %eax\n xor %edx, %edx\n test %eax, %eax\n jz 1f\n"
        "xrstor64 before+320(%rip)\n jmp 2f\n"
        "1: fxrstor64 before+320(%rip)\n"
        "2: lea before(%rip), %rax\n"
        "mov 24(%rax), %rbx\n mov 40(%rax), %rbp\n mov 48(%rax), %rsi\n mov 56(%rax), %rdi\n"
        "mov 64(%rax), %r8\n mov 72(%rax), %r9\n mov 80(%rax), %r10\n mov 88(%rax), %r11\n"
        "mov 96(%rax), %r12\n mov 104(%rax), %r13\n mov 112(%rax), %r14\n mov 120(%rax), %r15\n"
        "lea -136(%rsp), %rsp\n pushq 128(%rax)\n popfq\n lea 136(%rsp), %rsp\n"
        "mov before+8(%rip), %rcx\n mov before+16(%rip), %rdx\n mov before(%rip), %rax\n"
        "jmp *entry(%rip)\n"
        "back: mov %rax, after(%rip)\n mov %rcx, after+8(%rip)\n mov %rdx, after+16(%rip)\n"
        "mov %rbx, after+24(%rip)\n mov %rsp, after+32(%rip)\n mov %rbp, after+40(%rip)\n"
        "mov %rsi, after+48(%rip)\n mov %rdi, after+56(%rip)\n"
        "mov %r8, after+64(%rip)\n mov %r9, after+72(%rip)\n mov %r10, after+80(%rip)\n"
        "mov %r11, after+88(%rip)\n mov %r12, after+96(%rip)\n mov %r13, after+104(%rip)\n"
        "mov %r14, after+112(%rip)\n mov %r15, after+120(%rip)\n"
        "lea stack_of_native+16384(%rip), %rsp\n pushfq\n popq after+128(%rip)\n cld\n"
        "lea stack_of_native+32768-128(%rip), %rsi\n lea after+136(%rip), %rdi\n mov $128, %ecx\n rep movsb\n"
        "mov vector_mask(%rip), %eax\n xor %edx, %edx\n test %eax, %eax\n jz 1f\n"
        "xsave64 after+320(%rip)\n jmp 2f\n"
        "1: fxsave64 after+320(%rip)\n"
        "2: fninit\n mov saved_rsp(%rip), %rsp\n"
        "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n");
_Static_assert(offsetof(struct state, flags) == 128 && offsetof(struct state, red_zone) == 136, "as above");
_Static_assert(offsetof(struct state, vectors) == 320, "as above");

// ---- places

#define ANSWER UINT64_C(0x8765432112345678)
#define RDTSC_TWIN "mov $0x12345678, %eax\n mov $0x87654321, %edx\n"
#define RDTSCP_TWIN RDTSC_TWIN "mov $0, %ecx\n"
#define PLACE(name, where, read, twin, rest)                                                                 \
    __asm__(".text\n .balign 4096\n " where "\n" #name ": " read "\n" #name "_rest: " rest "\n jmp back\n"   \
            "twin_" #name ": " twin "twin_" #name "_rest: " rest "\n jmp back\n");                           \
    extern const uint8_t name[], name##_rest[], twin_##name[], twin_##name##_rest[]
#define OR " or %rdx, %rax"
PLACE(gcc, "", "rdtsc", RDTSC_TWIN, "shl $32, %rdx\n mov %eax, %eax\n" OR);
PLACE(other_order, "", "rdtsc", RDTSC_TWIN, "mov %eax, %eax\n shl $32, %rdx\n" OR);
PLACE(no_flags, "", "rdtsc", RDTSC_TWIN, "mov %eax, %eax\n mov %edx, %edx\n");
PLACE(high_registers, "", "rdtsc", RDTSC_TWIN, "mov %rdx, %r9\n shl $32, %r9\n or %r9, %rax\n");
PLACE(whole_rax, "", "rdtsc", RDTSC_TWIN, "mov %rax, %r9\n");
PLACE(fenced, "", "rdtsc", RDTSC_TWIN, "lfence\n shl $32, %rdx\n" OR);
PLACE(with_cpu, "", "rdtscp", RDTSCP_TWIN, "shl $32, %rdx\n" OR);
PLACE(with_cpu_short, "", "rdtscp", RDTSCP_TWIN, "mov %eax, %eax\n shl $32, %rdx\n");
PLACE(over_a_line, ".skip 62", "rdtsc", RDTSC_TWIN, "shl $32, %rdx\n" OR);
PLACE(over_a_page, ".skip 4095", "rdtsc", RDTSC_TWIN, "shl $32, %rdx\n" OR);
PLACE(reads_memory, "", "rdtsc", RDTSC_TWIN, "mov before(%rip), %rcx\n");
PLACE(uses_the_stack, "", "rdtsc", RDTSC_TWIN, "mov -8(%rsp), %rcx\n");
PLACE(jumps, "", "rdtsc", RDTSC_TWIN, "jmp 1f\n 1: shl $32, %rdx\n");
PLACE(adds_a_constant, "", "rdtsc", RDTSC_TWIN, "add $5, %rax\n");
PLACE(short_then_unknown, "", "rdtsc", RDTSC_TWIN, "mov %eax, %eax\n bswap %rdx\n");
PLACE(sixteen_bits, "", "rdtsc", RDTSC_TWIN, "mov %ax, %ax\n mov %dx, %dx\n");
PLACE(nothing, "", "rdtsc", RDTSC_TWIN, "");

static const struct place {
    const char *name;
    const uint8_t *at, *rest, *twin, *twin_rest;
    bool is_known;
} places[] = {
#define KNOWN(name) {#name, name, name##_rest, twin_##name, twin_##name##_rest, true}
#define UNKNOWN(name) {#name, name, name##_rest, twin_##name, twin_##name##_rest, false}
    KNOWN(gcc),
    KNOWN(other_order),
    KNOWN(no_flags),
    KNOWN(high_registers),
    KNOWN(fenced),
    KNOWN(with_cpu),
    KNOWN(with_cpu_short),
    KNOWN(over_a_line),
    KNOWN(over_a_page),
    KNOWN(whole_rax),
    UNKNOWN(reads_memory),
    UNKNOWN(jumps),
    UNKNOWN(short_then_unknown),
    UNKNOWN(nothing),
    UNKNOWN(uses_the_stack),
    UNKNOWN(sixteen_bits),
    UNKNOWN(adds_a_constant),
};
#define PLACES (sizeof places / sizeof places[0])

// ---- what the plugin's other files would answer

_Thread_local int clock_self = -1;
struct clock_checks clock_checks;
static _Thread_local bool is_main;

bool libc_is_main(void) {
    return is_main;
}

uint64_t clock_seen(void) {
    return ANSWER;
}

uint64_t clock_spin_read(void) {
    volatile uint8_t stack[2048];
    memset((void *)stack, 0xee, sizeof stack);
    if (has_xsave)
        __asm__ volatile("xrstor64 %0" ::"m"(ruin), "a"((uint32_t)vector_mask), "d"(0) : "memory");
    else
        __asm__ volatile("fxrstor64 %0" ::"m"(ruin) : "memory");
    __asm__ volatile("mov $-1, %%rcx\n mov %%rcx, %%rsi\n mov %%rcx, %%rdi\n mov %%rcx, %%r8\n"
                     "mov %%rcx, %%r9\n mov %%rcx, %%r10\n mov %%rcx, %%r11\n xor %%edx, %%edx\n" ::
                         : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
    return ANSWER;
}

void outer_clock_read(unsigned vcpu, uint64_t time) {
    (void)vcpu, (void)time;
}

void journal_refuse(const char *format, ...) {
    puts(format);
    exit(98);
}

// ---- states

static void number_parts(uint8_t *area, uint8_t first) {
    memset(area, 0, AREA);
    const uint16_t control = 0x037f;
    const uint32_t mxcsr = first & 1 ? 0x3fa0 : 0x1f80; // another rounding, and a flag
    memcpy(area, &control, 2);
    area[4] = 0xff; // all x87 registers hold something
    memcpy(area + 24, &mxcsr, 4);
    for (unsigned r = 0; r < 8; r++) {
        for (unsigned b = 0; b < 8; b++)
            area[32 + 16 * r + b] = (uint8_t)(first + 16 * r + b);
        area[32 + 16 * r + 7] |= 0x80; // a normal number
        area[32 + 16 * r + 8] = 0xff, area[32 + 16 * r + 9] = 0x3f;
    }
    for (unsigned b = 160; b < 416; b++)
        area[b] = (uint8_t)(first * 3 + b * 7);
    memcpy(area + 512, &vector_mask, 8);
    for (unsigned part = 2; part < 8; part++) {
        unsigned a, b, c, d;
        if (!(vector_mask >> part & 1) || !__get_cpuid_count(0xd, part, &a, &b, &c, &d))
            continue;
        for (unsigned n = 0; n < a; n++)
            area[b + n] = (uint8_t)(first * 5 + n * 11 + part);
    }
}

static void prepare(uint32_t flags) {
    for (unsigned r = 0; r < 16; r++)
        before.general[r] = UINT64_C(0x0123456789abcdef) * (r + 3);
    before.flags = flags;
    for (unsigned b = 0; b < 128; b++)
        before.red_zone[b] = (uint8_t)(b * 13 + 5);
    number_parts(before.vectors, 1);
    number_parts(ruin, 2);
}

static void run(const uint8_t *at, struct state *into) {
    memset(&after, 0, sizeof after);
    entry = at;
    native();
    // Where x87's last instruction was is not state of the program.
    memset(after.vectors + 6, 0, 18);
    *into = after;
}

static unsigned differences;

static void compare(const char *name, const char *what, const struct state *one, const struct state *other) {
    const struct {
        const char *name;
        size_t from, to;
    } parts[] = {
        {"general registers", 0, offsetof(struct state, flags)},
        {"flags", offsetof(struct state, flags), offsetof(struct state, red_zone)},
        {"red zone", offsetof(struct state, red_zone), offsetof(struct state, red_zone) + 128},
        {"x87 and mxcsr", offsetof(struct state, vectors), offsetof(struct state, vectors) + 160},
        {"xmm", offsetof(struct state, vectors) + 160, offsetof(struct state, vectors) + 416},
        {"wider vectors", offsetof(struct state, vectors) + 576, sizeof(struct state)},
    };
    for (unsigned n = 0; n < sizeof parts / sizeof parts[0]; n++)
        if (memcmp((const char *)one + parts[n].from, (const char *)other + parts[n].from,
                   parts[n].to - parts[n].from)) {
            printf("%s, %s: %s differ\n", name, what, parts[n].name);
            differences++;
        }
}

static struct state expected, seen;

static void one_place(const struct place *p, bool is_allowed) {
    const uint64_t flags[] = {ALL_FLAGS, NO_FLAGS};
    for (unsigned n = 0; n < 2; n++) {
        prepare((uint32_t)flags[n]);
        run(p->twin, &expected);
        if (memcmp(expected.vectors + 24, before.vectors + 24, 4) ||
            memcmp(expected.vectors + 32, before.vectors + 32, 384) ||
            memcmp(expected.vectors + 576, before.vectors + 576, AREA - 576))
            printf("%s: its state was not loaded\n", p->name), differences++;
        run(p->at, &seen);
        compare(p->name, n ? "later" : "at first", &expected, &seen);
        run(p->twin_rest, &expected);
        run(p->rest, &seen);
        compare(p->name, "from within", &expected, &seen);
    }
    uint64_t thunks = atomic_exchange(&clock_checks.tsc_thunks, 0);
    uint64_t all = atomic_exchange(&clock_checks.tsc_traps, 0);
    uint64_t due = p->is_known && is_allowed ? 2 : 0;
    if (all != 2 || thunks != due) {
        printf("%s: %llu of %llu reads by the thunk, not %llu of 2\n", p->name, (unsigned long long)thunks,
               (unsigned long long)all, (unsigned long long)due);
        differences++;
    }
}

static void look_for_writable_code(void) {
    char line[300];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, " rwx"))
            printf("writable code: %s", line), differences++;
    fclose(maps);
}

// ---- a host that forbids one of the system calls

static void forbid(long call, uint32_t argument_bits) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 32), // the third argument
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, argument_bits, 0, argument_bits ? 1 : 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog whole = {sizeof program / sizeof program[0], program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole))
        puts("seccomp cannot be used"), exit(1);
}

// ---- another thread reads at the same places meanwhile, and the host answers it

static _Atomic bool ends;
static _Atomic uint64_t rounds;
uint64_t read_here(const void *place);
__asm__(".text\n read_here: push %rbx\n mov $77, %ebx\n call *%rdi\n cmp $77, %ebx\n je 1f\n ud2\n 1: pop "
        "%rbx\n ret\n"
        ".balign 64\n raced:\n"
        ".rept 16\n .balign 32\n .skip 27\n rdtsc\n shl $32, %rdx\n mov %eax, %eax\n or %rdx, %rax\n ret\n "
        ".endr\n"
        "raced_end:\n");
extern const uint8_t raced[], raced_end[];
#define STRIDE ((size_t)(raced_end - raced) / 16)

static const uint8_t *raced_place(unsigned n) { // the first rdtsc at or behind the nth stride
    const uint8_t *at = raced;
    for (unsigned found = 0;; at++)
        if (at[0] == 0x0f && at[1] == 0x31 && at[2] == 0x48 && found++ == n)
            return at;
}

static const uint8_t *raced_at[16];

static void *reads_meanwhile(void *unused) {
    prctl(PR_SET_TSC, PR_TSC_ENABLE);
    for (uint64_t last = 0; !ends; rounds++)
        for (unsigned n = 0; n < 16; n++) {
            uint64_t now = read_here(raced_at[n]);
            if (now < last || now - last > UINT64_C(1) << 50)
                printf("the other thread was told %llx after %llx\n", (unsigned long long)now,
                       (unsigned long long)last),
                    exit(1);
            last = now;
        }
    return unused;
}

static void race(void) {
    pthread_t thread;
    for (unsigned n = 0; n < 16; n++)
        raced_at[n] = raced_place(n);
    prctl(PR_SET_TSC, PR_TSC_ENABLE);
    pthread_create(&thread, NULL, reads_meanwhile, NULL);
    tsc_trap_this_thread();
    for (unsigned n = 0; n < 16; n++) {
        for (uint64_t seen_rounds = rounds; rounds < seen_rounds + 100;) {
        }
        for (unsigned i = 0; i < 100; i++)
            if (read_here(raced_at[n]) != ANSWER)
                printf("place %u: wrong\n", n), differences++;
    }
    ends = true;
    pthread_join(thread, NULL);
    if (clock_checks.tsc_thunks != 1600)
        printf("%llu thunks\n", (unsigned long long)clock_checks.tsc_thunks), differences++;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) && c & bit_OSXSAVE) {
        unsigned low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        vector_mask = low & 0xe7;
        has_xsave = 1;
    }
    is_main = true;
    clock_self = 0;
    const char *why = tsc_setup(true);
    if (why)
        return puts(why), 1;
    tsc_trap_this_thread();
    if (strcmp(what, "no-mprotect") == 0)
        forbid(SYS_mprotect, PROT_EXEC);
    if (strcmp(what, "no-mmap") == 0)
        forbid(SYS_mmap, 0);
    if (strcmp(what, "no-membarrier") == 0)
        forbid(SYS_membarrier, 0);
    if (strcmp(what, "race") == 0)
        race();
    else
        for (unsigned n = 0; n < PLACES; n++)
            one_place(&places[n], strcmp(what, "all") == 0);
    look_for_writable_code();
    printf("parts of vectors: %llx\n", (unsigned long long)vector_mask);
    return differences != 0;
}
