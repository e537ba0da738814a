// The probe guest: computes as many steps as the host requests, checks itself, and reports the result.
//
// Takes from the serial port: a decimal number of steps and a newline; 0 ends the guest.
// Gives on the serial port: "probe ready v=1" once, then "probe steps=N state=HEX" for each request.
// Fails by leaving with status 35 if its own check fails or a request is malformed; success is status 33.
// Between requests it polls, so its CPU stays busy: guests that are measured side by side then disturb each
// other evenly, even after one of them has finished.

#include <stdint.h>

#define SERIAL 0x3f8
#define DEBUG_EXIT 0xf4
#define EXIT_GOOD 0x10
#define EXIT_BAD 0x11
#define CHAINS 4

// Knuth's MMIX generator. There are four independent chains because a single one would only wait for its
// multiplier, and two hyperthreads that wait would look like two whole cores.
static const uint64_t multiplier = 6364136223846793005u;
static const uint64_t increment = 1442695040888963407u;

_Noreturn void probe_main(void);

static inline void out8(uint16_t port, uint8_t value) {
    __asm__ volatile("outb %0, %1" ::"a"(value), "Nd"(port));
}

static inline uint8_t in8(uint16_t port) {
    uint8_t value;
    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static _Noreturn void leave(uint32_t value) {
    __asm__ volatile("outl %0, %1" ::"a"(value), "Nd"((uint16_t)DEBUG_EXIT));
    for (;;)
        __asm__ volatile("cli; hlt");
}

static void put_text(const char *text) {
    while (*text)
        out8(SERIAL, (uint8_t)*text++);
}

static void put_number(uint64_t value, unsigned base) {
    char digits[24];
    unsigned count = 0;
    do {
        digits[count++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (count)
        out8(SERIAL, (uint8_t)digits[--count]);
}

// Ten instructions per step with any compiler, because the host converts steps to instructions per second.
static void compute(uint64_t steps, uint64_t x[CHAINS]) {
    uint64_t a = x[0], b = x[1], c = x[2], d = x[3];
    __asm__ volatile("1: imul %[m], %[a]\n\t"
                     "imul %[m], %[b]\n\t"
                     "imul %[m], %[c]\n\t"
                     "imul %[m], %[d]\n\t"
                     "add %[i], %[a]\n\t"
                     "add %[i], %[b]\n\t"
                     "add %[i], %[c]\n\t"
                     "add %[i], %[d]\n\t"
                     "dec %[n]\n\t"
                     "jnz 1b"
                     : [a] "+r"(a), [b] "+r"(b), [c] "+r"(c), [d] "+r"(d), [n] "+r"(steps)
                     : [m] "r"(multiplier), [i] "r"(increment)
                     : "cc");
    x[0] = a, x[1] = b, x[2] = c, x[3] = d;
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
    compute(steps, x);
    for (unsigned k = 0; k < CHAINS; k++) {
        if (x[k] != jump(k, steps))
            leave(EXIT_BAD);
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
    while (!(in8(SERIAL + 5) & 1))
        compute(100, x);
    return (char)in8(SERIAL);
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
    leave(EXIT_BAD);
}

_Noreturn void probe_main(void) {
    out8(SERIAL + 1, 0);    // no interrupts
    out8(SERIAL + 2, 0x01); // FIFO on: a request arrives whole
    put_text("probe ready v=1\n");
    for (;;) {
        uint64_t steps = get_order();
        if (steps == 0)
            leave(EXIT_GOOD);
        answer(steps);
    }
}
