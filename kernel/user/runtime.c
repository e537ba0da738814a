#include "user/runtime.h"

#include "arch/layout.h"

void runtime_begin(uint64_t first, uint64_t second);

void *memcpy(void *to, const void *from, size_t bytes) {
    void *result = to;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
    return result;
}

void *memset(void *to, int byte, size_t bytes) {
    void *result = to;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(byte) : "memory");
    return result;
}

const struct ring_info *info(void) {
    return (const struct ring_info *)(USER_MAIN_SLOT + RING_INFO_OFFSET);
}

struct ring *my_ring(void) {
    uint64_t stack;
    __asm__ volatile("movq %%rsp, %0" : "=r"(stack));
    return (struct ring *)(stack & ~(uint64_t)(RING_SLOT_BYTES - 1));
}

int64_t kernel_call(enum ring_call call, uint64_t first, uint64_t second, uint64_t third) {
    uint64_t number = call;
    __asm__ volatile("syscall"
                     : "+a"(number), "+D"(first), "+S"(second), "+d"(third)
                     :
                     : "rcx", "r8", "r9", "r10", "r11", "memory");
    return (int64_t)number;
}

void runtime_begin(uint64_t first, uint64_t second) {
    kernel_call(RING_CALL_EXIT, (uint64_t)program(first, second), 0, 0);
}

int64_t ring_do(enum ring_operation operation, const uint64_t argument[5], uint64_t words[2]) {
    struct ring *ring = my_ring();
    uint32_t tail = ring->sq_tail, head = ring->cq_head;
    struct ring_submission *s = &ring->sq[tail % RING_SIZE];
    s->operation = operation;
    s->tag = tail;
    for (unsigned i = 0; i < 5; i++)
        s->argument[i] = argument[i];
    // release and acquire: pair with the kernel's in ring_take and ring_put
    __atomic_store_n(&ring->sq_tail, tail + 1, __ATOMIC_RELEASE);
    int64_t entered;
    while (__atomic_load_n(&ring->cq_tail, __ATOMIC_ACQUIRE) == head)
        if ((entered = kernel_call(RING_CALL_ENTER, 1, 0, 0)) < 0)
            return entered;
    const struct ring_completion *c = &ring->cq[head % RING_SIZE];
    int64_t result = c->result;
    if (words != NULL) {
        words[0] = c->words[0];
        words[1] = c->words[1];
    }
    __atomic_store_n(&ring->cq_head, head + 1, __ATOMIC_RELEASE);
    return result;
}

int64_t spawn(enum ring_spawn kind, uint64_t first, uint64_t second) {
    return RING_DO(RING_SPAWN, kind, first, second);
}

int64_t join(enum ring_spawn kind, int64_t id) {
    uint64_t words[2];
    int64_t result = ring_do(RING_WAIT, (const uint64_t[5]){(uint64_t)id, kind}, words);
    return result < 0 ? result : (int64_t)words[0];
}

void wait_while(uint32_t *word, uint32_t value) {
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
        RING_DO(RING_PARK, (uint64_t)word, value);
}

void wake(uint32_t *word, uint64_t most) {
    RING_DO(RING_UNPARK, (uint64_t)word, most);
}

void write_text(const char *text, uint64_t length) {
    RING_DO(RING_LOG, (uint64_t)text, length);
}
