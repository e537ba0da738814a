// Lists the processors: from ACPI's MADT, or from the MP tables if there is no MADT.
#ifndef ARCH_ACPI_H
#define ARCH_ACPI_H

#include <stdint.h>

// Fills apic_ids with the ids of at most `most` usable processors. Returns how many the tables list: it may
// be more, and is 0 without tables. The tables are untrusted input and must lie below 4 GiB. Boot only. rsdp
// is 0 if the loader gave none.
unsigned acpi_processors(uint64_t rsdp, uint32_t *apic_ids, unsigned most);

#endif
