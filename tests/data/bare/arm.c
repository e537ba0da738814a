// AArch64 at EL1 with the MMU off: GICv2, generic timer, PL011, PSCI, semihosting.
#include "bare.h"

#define UART ((volatile uint32_t *)0x09000000)
#define GICD ((volatile uint32_t *)0x08000000)
#define GICC ((volatile uint32_t *)0x08010000)
#define ORDER ((const struct order *)0x40f00000)
#define CPU_ON 0xc4000003
#define TIMER 27

void second(void); // arm.S

#define read_register(name)                                                                                  \
    ({                                                                                                       \
        uint64_t value;                                                                                      \
        __asm__ volatile("isb; mrs %0, " name : "=r"(value)::"memory");                                      \
        value;                                                                                               \
    })
#define write_register(name, value) __asm__ volatile("msr " name ", %0; isb" ::"r"(value) : "memory")

const struct order *port_order(void) {
    return ORDER;
}

unsigned port_self(void) {
    return read_register("mpidr_el1") & 0xff;
}

void port_start_others(void) {
    for (uint64_t c = 1; c < cpus; c++) {
        register uint64_t x0 __asm__("x0") = CPU_ON, x1 __asm__("x1") = c;
        register uint64_t x2 __asm__("x2") = (uint64_t)second, x3 __asm__("x3") = 0;
        __asm__ volatile("hvc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)::"memory");
        if (x0)
            port_leave(35);
    }
}

void interrupted(void) { // arm.S calls it
    uint32_t which = GICC[3];
    if ((which & 0x3ff) == TIMER) {
        write_register("cntv_ctl_el0", 0ul);
        on_timer();
    } else if ((which & 0x3ff) == 1)
        on_poke();
    else
        port_leave(35);
    GICC[4] = which;
}

// A call of a program, or of this guest itself. arm.S calls it.
void call_made(uint64_t number) {
    if (number == PROGRAM_ENDS)
        write_register("spsr_el1", 0x3c5ul);
}

void port_enable(void) {
    GICD[0] = 1;
    GICD[0x100 / 4] = 1u << TIMER | 1u << 1;
    GICC[1] = 0xff;
    GICC[0] = 1;
}

uint64_t port_hz(void) {
    return read_register("cntfrq_el0");
}

uint64_t port_cycles(void) {
    return read_register("cntpct_el0");
}

void port_timer(uint64_t ns) {
    write_register("cntv_tval_el0", ns / (1000000000 / port_hz()));
    write_register("cntv_ctl_el0", 1ul);
}

void port_poke(unsigned to) {
    GICD[0xf00 / 4] = 1u << (16 + to) | 1;
}

void port_listen(bool halts) {
    if (halts)
        __asm__ volatile("wfi" ::: "memory");
    __asm__ volatile("msr daifclr, #2; isb; msr daifset, #2" ::: "memory");
}

void port_map(void) {
    write_register("ttbr0_el1", 0ul);
}

void port_put(char c) {
    *UART = (uint8_t)c;
}

_Noreturn void port_leave(unsigned status) {
    const uint64_t block[2] = {0x20026, status};
    register uint64_t x0 __asm__("x0") = 0x20;
    register const uint64_t *x1 __asm__("x1") = block;
    __asm__ volatile("hlt #0xf000" ::"r"(x0), "r"(x1) : "memory");
    for (;;)
        __asm__ volatile("wfi");
}
