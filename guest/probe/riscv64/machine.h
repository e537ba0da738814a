// The serial port, the way to end and the loop of the probe guest on RISC-V, on QEMU's board `virt`: a 16550
// and the SiFive test device (QEMU's docs/system/riscv/virt.rst).
#ifndef PROBE_MACHINE_H
#define PROBE_MACHINE_H

#include <stdint.h>

#define SERIAL ((volatile uint8_t *)0x10000000)
#define TEST_DEVICE ((volatile uint32_t *)0x100000)
#define PASS 0x5555u
#define EXIT_GOOD 33u
#define EXIT_BAD 35u

static inline _Noreturn void leave(int good) {
    *TEST_DEVICE = PASS | (good ? EXIT_GOOD : EXIT_BAD) << 16;
    for (;;)
        __asm__ volatile("wfi");
}

static inline void serial_start(void) {
    SERIAL[1] = 0;    // no interrupts
    SERIAL[2] = 0x01; // FIFO on: a request arrives whole
}

static inline void serial_put(char c) {
    SERIAL[0] = (uint8_t)c;
}

static inline int serial_has(void) {
    return SERIAL[5] & 1;
}

static inline char serial_get(void) {
    return (char)SERIAL[0];
}

// Ten instructions per step.
static inline void steps4(uint64_t steps, uint64_t x[4], uint64_t multiplier, uint64_t increment) {
    uint64_t a = x[0], b = x[1], c = x[2], d = x[3];
    __asm__ volatile("1: mul %[a], %[a], %[m]\n\t"
                     "mul %[b], %[b], %[m]\n\t"
                     "mul %[c], %[c], %[m]\n\t"
                     "mul %[d], %[d], %[m]\n\t"
                     "add %[a], %[a], %[i]\n\t"
                     "add %[b], %[b], %[i]\n\t"
                     "add %[c], %[c], %[i]\n\t"
                     "add %[d], %[d], %[i]\n\t"
                     "addi %[n], %[n], -1\n\t"
                     "bnez %[n], 1b"
                     : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [n] "+r"(steps)
                     : [m] "r"(multiplier), [i] "r"(increment));
    x[0] = a, x[1] = b, x[2] = c, x[3] = d;
}

#endif
