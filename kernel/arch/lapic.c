// Intel SDM vol. 3, chapter 11 (APIC), 11.12 (x2APIC).
#include "arch/lapic.h"

#include "arch/layout.h"
#include "arch/tsc.h"
#include "arch/x86.h"
#include "core/percpu.h"

#define APIC_PHYSICAL 0xfee00000
#define REG_ID 0x20
#define REG_PRIORITY 0x80
#define REG_EOI 0xb0
#define REG_SPURIOUS 0xf0
#define REG_ICR 0x300
#define REG_ICR_HIGH 0x310
#define REG_TIMER 0x320
#define REG_LINT0 0x350
#define REG_LINT1 0x360
#define REG_ERROR 0x370
#define REG_START 0x380
#define REG_COUNT 0x390
#define REG_DIVIDE 0x3e0

#define MASKED 0x10000
#define DIVIDE_BY_1 0xb
#define ICR_BUSY 0x1000
#define ICR_ASSERT 0x4000
#define ICR_INIT 0x500
#define ICR_SIPI 0x600
#define ICR_NMI 0x400
#define BASE_ENABLE 0x800ul
#define BASE_X2 0x400ul

bool lapic_x2;

static volatile uint32_t *reg(unsigned r) {
    return (volatile uint32_t *)(DIRECT_BASE + APIC_PHYSICAL + r);
}

static uint32_t get(unsigned r) {
    return lapic_x2 ? (uint32_t)rdmsr(0x800 + r / 16) : *reg(r);
}

static void set(unsigned r, uint32_t v) {
    if (lapic_x2)
        wrmsr(0x800 + r / 16, v);
    else
        *reg(r) = v;
}

static void command(uint32_t apic_id, uint32_t what) {
    if (lapic_x2) {
        // An x2APIC write does not order earlier stores: what the receiver must see has to be visible before
        // it (SDM 11.12.3).
        __asm__ volatile("mfence; lfence" ::: "memory");
        wrmsr(0x800 + REG_ICR / 16, (uint64_t)apic_id << 32 | what);
        return;
    }
    while (*reg(REG_ICR) & ICR_BUSY)
        pause();
    *reg(REG_ICR_HIGH) = apic_id << 24;
    *reg(REG_ICR) = what;
}

void lapic_find(void) {
    lapic_x2 = cpuid(1, 0).c >> 21 & 1;
}

void lapic_on(void) {
    wrmsr(MSR_APIC_BASE, rdmsr(MSR_APIC_BASE) | BASE_ENABLE | (lapic_x2 ? BASE_X2 : 0));
    set(REG_PRIORITY, 0);
    set(REG_TIMER, MASKED | VECTOR_TIMER);
    set(REG_LINT0, MASKED);
    set(REG_LINT1, MASKED);
    set(REG_ERROR, MASKED | VECTOR_SPURIOUS);
    set(REG_DIVIDE, DIVIDE_BY_1);
    set(REG_SPURIOUS, 0x100 | VECTOR_SPURIOUS);
    set(REG_EOI, 0);
}

uint32_t lapic_id(void) {
    return lapic_x2 ? get(REG_ID) : get(REG_ID) >> 24;
}

unsigned lapic_cpu(void) {
    uint32_t id = lapic_id();
    int index = id < MAX_APIC_ID ? cpu_of_apic[id] : -1;
    return index < 0 ? 0 : (unsigned)index;
}

void lapic_end(void) {
    set(REG_EOI, 0);
}

void lapic_timer(uint64_t cycles) {
    if (cycles == 0) {
        set(REG_TIMER, MASKED | VECTOR_TIMER);
        set(REG_START, 0);
        return;
    }
    uint64_t most = 2000000 * cycles_per_us; // for a longer time the timer interrupt sets the timer again
    uint64_t ticks = (cycles < most ? cycles : most) * lapic_ticks_per_ms / (1000 * cycles_per_us) + 1;
    set(REG_TIMER, VECTOR_TIMER);
    set(REG_START, ticks > UINT32_MAX ? UINT32_MAX : (uint32_t)ticks);
}

uint32_t lapic_count(void) {
    return get(REG_COUNT);
}

void lapic_count_from(uint32_t start) {
    set(REG_TIMER, MASKED | VECTOR_TIMER);
    set(REG_START, start);
}

void lapic_send(uint32_t apic_id, enum vector vector) {
    command(apic_id, ICR_ASSERT | vector);
}
void lapic_reset(uint32_t apic_id) {
    command(apic_id, ICR_ASSERT | ICR_INIT);
}
void lapic_wake(uint32_t apic_id, uint32_t page) {
    command(apic_id, ICR_ASSERT | ICR_SIPI | page);
}
void lapic_stop(uint32_t apic_id) {
    command(apic_id, ICR_ASSERT | ICR_NMI);
}
