// The probe guest: computes as many steps as the host requests, checks itself, and reports the result.
//
// Takes from the serial port: a decimal number of steps and a newline; 0 ends the guest.
// Gives on the serial port: "probe ready v=1" once, then "probe steps=N state=HEX" for each request.
// The machine's part is in machine.h and start.S of each architecture.
// Fails by leaving with status 35 if its own check fails or a request is malformed; success is status 33.
// Between requests it polls, so its CPU stays busy: guests that are measured side by side then disturb each
// other evenly, even after one of them has finished.

#include <stdint.h>

#include "machine.h"

#define CHAINS 4

// Knuth's MMIX generator. There are four independent chains because a single one would only wait for its
// multiplier, and two hyperthreads that wait would look like two whole cores.
static const uint64_t multiplier = 6364136223846793005u;
static const uint64_t increment = 1442695040888963407u;

_Noreturn void probe_main(void);

static void put_text(const char *text) {
    while (*text)
        serial_put(*text++);
}

static void put_number(uint64_t value, unsigned base) {
    char digits[24];
    unsigned count = 0;
    do {
        digits[count++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (count)
        serial_put(digits[--count]);
}

// Computes the same state in about log2(steps) iterations: F. Brown, "Random number generation with arbitrary
// stride", Trans. Am. Nucl. Soc. 71 (1994).
static uint64_t jump(uint64_t start, uint64_t steps) {
    uint64_t factor = multiplier, addend = increment, product = 1, sum = 0;
    for (; steps; steps >>= 1) {
        if (steps & 1) {
            product *= factor;
            sum = sum * factor + addend;
        }
        addend *= factor + 1;
        factor *= factor;
    }
    return product * start + sum;
}

static void answer(uint64_t steps) {
    uint64_t x[CHAINS], state = 0;
    for (unsigned k = 0; k < CHAINS; k++)
        x[k] = k;
    steps4(steps, x, multiplier, increment);
    for (unsigned k = 0; k < CHAINS; k++) {
        if (x[k] != jump(k, steps))
            leave(0);
        state ^= x[k];
    }
    put_text("probe steps=");
    put_number(steps, 10);
    put_text(" state=");
    put_number(state, 16);
    put_text("\n");
}

// Computes a few steps between two polls, because each poll takes QEMU's big lock, and QEMU's main loop needs
// that lock to deliver a character.
static char get_char(void) {
    uint64_t x[CHAINS] = {0};
    while (!serial_has())
        steps4(100, x, multiplier, increment);
    return serial_get();
}

static uint64_t get_order(void) {
    uint64_t steps = 0;
    for (unsigned length = 0; length < 16; length++) {
        char c = get_char();
        if (c == '\n' && length > 0)
            return steps;
        if (c < '0' || c > '9')
            break;
        steps = steps * 10 + (uint64_t)(c - '0');
    }
    leave(0);
}

_Noreturn void probe_main(void) {
    serial_start();
    put_text("probe ready v=1\n");
    for (;;) {
        uint64_t steps = get_order();
        if (steps == 0)
            leave(1);
        answer(steps);
    }
}
