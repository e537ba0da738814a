// A small kernel with a prompt, for tests: `$ `, an echo, and a few commands that compute on all CPUs.
//
// Takes words from the kernel's command line: `lie=NAME` (lies.h), `input=poll` (the serial port is polled;
// else an interrupt brings a byte, and a CPU without work is halted), `lines=crlf`, `echo=off`, `online=unsaid`
// (no line says how many CPUs came up), `idle=scan` (no CPU ever halts: idle.c), `countdown=shown` (as U-Boot's, with backspaces), `disk=counts` (disk.c),
// and `auto=HI` (no prompt: one `primes` on all CPUs, then the end). Built
// with FIXED_CPUS it waits for so many CPUs. shell.c has the commands, primes.c the work on all CPUs, and one
// file per architecture the machine.
#ifndef TALKER_H
#define TALKER_H

#include "bench.h"
#include <stdbool.h>

// ---- the machine: x86.c, riscv.c or arm.c
_Noreturn void machine_power_off(void);
_Noreturn void machine_fail(void); // ends with another exit status than the power-off, where there is one
_Noreturn void machine_reset(void);
const char *machine_words(void); // the kernel's command line
const char *fdt_words(const void *tree);
unsigned machine_cpus(void); // the CPUs that QEMU has
void machine_start(unsigned cpu);
void machine_wake(unsigned cpu);
uint64_t machine_ns(void);
void machine_put(char byte);
int serial_byte(void);   // a byte that has arrived at the serial port, or -1
void machine_hold(void); // interrupts of this CPU off
void machine_rest(void); // while held: until an interrupt; with input=poll and on CPU 0 only a moment
void machine_release(void);

// ---- input.c
bool input_polled(void);
void input_arrived(void); // an interrupt: empties the serial port
int input_byte(void);     // a byte that was typed, or -1

// ---- talker.c
void text(const char *at);
void say(const char *before, uint64_t value, const char *after);
bool word_is(const char *key, const char *value); // is KEY=VALUE one of the kernel's words?
uint64_t word_number(const char *key);            // 0 if absent
bool starts(const char *line, const char *with);
void talk(void); // CPU 0: never returns
void talker_main(unsigned me);

// ---- idle.c
void rest(unsigned me); // as machine_rest, or a look at everything that could run

// ---- disk.c
void disk_counts(const char *what);

// ---- primes.c
struct primes {
    uint64_t hi, workers, count, sum, ns;
};
extern unsigned online; // CPUs that came up
void primes_workers(unsigned me);
void primes_compute(struct primes *asked);
void primes_alone(struct primes *asked); // the half that primes_compute leaves out, for a lie
bool primes_ahead(uint64_t most, bool again); // a chunk of it; whether it is done

// ---- lies.c
bool lie(const char *name);
void lie_at_boot(void);
void lie_before_echo(void);
bool lie_works_idle(void);
void lie_while_idle(unsigned me);
void primes_command(struct primes *asked);
int heard(void); // as input_byte()

#endif
