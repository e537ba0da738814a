// Shared by the files of this guest: access to the machine, and what each CPU recorded.
#ifndef STRESS_H
#define STRESS_H

#include <stdbool.h>
#include <stdint.h>

#define MOST 64
#define SERIAL 0x3f8
#define DEBUG_EXIT 0xf4

enum { VECTOR_TIMER = 0x40, VECTOR_IPI = 0x41, VECTOR_CALL = 0x42 };
enum { APIC_ID = 0x20, APIC_EOI = 0xb0, APIC_SPURIOUS = 0xf0, APIC_COMMAND = 0x300, APIC_TARGET = 0x310 };
enum { APIC_TIMER = 0x320, APIC_INITIAL = 0x380, APIC_CURRENT = 0x390, APIC_DIVIDE = 0x3e0 };

struct seen {
    _Alignas(64) volatile uint64_t ticks, ipis, nmis, faults, at, sum, worst, x;
};

extern unsigned cpus, steps;
extern struct seen seen[MOST];

// Each case runs on every started CPU, from a common start.
extern const struct stress_case {
    const char *name;
    void (*run)(unsigned me);
} cases[];
extern const unsigned case_count;

void put(const char *text);
void line(const char *what);
void item(const char *key, uint64_t value);
// Leaves with status 35 unless `good`.
void check(bool good, const char *why);
_Noreturn void leave(bool good);

void set_gates(void);
void load_gates(bool all);
void timer_due(void);
void disk(unsigned me);
void increments(unsigned me), interrupted(unsigned me);

static inline void out8(uint16_t port, uint8_t value) {
    __asm__ volatile("outb %0, %1" ::"a"(value), "Nd"(port));
}

static inline uint8_t in8(uint16_t port) {
    uint8_t value;
    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static inline void out32(uint16_t port, uint32_t value) {
    __asm__ volatile("outl %0, %1" ::"a"(value), "Nd"(port));
}

static inline uint32_t in32(uint16_t port) {
    uint32_t value;
    __asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static inline uint64_t tsc(void) {
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}

static inline void pause(void) {
    __asm__ volatile("pause" ::: "memory");
}

static inline volatile uint32_t *apic(unsigned offset) {
    return (volatile uint32_t *)(uintptr_t)(0xfee00000u + offset);
}

static inline unsigned self(void) {
    return *apic(APIC_ID) >> 24;
}

static inline void send(unsigned to, uint32_t command) {
    *apic(APIC_TARGET) = to << 24;
    *apic(APIC_COMMAND) = command;
}

static inline void call_kernel(void) {
    __asm__ volatile("int %0" ::"i"(VECTOR_CALL) : "memory");
}

static inline void spin(uint64_t ns) {
    uint64_t until = tsc() + ns;
    while (tsc() < until)
        pause();
}

// Another CPU starts at `entry`'s trampoline (start.S), and calls cpu_main.
static inline void start_cpu(unsigned to) {
    extern char trampoline[], trampoline_end[];
    for (char *s = trampoline, *d = (char *)0x8000; s < trampoline_end; s++, d++)
        *(volatile char *)d = *s;
    send(to, 0x4500); // INIT
    spin(10000);
    send(to, 0x4608); // start at 0x8000
}

// Exactly 2 * n instructions.
static inline void work(uint64_t n) {
    __asm__ volatile("1: dec %0; jnz 1b" : "+r"(n)::"cc");
}

#endif
