// The structures that the loader leaves in memory (Xen, "x86/HVM direct boot ABI", version 1). Read once, at
// boot.
#ifndef BOOT_START_INFO_H
#define BOOT_START_INFO_H

#include <stdint.h>

#define START_INFO_MAGIC 0x336ec578
#define MEMORY_RAM 1

struct start_info {
    uint32_t magic, version, flags, modules;
    uint64_t module_list, command_line, rsdp, memory_map;
    uint32_t memory_map_entries, reserved;
};

struct memory_map_entry {
    uint64_t from, bytes;
    uint32_t type, reserved;
};

#endif
