// The local APIC: x2APIC registers if the CPU has them, else memory-mapped ones. Defines the interrupt
// vectors. May be called in any context.
#ifndef ARCH_LAPIC_H
#define ARCH_LAPIC_H

#include <stdbool.h>
#include <stdint.h>

enum vector {
    VECTOR_TIMER = 0x40,
    VECTOR_RESCHEDULE = 0x41,
    VECTOR_TLB = 0x42,
    VECTOR_SPURIOUS = 0xff,
};

extern bool lapic_x2;

void lapic_find(void); // boot processor: detects the kind
void lapic_on(void);   // every processor
uint32_t lapic_id(void);
unsigned lapic_cpu(void);          // this CPU's index, found without GS; 0 before smp_find
void lapic_end(void);              // end of interrupt
void lapic_timer(uint64_t cycles); // one interrupt after that many TSC cycles; 0 turns it off
uint32_t lapic_count(void);
void lapic_count_from(uint32_t start); // a masked countdown, for calibration
void lapic_send(uint32_t apic_id, enum vector vector);
void lapic_wake(uint32_t apic_id, uint32_t page); // SIPI: real mode code at page * 4096
void lapic_reset(uint32_t apic_id);               // INIT
void lapic_stop(uint32_t apic_id);                // NMI: the target halts in fatal_interrupt

#endif
