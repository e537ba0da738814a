#include "arch/serial.h"

#include "arch/x86.h"
#include "core/lock.h"
#include "core/percpu.h"
#include "core/print.h"

#define COM1 0x3f8
#define LINE_STATUS 5
#define TRANSMIT_EMPTY 0x20
#define KEPT_BYTES 2048

static struct lock serial_lock = LOCK(serial);
static _Atomic int held;
static struct {
    _Alignas(128) size_t used;
    char text[KEPT_BYTES];
} kept[MAX_CPUS];

void serial_init(void) {
    outb(COM1 + 1, 0);    // no interrupts
    outb(COM1 + 3, 0x80); // divisor latch
    outb(COM1 + 0, 1);    // 115200 baud
    outb(COM1 + 1, 0);
    outb(COM1 + 3, 3); // 8 bits, no parity, one stop bit
    outb(COM1 + 2, 7); // FIFOs on and empty
    outb(COM1 + 4, 3);
}

void serial_write_now(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        for (unsigned n = 0; n < 100000 && !(inb(COM1 + LINE_STATUS) & TRANSMIT_EMPTY); n++)
            pause();
        outb(COM1, (uint8_t)text[i]);
    }
}

void serial_write(const char *text, size_t length) {
    struct cpu *cpu = this_cpu();
    if (atomic_load_explicit(&held, memory_order_relaxed)) {
        size_t *used = &kept[cpu->index].used;
        for (size_t i = 0; i < length && *used < KEPT_BYTES; i++)
            kept[cpu->index].text[(*used)++] = text[i];
        return;
    }
    lock_take(&serial_lock);
    serial_write_now(text, length);
    lock_drop(&serial_lock);
    cpu->count.serial_bytes += length;
}

void serial_hold(int hold) {
    atomic_store_explicit(&held, hold, memory_order_seq_cst);
}

void serial_flush(void) {
    for (unsigned i = 0; i < cpu_count; i++) {
        serial_write(kept[i].text, kept[i].used);
        kept[i].used = 0;
    }
}

void print(const char *pattern, ...) {
    char line[256];
    va_list list;
    va_start(list, pattern);
    size_t used = format_list(line, sizeof line - 1, pattern, list);
    va_end(list);
    line[used++] = '\n';
    serial_write(line, used);
}
