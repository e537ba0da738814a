// What was typed: bytes that an interrupt brought, or with input=poll the serial port itself.
#include "talker.h"

#define RING 256

static char ring[RING];
static unsigned stored, taken;

bool input_polled(void) {
    static int polled = -1;
    if (polled < 0)
        polled = word_is("input", "poll");
    return polled;
}

void input_arrived(void) {
    for (int byte; (byte = serial_byte()) >= 0;)
        if (stored - taken < RING)
            ring[stored++ % RING] = (char)byte;
}

int input_byte(void) {
    if (input_polled())
        return serial_byte();
    unsigned here = __atomic_load_n(&stored, __ATOMIC_ACQUIRE);
    return taken == here ? -1 : (unsigned char)ring[taken++ % RING];
}
