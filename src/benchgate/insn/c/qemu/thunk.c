// A jump takes five bytes, and rdtsc two: the instructions behind it are moved into the thunk, if they do
// there what they do here. Only those that compilers put behind a read of the TSC are known (movable).
// Others, and what is not QEMU's own code, stay as they are.
//
// A thread may come to a moved instruction at its old place: it was stopped there, or jumps there in a way
// that nobody can find out. So each such place holds a hlt, which is one byte of the jump's distance: the
// thunk's address is chosen for it. A program's hlt is a SIGSEGV, and thunk_resume sends the thread to the
// moved instruction. By the same means the jump is written while other threads run: hlt first, then all cores
// are made to see it, then the other bytes, and the jump's first byte last.
#define _GNU_SOURCE
#include "thunk.h"

#include <cpuid.h>
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HLT 0xf4
#define JUMP 0xe9
#define JUMP_BYTES 5
#define MOST_BYTES 16 // rdtsc and what is moved
#define MOST 16       // thunks
#define PAGE 4096ul

// The code of a thunk, before the moved instructions. It keeps everything but what rdtsc changes: the red
// zone, flags, general registers, and by xsave (or fxsave, on a host without) x87, mxcsr and all vectors.
extern const uint8_t thunk_code[] __attribute__((visibility("hidden")));
extern const uint8_t thunk_code_end[] __attribute__((visibility("hidden")));
struct thunk_data {
    uint64_t (*answer)(void);
    uint64_t area, mask; // of xsave: bytes, and which parts; mask 0: fxsave
};
__asm__(".pushsection .text\n"
        ".globl thunk_code, thunk_code_end\n"
        ".hidden thunk_code, thunk_code_end\n"
        "thunk_code:\n"
        "0: .quad 0, 0, 0\n" // struct thunk_data
        "lea -128(%rsp), %rsp\n"
        "pushfq\n"
        "cld\n"
        "push %rcx\n push %rsi\n push %rdi\n push %r8\n push %r9\n push %r10\n push %r11\n"
        "push %rbx\n push %rbp\n"
        "mov %rsp, %rbp\n"
        "sub 0b+8(%rip), %rsp\n"
        "and $-64, %rsp\n"
        "mov 0b+16(%rip), %eax\n"
        "xor %edx, %edx\n"
        "test %eax, %eax\n"
        "jz 1f\n"
        "mov %rdx, 512(%rsp)\n mov %rdx, 520(%rsp)\n mov %rdx, 528(%rsp)\n mov %rdx, 536(%rsp)\n"
        "mov %rdx, 544(%rsp)\n mov %rdx, 552(%rsp)\n mov %rdx, 560(%rsp)\n mov %rdx, 568(%rsp)\n"
        "xsave64 (%rsp)\n"
        "call *0b(%rip)\n"
        "mov %rax, %rbx\n"
        "mov 0b+16(%rip), %eax\n"
        "xor %edx, %edx\n"
        "xrstor64 (%rsp)\n"
        "jmp 2f\n"
        "1: fxsave64 (%rsp)\n"
        "call *0b(%rip)\n"
        "mov %rax, %rbx\n"
        "fxrstor64 (%rsp)\n"
        "2: mov %rbp, %rsp\n"
        "mov %ebx, %eax\n" // as rdtsc: the upper halves of both are 0
        "mov %rbx, %rdx\n"
        "shr $32, %rdx\n"
        "pop %rbp\n pop %rbx\n"
        "pop %r11\n pop %r10\n pop %r9\n pop %r8\n pop %rdi\n pop %rsi\n pop %rcx\n"
        "popfq\n"
        "lea 128(%rsp), %rsp\n"
        "thunk_code_end:\n"
        ".popsection\n");

struct thunk {
    const uint8_t *site, *begin, *moved;
    unsigned read, length; // bytes: of rdtsc, and with the moved instructions
    unsigned places;       // a bit for each byte of the jump at which a moved instruction began
};
static struct thunk thunks[MOST];
static _Atomic unsigned used;
static atomic_flag busy = ATOMIC_FLAG_INIT;
#ifdef INSN_SIGNALS // tools/clock_lab.py shows what they cost
static bool forbidden = true;
#else
static bool forbidden; // this host does not let code be changed
#endif

int thunk_length(const uint8_t *code) {
    if (code[0] == 0x0f && code[1] == 0x31)
        return THUNK_RDTSC;
    return code[0] == 0x0f && code[1] == 0x01 && code[2] == 0xf9 ? THUNK_RDTSCP : 0;
}

// The length of an instruction that does the same at any place: it has registers as operands only, or is
// lfence. 0: it is another one.
static unsigned movable(const uint8_t *code) {
    if (code[0] == 0x0f && code[1] == 0xae && code[2] == 0xe8)
        return 3;
    unsigned rex = (code[0] & 0xf0) == 0x40, extension = code[rex + 1] >> 3 & 7;
    if (code[rex + 1] >> 6 != 3)
        return 0;
    switch (code[rex]) {
    case 0x01: // add
    case 0x03:
    case 0x09: // or
    case 0x0b:
    case 0x29: // sub
    case 0x2b:
    case 0x31: // xor
    case 0x33:
    case 0x89: // mov
    case 0x8b:
        return rex + 2;
    case 0xc1: // shl, shr
        return extension == 4 || extension == 5 ? rex + 3 : 0;
    default:
        return 0;
    }
}

