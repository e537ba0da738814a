// ACPI 6.4, 5.2.5 (RSDP), 5.2.12 (MADT); Intel MultiProcessor Specification 1.4, chapter 4.
#include "arch/acpi.h"

#include <stddef.h>

#include "arch/layout.h"
#include "config.h"

#define FOUR_GIB 0x100000000ul

static unsigned found, room;
static uint32_t *ids;

static const uint8_t *at(uint64_t physical) {
    return (const uint8_t *)(DIRECT_BASE + physical);
}

static uint64_t get(const uint8_t *p, unsigned bytes) {
    uint64_t v = 0;
    while (bytes--)
        v = v << 8 | p[bytes];
    return v;
}

static int begins(const uint8_t *p, const char *text) {
    while (*text)
        if (*p++ != (uint8_t)*text++)
            return 0;
    return 1;
}

static void add(uint32_t apic_id) {
    for (unsigned i = 0; i < found && i < room; i++)
        if (ids[i] == apic_id)
            return;
    if (found < room)
        ids[found] = apic_id;
    found++;
}

static void read_madt(const uint8_t *madt) {
    uint32_t length = (uint32_t)get(madt + 4, 4);
    for (uint32_t i = 44; i + 2 <= length && madt[i + 1] >= 2; i += madt[i + 1]) {
        const uint8_t *e = madt + i;
        if (e[0] == 0 && (get(e + 4, 4) & 1))
            add(e[3]);
        else if (e[0] == 9 && (get(e + 8, 4) & 1))
            add((uint32_t)get(e + 4, 4));
    }
}

static void read_root(uint64_t table, unsigned entry_bytes) {
    if (table == 0 || table >= FOUR_GIB - PAGE_SIZE)
        return;
    uint32_t length = (uint32_t)get(at(table) + 4, 4);
    for (uint32_t i = 36; i + entry_bytes <= length && i < 4096; i += entry_bytes) {
        uint64_t entry = get(at(table) + i, entry_bytes);
        if (entry != 0 && entry < FOUR_GIB - PAGE_SIZE && begins(at(entry), "APIC"))
            read_madt(at(entry));
    }
}

static uint64_t scan(uint64_t from, uint64_t to, const char *signature) {
    for (uint64_t p = from; p < to; p += 16)
        if (begins(at(p), signature))
            return p;
    return 0;
}

static uint64_t scan_low(const char *signature) {
    uint64_t ebda = get(at(0x40e), 2) << 4, p = 0;
    if (ebda >= 0x80000 && ebda < 0xa0000)
        p = scan(ebda, ebda + 1024, signature);
    if (p == 0)
        p = scan(0x9fc00, 0xa0000, signature);
    return p ? p : scan(0xe0000, 0x100000, signature);
}

static void read_mp(uint64_t pointer) {
    uint64_t table = get(at(pointer) + 4, 4);
    if (table == 0 || table >= FOUR_GIB - PAGE_SIZE || !begins(at(table), "PCMP"))
        return;
    unsigned entries = (unsigned)get(at(table) + 34, 2);
    const uint8_t *e = at(table) + 44;
    for (; entries && *e == 0; entries--, e += 20) // the processor entries come first
        if (e[3] & 1)
            add(e[1]);
}

unsigned acpi_processors(uint64_t rsdp, uint32_t *apic_ids, unsigned most) {
    found = 0;
    ids = apic_ids;
    room = most;
    if (rsdp == 0 || rsdp >= FOUR_GIB - PAGE_SIZE)
        rsdp = scan_low("RSD PTR ");
    if (rsdp != 0 && begins(at(rsdp), "RSD PTR ")) {
        if (at(rsdp)[15] >= 2)
            read_root(get(at(rsdp) + 24, 8), 8);
        if (found == 0)
            read_root(get(at(rsdp) + 16, 4), 4);
    }
    if (found == 0) {
        uint64_t mp = scan_low("_MP_");
        if (mp != 0)
            read_mp(mp);
    }
    return found;
}
