// Everything that this kernel can do wrong: one at a time, by `lie=NAME` on its command line. Each must be
// refused. Without the word it is honest.
//
//   at the start      false-prompt     prompts in its boot log, and throws away what is then typed
//                     dots             prints one byte for ever
//                     spins            waits for ever for a disk that does not come
//                     reboots          resets before its prompt
//   CPUs              one-cpu          starts no other CPU, and says that all are up
//                     constant         one CPU does all of the work; the figure is computed from its
//                     parameters
//   input             drops            loses a byte in seven
//                     truncates        echoes the whole line and obeys all but its last byte
//                     garbles          echoes another byte than the one that was typed
//                     mute             echoes, and obeys nothing
//   prompt            prompt-not-last  prints a line after its prompt
//                     late-log         prints a line when a command is being typed
//                     background       prompts at once, and prints the result when the next byte is typed
//                     stale            prints the result of the command before
//                     dies             panics in each command, with the same text each time, and stops
//                     dies-many        the same, with two CPUs or more
//                     recites          prints a number before its work, and a time, but no answer
//   figure            coarse           in ticks of 10 ms (honest, but coarse)
//                     short            a third less than the truth
//                     twice            the truth, and then a half of it
//                     overwrites       a half of it, in place of the truth, as a terminal shows it
//   window            head-start       with several workers, one CPU does half of the work before `start` and the
//                     other half after it, while the others only look busy
//                     late-half        the same, but half of the work comes after the figure
//                     idle-work        with idle=scan and several CPUs, CPU 1 does half of the work up to `knows=HI`
//                                      while a line is typed, in the loop in which it looks for work
//                     idle-always      the same, and it computes in that loop before a line is typed, too
//   end               panic-off        fails before the result, with the exit status of a power-off
//                     panic-after      the same, after the result
//                     reset-after      resets after the result
//                     endless          prints the result, and never prompts again
//                     stuck            the same, but its CPUs are halted
//                     babble           prints one line for ever after the result
//                     counts           the same, and no two lines are equal
#include "talker.h"

#define TICK_NS 10000000

bool lie(const char *name) {
    return word_is("lie", name);
}

static void __attribute__((noinline)) wait_for_disk(void) {
    for (;;)
        bench_relax();
}

void lie_at_boot(void) {
    if (lie("spins")) {
        text("talker: waiting for the disk\n");
        wait_for_disk();
    }
    if (lie("false-prompt")) {
        text("$ ");
        while (input_byte() < 0)
            bench_relax();
        for (uint64_t until = machine_ns() + TICK_NS; machine_ns() < until;)
            input_byte();
        text("\ntalker: a driver is late\n");
    }
    while (lie("dots"))
        text(".");
    if (lie("reboots"))
        machine_reset();
}

int heard(void) {
    static unsigned received;
    int byte = input_byte();
    if (byte < 0)
        return byte;
    received++;
    if (lie("drops") && received % 7 == 3)
        return -1;
    return lie("garbles") && received == 3 ? byte ^ 1 : byte;
}

static void show(struct primes *done) {
    if (lie("recites")) {
        say("primes: took ", done->ns, " ns\n");
        return;
    }
    if (lie("coarse"))
        say("primes: took ", (done->ns + TICK_NS / 2) / TICK_NS, " ticks\n");
    else if (lie("overwrites")) {
        say("primes: took ", done->ns, " ns\r");
        say("\033[Kprimes: took ", done->ns / 2, " ns\n");
    } else
        say("primes: took ", lie("short") ? done->ns * 2 / 3 : done->ns, " ns\n");
    if (lie("twice"))
        say("primes: took ", done->ns / 2, " ns\n");
    if (lie("late-half"))
        primes_alone(done);
    say("primes: hi=", done->hi, "");
    say(" workers=", done->workers, "");
    say(" count=", done->count, "");
    say(" sum=", done->sum, "\n");
}

static struct primes kept;

static bool is_typing, has_worked;

bool lie_works_idle(void) {
    return lie("idle-work") || lie("idle-always");
}

void lie_while_idle(unsigned me) {
    bool typing = __atomic_load_n(&is_typing, __ATOMIC_ACQUIRE);
    if (me != 1 || !lie_works_idle() || has_worked || (lie("idle-work") && !typing))
        return;
    bool done = primes_ahead(word_number("knows"), !typing);
    __atomic_store_n(&has_worked, done && typing, __ATOMIC_RELEASE);
}

void lie_before_echo(void) {
    __atomic_store_n(&is_typing, true, __ATOMIC_RELEASE);
    if (lie("late-log"))
        text("talker: a driver is late\n");
    if (lie("background") && kept.hi) {
        show(&kept);
        kept.hi = 0;
    }
}

static void compute(struct primes *asked) {
    uint64_t workers = asked->workers;
    if (lie("constant"))
        asked->workers = 1;
    primes_compute(asked);
    asked->workers = workers;
    if (lie("constant"))
        asked->ns = 1000 * asked->hi / workers;
}

static void panic(void) {
    text("talker: something is wrong, the CPU stops\n");
    machine_power_off();
}

static void stop(void) {
    machine_hold();
    for (;;)
        machine_rest();
}

static void die(void) {
    text("primes: 5 devices do not answer\npanic: code 17 at 4711\n");
    stop();
}

void primes_command(struct primes *asked) {
    if (lie("recites"))
        text("primes: 42 tables are ready\n");
    if (lie("head-start"))
        primes_alone(asked);
    while (lie_works_idle() && asked->workers > 1 && !__atomic_load_n(&has_worked, __ATOMIC_ACQUIRE))
        bench_relax();
    text("primes: start\n");
    if (lie("dies") || (lie("dies-many") && machine_cpus() > 1))
        die();
    compute(asked);
    if (lie("panic-off"))
        panic();
    if (lie("background") || lie("stale")) {
        struct primes before = kept;
        kept = *asked;
        if (lie("background"))
            return;
        if (before.hi)
            show(&before);
    } else
        show(asked);
    text("primes: done\n");
    if (lie("panic-after"))
        panic();
    if (lie("reset-after"))
        machine_reset();
    if (lie("stuck"))
        stop();
    while (lie("endless"))
        bench_relax();
    while (lie("babble"))
        text("talker: a device does not answer\n");
    for (uint64_t tries = 1; lie("counts"); tries++)
        say("talker: a device does not answer, try ", tries, "\n");
}
