// Which processors there are: from ACPI's MADT, else from the MP tables, else just this one.
#ifndef ARCH_ACPI_H
#define ARCH_ACPI_H

#include <stdint.h>

// Fills apic_ids with at most `most` ids of usable processors; returns how many the tables name.
// Tables are read as untrusted bytes below 4 GiB. Boot only. rsdp is 0 where the loader gave none.
unsigned acpi_processors(uint64_t rsdp, uint32_t *apic_ids, unsigned most);

#endif
