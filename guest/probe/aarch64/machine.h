// The serial port, the way to end and the loop of the probe guest on AArch64, on QEMU's board `virt`: a PL011
// (Arm DDI 0183) and semihosting's SYS_EXIT_EXTENDED, which gives QEMU an exit status.
#ifndef PROBE_MACHINE_H
#define PROBE_MACHINE_H

#include <stdint.h>

#define SERIAL ((volatile uint32_t *)0x09000000)
#define SERIAL_FLAGS (0x18 / 4)
#define SERIAL_RECEIVE_EMPTY 0x10
#define SERIAL_LINE (0x2c / 4)
#define SERIAL_CONTROL (0x30 / 4)
#define SYS_EXIT_EXTENDED 0x20
#define STOPPED_BY_EXIT 0x20026
#define EXIT_GOOD 33
#define EXIT_BAD 35

static inline _Noreturn void leave(int good) {
    uint64_t block[2] = {STOPPED_BY_EXIT, good ? EXIT_GOOD : EXIT_BAD};
    register uint64_t operation __asm__("x0") = SYS_EXIT_EXTENDED;
    register uint64_t *argument __asm__("x1") = block;
    __asm__ volatile("hlt #0xf000" ::"r"(operation), "r"(argument) : "memory");
    for (;;)
        __asm__ volatile("wfi");
}

static inline void serial_start(void) {
    SERIAL[SERIAL_LINE] = 0x70;     // 8 bits, FIFO on: a request arrives whole
    SERIAL[SERIAL_CONTROL] = 0x301; // transmitter, receiver
}

static inline void serial_put(char c) {
    SERIAL[0] = (uint8_t)c;
}

static inline int serial_has(void) {
    return !(SERIAL[SERIAL_FLAGS] & SERIAL_RECEIVE_EMPTY);
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
                     "subs %[n], %[n], #1\n\t"
                     "b.ne 1b"
                     : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [n] "+r"(steps)
                     : [m] "r"(multiplier), [i] "r"(increment)
                     : "cc");
    x[0] = a, x[1] = b, x[2] = c, x[3] = d;
}

#endif
