// The lines of the wire (docs/wire.md), one at a time.
//
// Takes a kind and its fields in order; gives the line, with its sequence number and CRC, to port_line(). A
// line that would be longer than 512 bytes ends the run by port_fail().
#include "harness.h"

#define LINE_BYTES 512

static char line[LINE_BYTES];
static size_t line_used;
static uint64_t line_count;

static void put_char(char c) {
    if (line_used == LINE_BYTES - 1) // the last byte is for the newline
        port_fail("a line on the wire would be longer than 512 bytes");
    line[line_used++] = c;
}

static void put_text(const char *text) {
    for (; *text != 0; text++)
        put_char(*text);
}

static void put_decimal(uint64_t value) {
    char digits[20];
    unsigned n = 0;
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    while (n != 0)
        put_char(digits[--n]);
}

static void put_hex(uint64_t value, int digits) {
    while (digits-- > 0)
        put_char("0123456789abcdef"[(value >> (4 * digits)) & 15]);
}

static uint32_t crc32_of_line(void) {
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < line_used; i++) {
        crc ^= (uint8_t)line[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) ? 0xedb88320 : 0);
    }
    return ~crc;
}

void bench_line_begin(const char *kind) {
    line_used = 0;
    put_text("@bench ");
    put_text(kind);
}

void bench_line_word(const char *key, const char *value) {
    put_char(' ');
    put_text(key);
    put_char('=');
    put_text(value);
}

void bench_line_u64(const char *key, uint64_t value) {
    bench_line_word(key, "");
    put_decimal(value);
}

void bench_line_hex(const char *key, uint64_t value) {
    bench_line_word(key, "0x");
    put_hex(value, 16);
}

void bench_line_end(void) {
    bench_line_u64("seq", line_count++);
    uint32_t crc = crc32_of_line();
    bench_line_word("crc", "");
    put_hex(crc, 8);
    line[line_used++] = '\n';
    port_line(line, line_used);
}

uint64_t wire_lines(void) {
    return line_count;
}
