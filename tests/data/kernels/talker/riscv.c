// The machine on RISC-V: QEMU's virt with OpenSBI. One serial port (16550), the PLIC, SBI calls.
#include "talker.h"

#define SERIAL ((volatile uint8_t *)0x10000000)
#define TEST_DEVICE ((volatile uint32_t *)0x100000) // SiFive's: ends QEMU with a status
#define PLIC(offset) (*(volatile uint32_t *)(uintptr_t)(0xc000000 + (offset)))
#define SERIAL_LINE 10
#define NS_PER_TICK 100 // of rdtime: 10 MHz

enum { SBI_TIME_IPI = 0x735049, SBI_HSM = 0x48534d };
enum { HSM_START = 0, HSM_STATUS = 2 };
enum { SIP_SOFTWARE = 2, SIE_SOFTWARE = 2, SIE_EXTERNAL = 0x200, SSTATUS_SIE = 2 };

uint64_t first_hart;
const void *device_tree;
void other_start(void);
void cpu_main(unsigned me);

struct sbi {
    long error, value;
};

static struct sbi sbi(unsigned long extension, unsigned long function, unsigned long a, unsigned long b,
                      unsigned long c) {
    register unsigned long a0 __asm__("a0") = a;
    register unsigned long a1 __asm__("a1") = b;
    register unsigned long a2 __asm__("a2") = c;
    register unsigned long a6 __asm__("a6") = function;
    register unsigned long a7 __asm__("a7") = extension;
    __asm__ volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a2), "r"(a6), "r"(a7) : "memory");
    return (struct sbi){(long)a0, (long)a1};
}

static unsigned self(void) {
    unsigned long number;
    __asm__ volatile("mv %0, tp" : "=r"(number));
    return (unsigned)number;
}

// CPU 0 is the hart that OpenSBI started, which may be any; the others follow in order.
static unsigned long hart(unsigned cpu) {
    return cpu == 0 ? first_hart : cpu <= first_hart ? cpu - 1 : cpu;
}

static _Noreturn void end(uint32_t value) {
    *TEST_DEVICE = value;
    for (;;)
        __asm__ volatile("wfi");
}

_Noreturn void machine_power_off(void) {
    end(0x5555 | 33 << 16);
}

_Noreturn void machine_fail(void) {
    end(0x5555 | 35 << 16);
}

_Noreturn void machine_reset(void) {
    end(0x7777);
}

const char *machine_words(void) {
    return fdt_words(device_tree);
}

unsigned machine_cpus(void) {
    static unsigned count;
    if (!count)
        while (sbi(SBI_HSM, HSM_STATUS, count, 0, 0).error == 0)
            count++;
    return count;
}

void machine_start(unsigned cpu) {
    sbi(SBI_HSM, HSM_START, hart(cpu), (unsigned long)other_start, cpu);
}

void machine_wake(unsigned cpu) {
    sbi(SBI_TIME_IPI, 0, 1ul << hart(cpu), 0, 0);
}

uint64_t machine_ns(void) {
    uint64_t ticks;
    __asm__ volatile("rdtime %0" : "=r"(ticks)::"memory");
    return ticks * NS_PER_TICK;
}

void machine_put(char byte) {
    while (!(SERIAL[5] & 0x20))
        bench_relax();
    SERIAL[0] = (uint8_t)byte;
}

int serial_byte(void) {
    return SERIAL[5] & 1 ? SERIAL[0] : -1;
}

void machine_hold(void) {
    __asm__ volatile("csrci sstatus, %0" ::"i"(SSTATUS_SIE) : "memory");
}

void machine_release(void) {
    __asm__ volatile("csrsi sstatus, %0" ::"i"(SSTATUS_SIE) : "memory");
}

void machine_rest(void) {
    if (input_polled() && self() == 0)
        bench_relax();
    else
        __asm__ volatile("wfi" ::: "memory");
    machine_release(); // what woke it is handled here
    machine_hold();
}

// Context 2 * hart + 1 of the PLIC is the hart's S mode.
static uint32_t plic_context(void) {
    return 2 * (uint32_t)first_hart + 1;
}

__attribute__((interrupt("supervisor"), aligned(4))) static void on_interrupt(void) {
    __asm__ volatile("csrci sip, %0" ::"i"(SIP_SOFTWARE));
    if (self() != 0)
        return;
    uint32_t line = PLIC(0x200004 + 0x1000 * plic_context());
    if (line == SERIAL_LINE)
        input_arrived();
    if (line)
        PLIC(0x200004 + 0x1000 * plic_context()) = line;
}

static void open_serial(void) {
    PLIC(4 * SERIAL_LINE) = 1;
    PLIC(0x2000 + 0x80 * plic_context()) = 1u << SERIAL_LINE;
    PLIC(0x200000 + 0x1000 * plic_context()) = 0;
    SERIAL[2] = 1; // FIFO
    SERIAL[1] = !input_polled();
}

void cpu_main(unsigned me) {
    __asm__ volatile("csrw stvec, %0" ::"r"(on_interrupt));
    __asm__ volatile("csrw sie, %0" ::"r"((unsigned long)(SIE_SOFTWARE | (me ? 0 : SIE_EXTERNAL))));
    if (me == 0)
        open_serial();
    machine_release();
    talker_main(me);
}