static bool understand(const uint8_t *site, const uint8_t *end, struct thunk *t) {
    *t = (struct thunk){.site = site, .read = (unsigned)thunk_length(site)};
    if (end - site < MOST_BYTES || !t->read)
        return false;
    for (t->length = t->read; t->length < JUMP_BYTES;) {
        unsigned next = movable(site + t->length);
        if (!next)
            return false;
        t->places |= 1u << t->length;
        t->length += next;
    }
    return true;
}

// ---- the thunk

static struct thunk_data data_for(uint64_t (*answer)(void)) {
    struct thunk_data data = {answer, 512, 0};
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
        return data;
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    data.area = 512 + 64;
    data.mask = low & 0xe7; // x87, SSE, AVX, and AVX-512's three: all that C code may change
    for (unsigned part = 2; part < 8; part++)
        if (data.mask >> part & 1 && __get_cpuid_count(0xd, part, &a, &b, &c, &d) && a + b > data.area)
            data.area = a + b;
    return data;
}

// Memory at which a jump at the site arrives whose distance has hlt at the places of moved instructions.
// Below the program first: what is behind it is its heap.
static uint8_t *reserve(const struct thunk *t) {
    const uint32_t fixed = (t->places >> 1 & 1 ? 0xffu : 0) | (t->places >> 2 & 1 ? 0xff00u : 0) |
                           (t->places >> 3 & 1 ? 0xff0000u : 0) | (t->places >> 4 & 1 ? 0xff000000u : 0);
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t distance = (0xff - n) << 24 | (n * 37 & 0xff) << 16;
        distance = (distance & ~fixed) | (HLT * 0x01010101u & fixed);
        uintptr_t begin = (uintptr_t)t->site + JUMP_BYTES + (uintptr_t)(intptr_t)(int32_t)distance;
        uintptr_t page = (begin - sizeof(struct thunk_data)) & ~(PAGE - 1);
        if (page > (uintptr_t)t->site && (int32_t)distance < 0) // below address 0
            continue;
        void *at = (void *)syscall(SYS_mmap, page, 2 * PAGE, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (at == (void *)page)
            return (uint8_t *)begin;
        if (at != MAP_FAILED) // Linux before 4.17 does not know the flag
            syscall(SYS_munmap, at, 2 * PAGE);
    }
    return NULL;
}

static uint8_t *page_of(const uint8_t *at) {
    return (uint8_t *)((uintptr_t)at & ~(PAGE - 1));
}

static bool allow(const uint8_t *at, int protection) {
    return syscall(SYS_mprotect, page_of(at), 2 * PAGE, protection) == 0;
}

static uint8_t *put(uint8_t *at, const void *bytes, size_t count) {
    memcpy(at, bytes, count);
    return at + count;
}

static bool build(struct thunk *t, uint64_t (*answer)(void)) {
    uint8_t *begin = reserve(t);
    if (!begin)
        return false;
    const struct thunk_data data = data_for(answer);
    uint8_t *start = begin - sizeof data;
    uint8_t *at = put(start, thunk_code, (size_t)(thunk_code_end - thunk_code));
    put(start, &data, sizeof data);
    if (t->read == THUNK_RDTSCP)
        at = put(at, "\xb9\0\0\0\0", 5); // mov $0, %ecx: the CPU's number, as the signal's handler says it
    t->begin = begin;
    t->moved = at;
    at = put(at, t->site + t->read, t->length - t->read);
    int32_t back = (int32_t)(t->site + t->length - (at + JUMP_BYTES));
    *at++ = JUMP;
    put(at, &back, sizeof back);
    return allow(start, PROT_READ | PROT_EXEC);
}

// ---- the jump

static bool all_cores_see(int command) {
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

static void set(uint8_t *at, uint8_t byte) {
    __atomic_store_n(at, byte, __ATOMIC_SEQ_CST);
}

static void jump(uint8_t *site, const struct thunk *t) {
    int32_t distance = (int32_t)(t->begin - (site + JUMP_BYTES));
    uint8_t bytes[JUMP_BYTES] = {JUMP};
    memcpy(bytes + 1, &distance, sizeof distance);
    set(site, HLT);
    for (unsigned n = 1; n < JUMP_BYTES; n++)
        if (t->places >> n & 1)
            set(site + n, bytes[n]);
    all_cores_see(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
    for (unsigned n = 1; n < JUMP_BYTES; n++)
        set(site + n, bytes[n]);
    all_cores_see(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
    set(site, JUMP);
    all_cores_see(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE);
}

static bool replace(uint8_t *site, const uint8_t *end, uint64_t (*answer)(void)) {
    struct thunk t;
    unsigned number = atomic_load(&used);
    if (forbidden || number == MOST || thunk_resume(site) || !understand(site, end, &t))
        return false;
    forbidden = !all_cores_see(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE) || !build(&t, answer) ||
                !allow(site, PROT_READ | PROT_WRITE | PROT_EXEC);
    if (forbidden)
        return false;
    thunks[number] = t;
    atomic_store(&used, number + 1);
    jump(site, &t);
    allow(site, PROT_READ | PROT_EXEC);
    return true;
}

bool thunk_replace(uint8_t *site, const uint8_t *end, uint64_t (*answer)(void)) {
    if (atomic_flag_test_and_set(&busy))
        return false;
    bool done = replace(site, end, answer);
    atomic_flag_clear(&busy);
    return done;
}

const uint8_t *thunk_resume(const uint8_t *at) {
    for (unsigned n = 0; n < atomic_load(&used); n++) {
        const struct thunk *t = &thunks[n];
        if (at == t->site)
            return t->begin;
        if (at > t->site && at < t->site + JUMP_BYTES && t->places >> (at - t->site) & 1)
            return t->moved + (at - t->site - t->read);
    }
    return NULL;
}
