// The machine on AArch64: QEMU's virt with GIC version 3. One serial port (PL011), PSCI calls.
#include "talker.h"

#define SERIAL(offset) (*(volatile uint32_t *)(uintptr_t)(0x09000000 + (offset)))
#define GICD(offset) (*(volatile uint32_t *)(uintptr_t)(0x08000000 + (offset)))
#define GICR(cpu, offset) (*(volatile uint32_t *)(uintptr_t)(0x080a0000 + 0x20000 * (cpu) + (offset)))
#define DEVICE_TREE ((const void *)0x40000000) // before the kernel, at the start of memory
#define SERIAL_LINE 33
#define WAKE_LINE 1

enum { PL011_DATA = 0, PL011_FLAGS = 0x18, PL011_LINE = 0x2c, PL011_CONTROL = 0x30, PL011_MASK = 0x38 };
enum { PL011_CLEAR = 0x44 };
enum { FLAG_EMPTY = 0x10, FLAG_FULL = 0x20 };
enum { PSCI_CPU_ON = 0xc4000003, PSCI_STATUS = 0xc4000004, PSCI_OFF = 0x84000008, PSCI_RESET = 0x84000009 };

void other_start(void);
void cpu_main(unsigned me);
void on_interrupt(void);

static long psci(unsigned long function, unsigned long a, unsigned long b, unsigned long c) {
    register unsigned long x0 __asm__("x0") = function;
    register unsigned long x1 __asm__("x1") = a;
    register unsigned long x2 __asm__("x2") = b;
    register unsigned long x3 __asm__("x3") = c;
    __asm__ volatile("hvc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)::"memory");
    return (long)x0;
}

static unsigned self(void) {
    unsigned long number;
    __asm__ volatile("mrs %0, tpidr_el1" : "=r"(number));
    return (unsigned)number;
}

// QEMU's affinities: clusters of 16 CPUs.
static unsigned long affinity(unsigned cpu) {
    return (cpu / 16) << 8 | cpu % 16;
}

static _Noreturn void end(unsigned long function) {
    psci(function, 0, 0, 0);
    for (;;)
        __asm__ volatile("wfi");
}

_Noreturn void machine_power_off(void) {
    end(PSCI_OFF);
}

_Noreturn void machine_fail(void) {
    end(PSCI_OFF); // PSCI has no status
}

_Noreturn void machine_reset(void) {
    end(PSCI_RESET);
}

const char *machine_words(void) {
    return fdt_words(DEVICE_TREE);
}

unsigned machine_cpus(void) {
    static unsigned count;
    if (!count)
        while (count < 64 && psci(PSCI_STATUS, affinity(count), 0, 0) >= 0)
            count++;
    return count;
}

void machine_start(unsigned cpu) {
    psci(PSCI_CPU_ON, affinity(cpu), (unsigned long)other_start, cpu);
}

void machine_wake(unsigned cpu) {
    unsigned long to = (unsigned long)(cpu / 16) << 16 | 1ul << cpu % 16 | WAKE_LINE << 24;
    __asm__ volatile("dsb sy; msr S3_0_C12_C11_5, %0; isb" ::"r"(to) : "memory"); // ICC_SGI1R_EL1
}

uint64_t machine_ns(void) {
    uint64_t ticks, hz;
    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
    __asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
    return ticks / hz * 1000000000 + ticks % hz * 1000000000 / hz;
}

void machine_put(char byte) {
    while (SERIAL(PL011_FLAGS) & FLAG_FULL)
        bench_relax();
    SERIAL(PL011_DATA) = (unsigned char)byte;
}

int serial_byte(void) {
    return SERIAL(PL011_FLAGS) & FLAG_EMPTY ? -1 : (int)(SERIAL(PL011_DATA) & 0xff);
}

void machine_hold(void) {
    __asm__ volatile("msr daifset, #2" ::: "memory");
}

void machine_release(void) {
    __asm__ volatile("msr daifclr, #2; isb" ::: "memory");
}

void machine_rest(void) {
    if (input_polled() && self() == 0)
        bench_relax();
    else
        __asm__ volatile("wfi" ::: "memory");
    machine_release(); // what woke it is handled here
    machine_hold();
}

void on_interrupt(void) {
    unsigned long line;
    __asm__ volatile("mrs %0, S3_0_C12_C12_0" : "=r"(line)::"memory"); // ICC_IAR1_EL1
    if (line == SERIAL_LINE) {
        SERIAL(PL011_CLEAR) = 0x7ff; // before reading: afterwards it would clear a byte that has come since
        input_arrived();
    }
    __asm__ volatile("msr S3_0_C12_C12_1, %0; isb" ::"r"(line) : "memory"); // ICC_EOIR1_EL1
}

static void open_serial(void) {
    GICD(0) = 0x12; // affinity routing, group 1
    GICD(0x80 + 4) |= 1u << (SERIAL_LINE - 32);
    GICD(0x6000 + 8 * SERIAL_LINE) = 0; // to CPU 0
    GICD(0x100 + 4) = 1u << (SERIAL_LINE - 32);
    SERIAL(PL011_LINE) = 0x70; // 8 bits, FIFO
    SERIAL(PL011_CONTROL) = 0x301;
    SERIAL(PL011_MASK) = input_polled() ? 0 : 0x50; // bytes, and a pause after fewer than a FIFO's half
}

static void open_interrupts(unsigned me) {
    GICR(me, 0x14) &= ~2u; // awake
    while (GICR(me, 0x14) & 4)
        bench_relax();
    GICR(me, 0x10080) = ~0u; // group 1
    GICR(me, 0x10100) = 1u << WAKE_LINE;
    __asm__ volatile("msr S3_0_C12_C12_5, %0; isb" ::"r"(7ul)); // ICC_SRE_EL1: these registers
    __asm__ volatile("msr S3_0_C4_C6_0, %0" ::"r"(0xfful));     // ICC_PMR_EL1: any priority
    __asm__ volatile("msr S3_0_C12_C12_7, %0; isb" ::"r"(1ul)); // ICC_IGRPEN1_EL1
}

void cpu_main(unsigned me) {
    if (me == 0)
        open_serial();
    open_interrupts(me);
    machine_release();
    talker_main(me);
}
