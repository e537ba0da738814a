// With `disk=counts` and a disk behind the first IDE channel (x86 only): its first sector counts how often the kernel
// booted and was asked. The registers: ATA/ATAPI-6, 7.
#include "talker.h"

#ifdef __x86_64__

#include "../../stress/stress.h"

#define DATA 0x1f0
#define WORDS 256

enum { COUNT = 2, LBA_LOW, LBA_MIDDLE, LBA_HIGH, DRIVE, STATUS, CONTROL = 0x206 };
enum { READ = 0x20, WRITE = 0x30, FLUSH = 0xe7 };

static uint16_t sector[WORDS];

static void await(uint8_t mask, uint8_t ready) {
    while ((in8(DATA + STATUS) & mask) != ready)
        pause();
}

static void ask(uint8_t command) {
    out8(DATA + CONTROL, 2); // no interrupts
    out8(DATA + DRIVE, 0xe0);
    out8(DATA + COUNT, 1);
    for (uint16_t part = LBA_LOW; part <= LBA_HIGH; part++)
        out8(DATA + part, 0);
    out8(DATA + STATUS, command);
    await(0x80, 0);
}

static void transfer(uint8_t command) {
    ask(command);
    await(0x88, 8);
    for (unsigned at = 0; at < WORDS; at++)
        if (command == READ)
            __asm__ volatile("inw %1, %0" : "=a"(sector[at]) : "Nd"((uint16_t)DATA));
        else
            __asm__ volatile("outw %0, %1" ::"a"(sector[at]), "Nd"((uint16_t)DATA));
    await(0x80, 0);
}

void disk_counts(const char *what) {
    if (!word_is("disk", "counts"))
        return;
    transfer(READ);
    say("talker: the disk was used ", sector[0]++, " times before ");
    text(what);
    transfer(WRITE);
    ask(FLUSH);
}

#else

void disk_counts(const char *what) {
    (void)what;
}

#endif
