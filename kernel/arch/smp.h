// Starts the other processors. Boot only.
#ifndef ARCH_SMP_H
#define ARCH_SMP_H

#include <stdint.h>

// Finds the processors and gives each an index: the boot processor is 0, the others follow in order of APIC
// id.
void smp_find(uint64_t rsdp);
// Starts all of them at once and waits until each is online. Panics if one does not arrive.
void smp_start(void);
_Noreturn void ap_main(uint32_t apic_id);

#endif
