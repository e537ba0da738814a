// RISC-V in machine mode, without firmware: CLINT, 16550, SiFive test device.
#include "bare.h"

#define UART ((volatile uint8_t *)0x10000000)
#define TEST ((volatile uint32_t *)0x100000)
#define MSIP ((volatile uint32_t *)0x2000000)
#define MTIMECMP ((volatile uint64_t *)0x2004000)
#define ORDER ((const struct order *)0x80f00000)

volatile uint32_t go; // start.S keeps the other harts until it is set

#define read_csr(name)                                                                                       \
    ({                                                                                                       \
        uint64_t value;                                                                                      \
        __asm__ volatile("csrr %0, " name : "=r"(value)::"memory");                                          \
        value;                                                                                               \
    })
#define write_csr(name, value) __asm__ volatile("csrw " name ", %0" ::"r"(value) : "memory")

const struct order *port_order(void) {
    return ORDER;
}

unsigned port_self(void) {
    return (unsigned)read_csr("mhartid");
}

void port_start_others(void) {
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
}

// A call of a program, or of this guest itself; it ends behind the instruction.
static void called(uint64_t number) {
    write_csr("mepc", read_csr("mepc") + 4);
    if (number == PROGRAM_ENDS)
        __asm__ volatile("csrs mstatus, %0" ::"r"(0x1800ul));
}

void interrupted(uint64_t cause, uint64_t number) { // riscv.S calls it
    unsigned me = port_self();
    if (cause == 8 || cause == 11) {
        called(number);
        return;
    }
    if (cause == (1ull << 63 | 7)) {
        MTIMECMP[me] = UINT64_MAX;
        on_timer();
    } else if (cause == (1ull << 63 | 3)) {
        MSIP[me] = 0;
        on_poke();
    } else
        port_leave(35);
}

void port_enable(void) {
    MTIMECMP[port_self()] = UINT64_MAX;
    write_csr("mie", 0x88ul);
    write_csr("pmpaddr0", ~0ul); // user mode may use all memory
    write_csr("pmpcfg0", 0x1ful);
}

uint64_t port_hz(void) {
    return 10000000;
}

uint64_t port_cycles(void) {
    return read_csr("mcycle");
}

void port_timer(uint64_t ns) {
    MTIMECMP[port_self()] = ticks() + ns / 100;
}

void port_poke(unsigned to) {
    MSIP[to] = 1;
}

void port_listen(bool halts) {
    if (halts)
        __asm__ volatile("wfi" ::: "memory");
    __asm__ volatile("csrsi mstatus, 8; nop; csrci mstatus, 8" ::: "memory");
}

void port_map(void) {
    write_csr("satp", 0ul);
}

void port_put(char c) {
    *UART = (uint8_t)c;
}

_Noreturn void port_leave(unsigned status) {
    *TEST = 0x5555 | status << 16;
    for (;;)
        __asm__ volatile("wfi");
}
