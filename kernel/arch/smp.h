// Bringing up the other processors. Boot only.
#ifndef ARCH_SMP_H
#define ARCH_SMP_H

#include <stdint.h>

// Finds the processors and gives each an index: this one is 0, the others follow by APIC id.
void smp_find(uint64_t rsdp);
// Starts all at once and waits until each is in its idle loop. One that stays away is a panic.
void smp_start(void);
_Noreturn void ap_main(uint32_t apic_id);

#endif
