// A guest without a kernel, for the `virt` machines of RISC-V and AArch64: what one port gives (riscv.c,
// arm.c) and what the cases use.
#ifndef BARE_H
#define BARE_H

#include <stdbool.h>
#include <stdint.h>

#define MOST 8 // CPUs

struct seen {
    _Alignas(128) volatile uint64_t ticks, pokes, sum, worst, x;
};

// Which case runs on how many CPUs. QEMU's `loader` device writes it.
struct order {
    uint32_t number, cpus;
};

extern struct seen seen[MOST];
extern unsigned cpus;

// Each case runs on every CPU, from a common start. It judges no time; the test knows what it should be.
extern const struct bare_case {
    const char *name;
    void (*run)(unsigned me);
} cases[];
extern const unsigned case_count;

void cpu_main(unsigned me); // a port calls it on each CPU, with interrupts disabled
void on_timer(void);        // a port calls these from its interrupt handler
void on_poke(void);

// ---- what a port gives
const struct order *port_order(void);
unsigned port_self(void);
void port_start_others(void);
void port_enable(void);       // this CPU's timer and interrupts from others, still masked
uint64_t port_hz(void);       // of ticks()
uint64_t port_cycles(void);   // another counter: instructions, or ns
void port_timer(uint64_t ns); // one interrupt, so long from now
void port_poke(unsigned to);  // an interrupt to another CPU
void port_listen(bool halts); // takes interrupts for a moment; first halts until one is pending
void port_map(void);          // writes the base of the page tables; nothing changes
void port_put(char c);
void program(unsigned me);     // in user mode, when this is called:
void run_program(unsigned me); // returns when the program has ended
_Noreturn void port_leave(unsigned status);

enum { PROGRAM_ENDS = 93 }; // the number of a call

// A system call of a program; a kernel that makes one asks its firmware.
static inline void make_call(uint64_t number, uint64_t length) {
#ifdef __riscv
    register uint64_t a7 __asm__("a7") = number, a2 __asm__("a2") = length;
    __asm__ volatile("ecall" ::"r"(a7), "r"(a2) : "memory");
#else
    register uint64_t x8 __asm__("x8") = number, x2 __asm__("x2") = length;
    __asm__ volatile("svc #0" ::"r"(x8), "r"(x2) : "memory");
#endif
}

// Exactly 2 * n instructions.
static inline void work(uint64_t n) {
#ifdef __riscv
    __asm__ volatile("1: addi %0, %0, -1\n\tbnez %0, 1b" : "+r"(n));
#else
    __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n)::"cc");
#endif
}

// Reads a register of the UART n times: exactly 3 * n instructions.
static inline void poll(uint64_t n) {
#ifdef __riscv
    __asm__ volatile("1: lbu t0, 5(%1)\n\taddi %0, %0, -1\n\tbnez %0, 1b"
                     : "+r"(n)
                     : "r"(0x10000000ul)
                     : "t0");
#else
    __asm__ volatile("1: ldr w9, [%1, #24]\n\tsubs %0, %0, #1\n\tb.ne 1b"
                     : "+r"(n)
                     : "r"(0x09000000ul)
                     : "x9", "cc");
#endif
}

static inline uint64_t ticks(void) {
    uint64_t value;
#ifdef __riscv
    __asm__ volatile("csrr %0, time" : "=r"(value)::"memory");
#else
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value)::"memory");
#endif
    return value;
}

static inline uint64_t now(void) { // ns
    return ticks() * (1000000000 / port_hz());
}

static inline void relax(void) {
#ifdef __riscv
    __asm__ volatile(".4byte 0x0100000f" ::: "memory");
#else
    __asm__ volatile("yield" ::: "memory");
#endif
}

#endif
