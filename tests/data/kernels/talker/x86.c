// The machine on x86-64: COM1, the local APIC, the I/O APIC. Its start is that of ../../stress/start.S.
#include "../../stress/stress.h"
#include "talker.h"

#define IO_APIC 0xfec00000u
#define VECTOR_SERIAL 0x50
#define PM_TIMER 0x608 // q35 and pc; 3,579,545 Hz, 24 bits
#define PM_TIMER_HZ 3579545

extern uint32_t start_info;
_Noreturn void cpu_main(unsigned me);

static struct {
    uint16_t low, selector;
    uint8_t ist, kind;
    uint16_t middle;
    uint32_t high, zero;
} gates[VECTOR_SERIAL + 1];
static uint64_t tsc_per_ms = 1000000;
struct frame;

_Noreturn void machine_power_off(void) {
    out32(DEBUG_EXIT, 0x10);
    for (;;)
        __asm__ volatile("cli; hlt");
}

_Noreturn void machine_fail(void) {
    out32(DEBUG_EXIT, 0x11);
    for (;;)
        __asm__ volatile("cli; hlt");
}

_Noreturn void machine_reset(void) {
    static const struct {
        uint16_t size;
        uint64_t at;
    } __attribute__((packed)) nothing = {0, 0};
    __asm__ volatile("lidt %0; ud2" ::"m"(nothing));
    for (;;) {
    }
}

const char *machine_words(void) {
    return (const char *)*(uint64_t *)((uintptr_t)start_info + 24);
}

// QEMU's fw_cfg, item 5.
unsigned machine_cpus(void) {
    __asm__ volatile("outw %0, %1" ::"a"((uint16_t)5), "Nd"((uint16_t)0x510));
    return in8(0x511);
}

void machine_start(unsigned cpu) {
    start_cpu(cpu);
}

void machine_wake(unsigned cpu) {
    send(cpu, 0x4000 | VECTOR_IPI);
}

uint64_t machine_ns(void) {
    return tsc() * 1000000 / tsc_per_ms;
}

void machine_put(char byte) {
    while (!(in8(SERIAL + 5) & 0x20))
        pause();
    out8(SERIAL, (uint8_t)byte);
}

int serial_byte(void) {
    return in8(SERIAL + 5) & 1 ? in8(SERIAL) : -1;
}

void machine_hold(void) {
    __asm__ volatile("cli" ::: "memory");
}

void machine_rest(void) {
    if (input_polled() && self() == 0)
        pause();
    else
        __asm__ volatile("sti; hlt; cli" ::: "memory");
}

void machine_release(void) {
    __asm__ volatile("sti" ::: "memory");
}

__attribute__((interrupt)) static void on_serial(struct frame *f) {
    (void)f;
    input_arrived();
    *apic(APIC_EOI) = 0;
}

__attribute__((interrupt)) static void on_ipi(struct frame *f) {
    (void)f;
    *apic(APIC_EOI) = 0;
}

static void gate(unsigned vector, void (*handler)(struct frame *)) {
    uint64_t at = (uint64_t)handler;
    gates[vector].low = (uint16_t)at;
    gates[vector].selector = 8;
    gates[vector].kind = 0x8e;
    gates[vector].middle = (uint16_t)(at >> 16);
    gates[vector].high = (uint32_t)(at >> 32);
}

static void load_gates_of_this_cpu(void) {
    struct {
        uint16_t limit;
        uint64_t base;
    } __attribute__((packed)) table = {sizeof gates - 1, (uint64_t)gates};
    __asm__ volatile("lidt %0" ::"m"(table));
}

static void open_serial(void) {
    volatile uint32_t *chosen = (uint32_t *)(uintptr_t)IO_APIC, *value = chosen + 4;
    *chosen = 0x10 + 2 * 4 + 1; // line 4, to CPU 0
    *value = 0;
    *chosen = 0x10 + 2 * 4;
    *value = VECTOR_SERIAL;
    out8(SERIAL + 2, 0x01);            // FIFO
    out8(SERIAL + 4, 0x0b);            // DTR, RTS, interrupts reach the controller
    out8(SERIAL + 1, !input_polled()); // an interrupt for each byte
}

static uint32_t pm_timer(void) {
    return in32(PM_TIMER) & 0xffffff;
}

// Over 10 ms of the ACPI timer. On a machine without it the TSC counts ns, as on the instruction clock.
static void calibrate(void) {
    uint32_t first = pm_timer(), ticks = PM_TIMER_HZ / 100;
    if (first == 0xffffff)
        return;
    uint64_t begin = tsc();
    while (((pm_timer() - first) & 0xffffff) < ticks)
        pause();
    tsc_per_ms = (tsc() - begin) / 10;
}

void cpu_main(unsigned me) {
    *apic(APIC_SPURIOUS) = 0x1ff;
    if (me == 0) {
        out8(0x21, 0xff); // no interrupts from the old controllers
        out8(0xa1, 0xff);
        gate(VECTOR_SERIAL, on_serial);
        gate(VECTOR_IPI, on_ipi);
        open_serial();
        calibrate();
    }
    load_gates_of_this_cpu();
    machine_release();
    talker_main(me);
    for (;;)
        machine_rest();
}
