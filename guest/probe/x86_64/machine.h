// The serial port, the way to end and the loop of the probe guest on x86-64.
#ifndef PROBE_MACHINE_H
#define PROBE_MACHINE_H

#include <stdint.h>

#define SERIAL 0x3f8
#define DEBUG_EXIT 0xf4
#define EXIT_GOOD 0x10
#define EXIT_BAD 0x11

static inline void out8(uint16_t port, uint8_t value) {
    __asm__ volatile("outb %0, %1" ::"a"(value), "Nd"(port));
}

static inline uint8_t in8(uint16_t port) {
    uint8_t value;
    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static inline _Noreturn void leave(int good) {
    uint32_t value = good ? EXIT_GOOD : EXIT_BAD;
    __asm__ volatile("outl %0, %1" ::"a"(value), "Nd"((uint16_t)DEBUG_EXIT));
    for (;;)
        __asm__ volatile("cli; hlt");
}

static inline void serial_start(void) {
    out8(SERIAL + 1, 0);    // no interrupts
    out8(SERIAL + 2, 0x01); // FIFO on: a request arrives whole
}

static inline void serial_put(char c) {
    out8(SERIAL, (uint8_t)c);
}

static inline int serial_has(void) {
    return in8(SERIAL + 5) & 1;
}

static inline char serial_get(void) {
    return (char)in8(SERIAL);
}

// Ten instructions per step.
static inline void steps4(uint64_t steps, uint64_t x[4], uint64_t multiplier, uint64_t increment) {
    uint64_t a = x[0], b = x[1], c = x[2], d = x[3];
    __asm__ volatile("1: imul %[m], %[a]\n\t"
                     "imul %[m], %[b]\n\t"
                     "imul %[m], %[c]\n\t"
                     "imul %[m], %[d]\n\t"
                     "add %[i], %[a]\n\t"
                     "add %[i], %[b]\n\t"
                     "add %[i], %[c]\n\t"
                     "add %[i], %[d]\n\t"
                     "dec %[n]\n\t"
                     "jnz 1b"
                     : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [n] "+r"(steps)
                     : [m] "r"(multiplier), [i] "r"(increment)
                     : "cc");
    x[0] = a, x[1] = b, x[2] = c, x[3] = d;
}

#endif
