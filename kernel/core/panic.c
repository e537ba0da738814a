#include "arch/lapic.h"
#include "arch/serial.h"
#include "arch/x86.h"
#include "core/percpu.h"
#include "core/print.h"

static _Atomic uint32_t panicked; // CPU + 1 of the first

void machine_exit(unsigned value) {
    outl(EXIT_PORT, value);
    halt_for_ever(); // only reached without an isa-debug-exit device
}

// Only processors that are online: one that the firmware has parked cannot handle an NMI, and would reset the
// machine.
static void stop_others(unsigned me) {
    for (unsigned i = 0; i < cpu_count; i++)
        if (i != me && (i == 0 || atomic_load_explicit(&cpus[i].online, memory_order_relaxed)))
            lapic_stop(cpus[i].apic_id);
}

void panic(const char *pattern, ...) {
    irq_off();
    unsigned me = lapic_cpu();
    uint32_t none = 0;
    if (!atomic_compare_exchange_strong(&panicked, &none, me + 1))
        halt_for_ever();
    stop_others(me);
    char line[256];
    size_t used = format(line, sizeof line, "\npanic: cpu=%u ", me);
    va_list list;
    va_start(list, pattern);
    used += format_list(line + used, sizeof line - used - 1, pattern, list);
    va_end(list);
    line[used++] = '\n';
    serial_write_now(line, used);
    machine_exit(EXIT_PANIC);
}
