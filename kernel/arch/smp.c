// Intel SDM vol. 3, 9.4.4.1 (INIT-SIPI-SIPI). The 10 ms that the MP specification requires between INIT and
// SIPI are for discrete APICs; Linux also omits them on newer processors.
#include "arch/smp.h"

#include "arch/acpi.h"
#include "arch/lapic.h"
#include "arch/trap.h"
#include "arch/tsc.h"
#include "arch/x86.h"
#include "core/percpu.h"
#include "core/print.h"
#include "core/string.h"
#include "core/thread.h"
#include "core/vm.h"

#define IDLE_STACK 8192
#define INIT_US 50 // lets each processor finish its reset before the SIPI, also under emulation
#define SECOND_SIPI_US 1000
#define ARRIVAL_MS 5000 // limit of the waits, each of which is twice as long as the one before
#define SKEW_US 100

extern char trampoline[], trampoline_end[];
extern uint64_t ap_stack_of_apic[MAX_APIC_ID];
static _Alignas(16) char idle_stacks[MAX_CPUS][IDLE_STACK];

static void sort(uint32_t *ids, unsigned count) {
    for (unsigned i = 1; i < count; i++)
        for (unsigned j = i; j > 0 && ids[j] < ids[j - 1]; j--) {
            uint32_t t = ids[j];
            ids[j] = ids[j - 1];
            ids[j - 1] = t;
        }
}

static void give_index(unsigned index, uint32_t apic_id) {
    cpus[index].index = index;
    cpus[index].apic_id = apic_id;
    cpu_of_apic[apic_id] = (int)index;
    if (index != 0)
        ap_stack_of_apic[apic_id] = (uint64_t)idle_stacks[index] + IDLE_STACK - 16;
}

void smp_find(uint64_t rsdp) {
    uint32_t ids[MAX_CPUS], me = lapic_id();
    unsigned count = acpi_processors(rsdp, ids, MAX_CPUS);
    if (count > MAX_CPUS)
        panic("why=too-many-cpus found=%u most=%u", count, MAX_CPUS);
    for (unsigned i = 0; i < MAX_APIC_ID; i++)
        cpu_of_apic[i] = -1;
    sort(ids, count);
    give_index(0, me);
    cpu_count = 1;
    for (unsigned i = 0; i < count; i++) {
        if (ids[i] >= MAX_APIC_ID)
            panic("why=apic-id id=%u most=%u", ids[i], MAX_APIC_ID - 1);
        if (ids[i] != me)
            give_index(cpu_count++, ids[i]);
    }
}

static unsigned arrived(void) {
    unsigned n = 1;
    // acquire: pairs with the release in ap_main
    for (unsigned i = 1; i < cpu_count; i++)
        n += atomic_load_explicit(&cpus[i].online, memory_order_acquire);
    return n;
}

static bool wait_for_all(uint64_t us) {
    for (uint64_t begin = now(); arrived() != cpu_count; pause())
        if (now() - begin > us * cycles_per_us)
            return false;
    return true;
}

static void wake_missing(void) {
    for (unsigned i = 1; i < cpu_count; i++)
        if (!atomic_load_explicit(&cpus[i].online, memory_order_relaxed))
            lapic_wake(cpus[i].apic_id, TRAMPOLINE >> 12);
}

// Every figure is wrong if the TSCs of two processors differ. Each processor recorded the time of its
// arrival, which must lie between the SIPI and now on the clock of the boot processor.
static void check_clocks(uint64_t woken) {
    uint64_t limit = SKEW_US * cycles_per_us, t = now();
    for (unsigned i = 1; i < cpu_count; i++)
        if (cpus[i].books.until + limit < woken || cpus[i].books.until > t + limit)
            panic("why=tsc-skew other=%u there=%lu from=%lu to=%lu", i, cpus[i].books.until, woken, t);
}

void smp_start(void) {
    if (cpu_count == 1)
        return;
    memcpy(at(TRAMPOLINE), at((uint64_t)trampoline), (size_t)(trampoline_end - trampoline));
    for (unsigned i = 1; i < cpu_count; i++)
        lapic_reset(cpus[i].apic_id);
    delay_us(INIT_US);
    uint64_t woken = now();
    wake_missing();
    // A processor that already runs ignores another SIPI.
    for (uint64_t us = SECOND_SIPI_US; !wait_for_all(us); us *= 2) {
        if (us > ARRIVAL_MS * 1000)
            panic("why=cpus-missing found=%u arrived=%u", cpu_count, arrived());
        wake_missing();
    }
    check_clocks(woken);
}

void ap_main(uint32_t apic_id) {
    unsigned index = (unsigned)cpu_of_apic[apic_id];
    percpu_install(index);
    idt_load();
    vm_cpu_init();
    lapic_on();
    thread_idle_init(index); // starts its time accounting; check_clocks reads that time
    // release: pairs with the acquire in arrived
    atomic_store_explicit(&cpus[index].online, true, memory_order_release);
    thread_idle();
}
