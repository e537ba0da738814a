// A card with National Semiconductor's DP8390 (data sheet, 1995) on PCI: QEMU's ne2k_pci, polled.
// Its memory has 256-byte pages: one frame to send from page 0x40, a ring of received ones from 0x46 to 0x80.
#include "answerer.h"

enum { SEND_PAGE = 0x40, FIRST_PAGE = 0x46, END_PAGE = 0x80, SHORTEST = 60 };
enum { COMMAND = 0, START = 1, STOP = 2, BOUNDARY = 3, SEND_FROM = 4, SEND_COUNT = 5, STATUS = 7 };
enum { ADDRESS = 8, COUNT = 10, RECEIVE = 12, TRANSMIT = 13, DATA_FORM = 14, MASK = 15, DATA = 16 };
enum { OWN_ADDRESS = 1, CURRENT = 7 }; // in the second set of registers
enum { STOPPED = 0x21, RUNS = 0x22, SECOND_SET = 0x62, READS = 0x0a, WRITES = 0x12, SENDS = 0x26 };

uint8_t own_address[6];
static uint16_t base;
static uint8_t next_page = FIRST_PAGE + 1;

static void set(unsigned place, unsigned value) {
    out8((uint16_t)(base + place), (uint8_t)value);
}

static uint8_t value(unsigned place) {
    return in8((uint16_t)(base + place));
}

static uint32_t pci(unsigned device, unsigned place) {
    out32(0xcf8, 0x80000000 | device << 11 | place);
    return in32(0xcfc);
}

static void transfer(unsigned at, size_t count, unsigned command) {
    set(COUNT, count);
    set(COUNT + 1, count >> 8);
    set(ADDRESS, at);
    set(ADDRESS + 1, at >> 8);
    set(COMMAND, command);
}

static void read(unsigned at, uint8_t *into, size_t count) {
    transfer(at, count, READS);
    while (count--)
        *into++ = value(DATA);
}

bool card_open(void) {
    unsigned device = 0;
    while (device < 32 && pci(device, 0) != 0x802910ec)
        device++;
    if (device == 32)
        return false;
    base = (uint16_t)(pci(device, 0x10) & ~3u);
    set(COMMAND, STOPPED);
    set(DATA_FORM, 0x48); // by bytes
    set(RECEIVE, 0x20);   // nothing yet
    set(TRANSMIT, 0x02);
    set(START, FIRST_PAGE);
    set(STOP, END_PAGE);
    set(BOUNDARY, FIRST_PAGE);
    set(MASK, 0);
    set(STATUS, 0xff);
    uint8_t twice[12]; // the card has each byte of its address twice
    read(0, twice, sizeof twice);
    set(COMMAND, SECOND_SET);
    for (unsigned i = 0; i < 6; i++)
        set(OWN_ADDRESS + i, own_address[i] = twice[2 * i]);
    set(CURRENT, next_page);
    set(COMMAND, RUNS);
    set(TRANSMIT, 0);
    set(RECEIVE, 0x04); // also what is sent to all
    return true;
}

size_t card_receive(uint8_t *into) {
    set(COMMAND, SECOND_SET);
    uint8_t current = value(CURRENT), head[4];
    set(COMMAND, RUNS);
    if (current == next_page)
        return 0;
    read((unsigned)next_page << 8, head, sizeof head);
    size_t length = (size_t)(head[2] | head[3] << 8) - sizeof head;
    bool fits = length <= LONGEST;
    if (fits)
        read(((unsigned)next_page << 8) + sizeof head, into, length);
    next_page = head[1];
    set(BOUNDARY, next_page == FIRST_PAGE ? END_PAGE - 1 : next_page - 1);
    return fits ? length : 0;
}

void card_send(const uint8_t *from, size_t length) {
    size_t sent = length < SHORTEST ? SHORTEST : length;
    transfer(SEND_PAGE << 8, sent, WRITES);
    for (size_t i = 0; i < sent; i++)
        set(DATA, i < length ? from[i] : 0);
    set(SEND_FROM, SEND_PAGE);
    set(SEND_COUNT, sent);
    set(SEND_COUNT + 1, sent >> 8);
    set(COMMAND, SENDS);
}
