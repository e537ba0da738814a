// Calibration of the TSC and the LAPIC timer. The hypervisor's timing leaf is used if there is one; else both
// clocks are measured against channel 2 of the 8254 timer. Without an 8254 (microvm under KVM) the LAPIC is
// assumed to run at 1 GHz, as KVM defines it.
#include "arch/tsc.h"

#include "arch/lapic.h"
#include "arch/x86.h"
#include "core/print.h"

#define PIT_HZ 1193182
#define PIT_CHANNEL2 0x42
#define PIT_COMMAND 0x43
#define PORT_B 0x61
#define WINDOW 2386 // PIT ticks: 2 ms
#define MOST_TRIES 24

uint64_t cycles_per_us = 1000;
uint64_t lapic_ticks_per_ms = 1000000;

static uint16_t pit_read(void) {
    outb(PIT_COMMAND, 0x80); // latch channel 2
    uint8_t lo = inb(PIT_CHANNEL2);
    return (uint16_t)(inb(PIT_CHANNEL2) << 8 | lo);
}

static bool pit_runs(void) {
    outb(PORT_B, (uint8_t)((inb(PORT_B) & ~2) | 1)); // gate on, speaker off
    outb(PIT_COMMAND, 0xb0);                         // mode 0, count down once
    outb(PIT_CHANNEL2, 0xff);
    outb(PIT_CHANNEL2, 0xff);
    uint16_t first = pit_read();
    for (unsigned i = 0; i < 1000; i++)
        if (first > 0xff && pit_read() < first)
            return true;
    return false;
}

// Both are rounded to the nearest: cycles_per_us is also the unit of every length that a program converts.
// The timer's rate is that against the TSC, not against the reference, whose error would make each wait end
// late by its share, or early, which costs an interrupt.
static void set_rates(uint64_t cycles, uint64_t ticks, uint64_t cycles_per_s) {
    cycles_per_us = (cycles_per_s + 500000) / 1000000;
    lapic_ticks_per_ms = cycles == 0 ? 0 : (ticks * cycles_per_us * 1000 + cycles / 2) / cycles;
}

static void measure(void) {
    lapic_count_from(UINT32_MAX);
    uint16_t p0 = pit_read();
    uint64_t t0 = now();
    uint32_t l0 = lapic_count();
    uint16_t p1;
    do
        p1 = pit_read();
    while ((uint16_t)(p0 - p1) < WINDOW);
    uint64_t t1 = now();
    uint32_t l1 = lapic_count();
    uint64_t ticks = (uint16_t)(p0 - p1);
    set_rates(t1 - t0, (uint64_t)(l0 - l1), (t1 - t0) * PIT_HZ / ticks);
}

static bool alike(uint64_t a, uint64_t b) {
    return a <= b + b / 16 && b <= a + a / 16;
}

// If the host preempts the vCPU between two of these reads, the clock comes out at a tenth of its speed and
// every deadline is far too short. Two such measurements do not agree with each other.
static bool by_pit(void) {
    if (!pit_runs())
        return false;
    uint64_t cycles = 0, ticks = 0;
    for (unsigned i = 0; i < MOST_TRIES; i++) {
        measure();
        if (alike(cycles, cycles_per_us) && alike(ticks, lapic_ticks_per_ms))
            break;
        cycles = cycles_per_us;
        ticks = lapic_ticks_per_ms;
    }
    return true;
}

static bool by_hypervisor(void) {
    if (!(cpuid(1, 0).c >> 31) || cpuid(0x40000000, 0).a < 0x40000010)
        return false;
    struct cpuid leaf = cpuid(0x40000010, 0); // TSC and APIC bus frequency in kHz
    set_rates(leaf.a, leaf.b, leaf.a * 1000ul);
    return cycles_per_us != 0 && lapic_ticks_per_ms != 0;
}

static void by_lapic(void) {
    lapic_ticks_per_ms = 1000000;
    lapic_count_from(UINT32_MAX);
    uint64_t t0 = now();
    while (UINT32_MAX - lapic_count() < 2 * lapic_ticks_per_ms)
        pause();
    uint64_t ticks = 2 * lapic_ticks_per_ms, cycles = now() - t0;
    set_rates(cycles, ticks, cycles * 500);
}

void tsc_init(void) {
    if (!by_hypervisor() && !by_pit())
        by_lapic();
    lapic_count_from(0);
    if (cycles_per_us == 0)
        cycles_per_us = 1;
    if (lapic_ticks_per_ms == 0)
        panic("why=no-timer");
}

void delay_us(uint64_t us) {
    for (uint64_t begin = now(); now() - begin < us * cycles_per_us;)
        pause();
}
