// QEMU has no option for `capacity-dmips-mhz`, which Linux reads of each CPU on AArch64 and RISC-V
// (Documentation/devicetree/bindings/cpu/cpu-capacity.txt). It calls libfdt for each property; the plugin is
// preloaded, so its fdt_setprop comes before that of the library, and adds this one to each node `cpu@N`.
// QEMU makes the tree anew at each reset, and takes out nothing. A QEMU with libfdt inside calls its own.
#define _GNU_SOURCE
#include "device_tree.h"

#include "lockstep.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define NO_LIBRARY (-18) // libfdt's -FDT_ERR_BADVALUE is -15, and it has none below -18

static unsigned capacities[LOCKSTEP_MAX], vcpus, told;
static bool is_told[LOCKSTEP_MAX];

void device_tree_capacities(const unsigned *given, unsigned count) {
    memcpy(capacities, given, count * sizeof *given);
    vcpus = count;
}

unsigned device_tree_told(void) {
    return told;
}

typedef int setprop(void *tree, int node, const char *name, const void *value, int length);
typedef const char *get_name(const void *tree, int node, int *length);

static void *find(const char *name) {
    return dlsym(RTLD_NEXT, name);
}

static int tell(setprop *set, void *tree, int node) {
    get_name *name_of;
    void *symbol = find("fdt_get_name");
    memcpy(&name_of, &symbol, sizeof name_of);
    const char *name = name_of ? name_of(tree, node, NULL) : NULL;
    unsigned cpu;
    int end = 0;
    if (!name || sscanf(name, "cpu@%4u%n", &cpu, &end) != 1 || name[end] || cpu >= vcpus)
        return 0;
    uint32_t capacity = __builtin_bswap32(capacities[cpu]);
    told += !is_told[cpu];
    is_told[cpu] = true;
    return set(tree, node, "capacity-dmips-mhz", &capacity, sizeof capacity);
}

EXPORT setprop fdt_setprop;

EXPORT int fdt_setprop(void *tree, int node, const char *name, const void *value, int length) {
    static setprop *real;
    void *symbol = real ? NULL : find("fdt_setprop");
    if (symbol)
        memcpy(&real, &symbol, sizeof real);
    if (!real)
        return NO_LIBRARY;
    int error = real(tree, node, name, value, length);
    bool is_cpu = vcpus && strcmp(name, "device_type") == 0 && length == 4 && memcmp(value, "cpu", 4) == 0;
    return error || !is_cpu ? error : tell(real, tree, node);
}
