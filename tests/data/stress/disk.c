// Reads and writes a disk behind a PIIX3 IDE controller while the other CPUs work.
//
// The registers: ATA/ATAPI-6, 7; the bus master: Intel 82371SB (PIIX3), 2.5.
#include "stress.h"

#define DATA 0x1f0
#define PCI_ADDRESS 0xcf8
#define PCI_DATA 0xcfc
#define PIIX3_IDE 0x70108086
#define ROUNDS 40
#define SECTORS 8

enum { COUNT = 2, LBA_LOW, LBA_MIDDLE, LBA_HIGH, DRIVE, STATUS };
enum { READ = 0x20, READ_DMA = 0xc8, WRITE_DMA = 0xca };

static _Alignas(4096) uint8_t buffer[SECTORS * 512];
static _Alignas(8) struct {
    uint32_t at;
    uint16_t size, last;
} region;
static volatile bool done;
static uint16_t master; // the port of the bus master

static uint32_t config(uint32_t device, uint32_t at) {
    out32(PCI_ADDRESS, 0x80000000u | device << 8 | at);
    return in32(PCI_DATA);
}

static void find(void) {
    uint32_t device = 0;
    while (device < 0x100 && config(device, 0) != PIIX3_IDE)
        device++;
    check(device < 0x100, "there is no IDE controller");
    config(device, 0x20);
    out32(PCI_DATA, 0xc001);
    config(device, 0x40);
    out32(PCI_DATA, 0x80008000); // decode the ports of both channels
    config(device, 4);
    out32(PCI_DATA, 5); // I/O ports, bus master
    master = 0xc000;
}

static void ask(uint8_t command, uint32_t lba, uint8_t sectors) {
    out8(DATA + DRIVE, (uint8_t)(0xe0 | lba >> 24));
    out8(DATA + COUNT, sectors);
    out8(DATA + LBA_LOW, (uint8_t)lba);
    out8(DATA + LBA_MIDDLE, (uint8_t)(lba >> 8));
    out8(DATA + LBA_HIGH, (uint8_t)(lba >> 16));
    out8(DATA + STATUS, command);
}

// How often it looked, which depends on when the disk has finished.
static uint64_t await(uint16_t port, uint8_t mask, uint8_t ready) {
    uint64_t looks = 1;
    uint8_t state;
    for (; ((state = in8(port)) & mask) != ready; looks++)
        check(!(state & 1) || port != DATA + STATUS, "the disk reports an error");
    return looks;
}

static uint64_t transfer(uint8_t command, uint32_t lba) {
    region.at = (uint32_t)(uintptr_t)buffer;
    region.size = sizeof buffer;
    region.last = 0x8000;
    out32((uint16_t)(master + 4), (uint32_t)(uintptr_t)&region);
    out8((uint16_t)(master + 2), 6); // clears the interrupt and the error
    ask(command, lba, SECTORS);
    out8(master, command == READ_DMA ? 9 : 1);
    uint64_t looks = await((uint16_t)(master + 2), 5, 4);
    out8(master, 0);
    return looks + await(DATA + STATUS, 0x88, 0);
}

static uint64_t sum(void) {
    uint64_t total = 0;
    for (unsigned i = 0; i < sizeof buffer; i++)
        total = total * 31 + buffer[i];
    return total;
}

static uint64_t read_by_words(uint32_t lba) {
    ask(READ, lba, 1);
    uint64_t looks = await(DATA + STATUS, 0x88, 8), total = 0;
    for (unsigned i = 0; i < 256; i++) {
        uint16_t word;
        __asm__ volatile("inw %1, %0" : "=a"(word) : "Nd"((uint16_t)DATA));
        total = total * 31 + word;
    }
    seen[0].sum = seen[0].sum * 31 + total;
    return looks;
}

static void transfers(void) {
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint64_t begin = tsc(), took;
        seen[0].ticks += transfer(READ_DMA, round * 37 * SECTORS % 4000);
        seen[0].sum = seen[0].sum * 31 + sum();
        buffer[round] ^= 0x5a;
        seen[0].ticks += transfer(WRITE_DMA, round * 37 * SECTORS % 4000);
        seen[0].ticks += read_by_words(round * 37 * SECTORS % 4000);
        took = tsc() - begin;
        if (seen[0].worst < took)
            seen[0].worst = took;
    }
}

void disk(unsigned me) {
    if (me == 0) {
        find();
        transfers();
        while (steps) // it goes on for ever
            in8(DATA + STATUS);
        done = true;
        return;
    }
    while (!done) { // with looks at the controller, so that the CPUs meet in QEMU
        work(200 + 37 * me);
        seen[me].x += 1 + (seen[me].x % 8 == 0 ? in8(DATA + STATUS) & 1 : 0);
    }
}
