// The prompt and its commands: cpus, primes WORKERS HI, halt, panic.
#include "talker.h"

#define LONGEST 120

static char line[LONGEST + 1];

static char next_byte(void) {
    int byte;
    machine_hold();
    while ((byte = heard()) < 0)
        rest(0);
    machine_release();
    return (char)byte;
}

static void echo(char byte) {
    char shown[2] = {byte, 0};
    if (!word_is("echo", "off"))
        text(shown);
}

static void read_line(void) {
    unsigned length = 0;
    for (bool first = true;; first = false) {
        char byte = next_byte();
        if (first)
            lie_before_echo();
        if (byte == '\r')
            byte = '\n';
        echo(byte);
        if (byte == '\n')
            break;
        if (length < LONGEST)
            line[length++] = byte;
    }
    if (lie("truncates") && length)
        length--;
    line[length] = 0;
}

static bool number(const char **at, uint64_t *value) {
    const char *digit = *at;
    for (*value = 0; *digit >= '0' && *digit <= '9' && *value < 1u << 30; digit++)
        *value = 10 * *value + (uint64_t)(*digit - '0');
    bool found = digit != *at;
    *at = *digit == ' ' ? digit + 1 : digit;
    return found;
}

static void obey(void) {
    const char *at = line + 7;
    struct primes asked = {0};
    if (starts(line, "primes ") && number(&at, &asked.workers) && number(&at, &asked.hi) && !*at &&
        asked.workers >= 1 && asked.workers <= machine_cpus())
        primes_command(&asked);
    else if (starts(line, "cpus"))
        say("cpus: ", machine_cpus(), " up\n");
    else if (starts(line, "halt")) {
        text("talker: halts\n");
        machine_power_off();
    } else if (starts(line, "panic")) {
        text("panic: as requested\n");
        machine_fail();
    } else if (*line) {
        text("talker: unknown command: ");
        text(line);
        text("\n");
    }
}

void talk(void) {
    struct primes asked = {word_number("auto"), machine_cpus(), 0, 0, 0};
    if (asked.hi) {
        primes_command(&asked);
        if (!word_is("end", "never")) {
            text("talker: halts\n");
            machine_power_off();
        }
    }
    for (;;) {
        text("$ ");
        if (lie("prompt-not-last"))
            text("talker: a driver is late\n");
        read_line();
        disk_counts("it was asked\n");
        if (!lie("mute"))
            obey();
    }
}
