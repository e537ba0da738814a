// The boot processor's path from the boot code to the first program, top to bottom.
#include "arch/lapic.h"
#include "arch/serial.h"
#include "arch/smp.h"
#include "arch/trap.h"
#include "arch/tsc.h"
#include "arch/x86.h"
#include "boot/start_info.h"
#include "core/alloc.h"
#include "core/fault.h"
#include "core/guard.h"
#include "core/image.h"
#include "core/options.h"
#include "core/percpu.h"
#include "core/print.h"
#include "core/process.h"
#include "core/string.h"
#include "core/vm.h"
#include "measure/books.h"
#include "measure/measure.h"
#include "sched/choose.h"

extern uint32_t boot_start_info;
extern char kernel_end[];
_Noreturn void kernel_main(void);

static uint64_t rsdp;

// Copies what is needed and gives all RAM above the kernel to the allocator. Nothing that the loader left is
// read after this.
static void read_start_info(void) {
    const struct start_info *info = at(boot_start_info);
    if (info->magic != START_INFO_MAGIC || info->version < 1)
        panic("why=start-info magic=%x version=%u", info->magic, info->version);
    rsdp = info->rsdp;
    if (info->command_line != 0)
        options_read(at(info->command_line));
    const struct memory_map_entry *map = at(info->memory_map);
    uint64_t ours = (uint64_t)kernel_end - KERNEL_BASE;
    for (uint32_t i = 0; i < info->memory_map_entries; i++) {
        uint64_t from = map[i].from, to = from + map[i].bytes;
        if (map[i].type != MEMORY_RAM || to < from)
            continue;
        alloc_add(from > ours ? from : ours, to < RAM_LIMIT ? to : RAM_LIMIT);
    }
}

static void choose_policy(void) {
    const char *name = option("sched");
    if (name != NULL && (sched = sched_named(name)) == NULL)
        panic("why=option word=sched=%s known=global,rr,wfq", name);
    if (fault_is(FAULT_CROWD))
        sched = sched_crowded(sched, (unsigned)fault_value % cpu_count);
    sched_cpus.cycles_per_us = cycles_per_us;
    sched->init(cpu_count);
}

static const struct image *first_program(void) {
    const char *name = option("bench.workload");
    const struct image *image = image_named(name ? name : "selftest");
    if (image == NULL)
        panic("why=option word=bench.workload=%s reason=no-such-program", name);
    return image;
}

void kernel_main(void) {
    guard_init();
    percpu_install(0);
    idt_init();
    idt_load();
    serial_init();
    lapic_find();
    outb(0x21, 0xff); // mask the legacy interrupt controllers
    outb(0xa1, 0xff);
    lapic_on();
    read_start_info();
    fault_choose(option("fault"));
    measure_on = option_is("measure", "1") || option_is("bench.measure", "1");
    if (measure_on && !CONFIG_CHECKS)
        panic("why=option word=measure=1 reason=the-fast-profile-keeps-no-books");
    lock_books |= measure_on;
    books_on |= measure_on;
    tsc_init();
    smp_find(rsdp);
    vm_init();
    vm_cpu_init();
    choose_policy();
    process_init();
    thread_idle_init(0);
    smp_start();
    image_table.begin(options_all());
    print("tern: cpus=%u sched=%s profile=%s apic=%s cycles_per_us=%lu lapic_per_ms=%lu free_pages=%lu",
          cpu_count, sched->name, PROFILE, lapic_x2 ? "x2apic" : "xapic", cycles_per_us, lapic_ticks_per_ms,
          alloc_free_pages());
    if (option_is("boot", "only")) // for a boot test that runs no program
        machine_exit(EXIT_GOOD);
    // This CPU is about to idle. Marked as idle, it gets the first program itself, without an interrupt to
    // another CPU.
    atomic_fetch_or_explicit(&sched_cpus.idle, 1, memory_order_seq_cst);
    if (process_spawn(NULL, first_program(), 0, 0, SCHED_WEIGHT, 0) < 0)
        panic("why=no-memory");
    thread_idle();
}
