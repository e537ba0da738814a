// Memory whose addresses rise: what is taken later lies higher, and nothing is used again. Preloaded into a compiler
// that puts things into the order of their addresses (clang 19 does, with the types that BPF only names), so that its
// output does not depend on how long the paths are that it was given.
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM (UINT64_C(1) << 40)
#define LEAST_ALIGN 16

static _Atomic uintptr_t next;

static void begin(void) {
    void *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uintptr_t none = 0;
    if (room == MAP_FAILED)
        __builtin_trap();
    atomic_compare_exchange_strong(&next, &none, (uintptr_t)room);
}

// The size stands before the memory.
static void *take(size_t align, size_t size) {
    if (next == 0)
        begin();
    if (align < LEAST_ALIGN)
        align = LEAST_ALIGN;
    uintptr_t old = next, at;
    do
        at = (old + LEAST_ALIGN + align - 1) & ~(uintptr_t)(align - 1);
    while (!atomic_compare_exchange_weak(&next, &old, at + size));
    ((size_t *)at)[-1] = size;
    return (void *)at;
}

void *malloc(size_t size) {
    return take(LEAST_ALIGN, size);
}

void free(void *memory) {
    (void)memory;
}

void *calloc(size_t count, size_t size) {
    size_t all;
    return __builtin_mul_overflow(count, size, &all) ? NULL : take(LEAST_ALIGN, all);
}

void *realloc(void *memory, size_t size) {
    void *moved = take(LEAST_ALIGN, size);
    if (memory != NULL) {
        size_t had = ((size_t *)memory)[-1];
        memcpy(moved, memory, had < size ? had : size);
    }
    return moved;
}

void *memalign(size_t align, size_t size) {
    return take(align, size);
}

void *aligned_alloc(size_t align, size_t size) {
    return take(align, size);
}

int posix_memalign(void **memory, size_t align, size_t size) {
    *memory = take(align, size);
    return 0;
}
