// A kernel that prints figures of its own is compared with these lines: what it claims must fit between them.
//
// A line is `line BYTES TIME HANDOVERS LATE PENDING`: how many bytes the console had when it ended, the
// guest's time, and what vCPUs had seen too late by its last byte (clock_delays). Before it, `ran VCPU RAN
// WORKED` for each vCPU whose totals have changed since the last such line, `polled VCPU COUNT` for each that has
// polled more (polls.h), and what counts.h has counted, as long as half of the room is left.
#include "console.h"

#include "clock.h"
#include "counts.h"
#include "journal.h"
#include "marks.h"
#include "polls.h"

#include <inttypes.h>

#define MOST_BYTES (3u << 20) // in one log; insn/log_reader.py reads at most 4 MiB
#define LONGEST_LINE 112      // `line` with its largest numbers

static unsigned vcpus;
static uint64_t bytes, reported; // of the console; of those, up to the last line in the log
static uint64_t last_byte;       // when it was printed
static struct clock_delays late; // by then: a guest that waits for input is ended at a moment of the host
static size_t left = MOST_BYTES;
static struct clock_work last[LOCKSTEP_MAX];
static uint64_t polled[LOCKSTEP_MAX];
static bool incomplete; // the last byte is no end of a line: it may be a prompt
static uint64_t looked; // at so many bytes, polls.h was told last

void console_setup(unsigned count) {
    vcpus = count;
}

void console_begins(uint64_t printed) {
    bytes = reported = printed;
}

// The console belongs to one thread at a time: QEMU holds its big lock while it writes.
static void end_line(void) {
    for (unsigned c = 0; c < vcpus; c++) {
        struct clock_work now = clock_work(c);
        if (left < 3 * LONGEST_LINE) // the log is full; a line without its `ran` lines would mislead
            return;
        if (now.ran == last[c].ran && now.worked == last[c].worked)
            continue;
        left -= journal_line("ran %u %" PRIu64 " %" PRIu64, c, now.ran, now.worked);
        last[c] = now;
        uint64_t polls = polls_of(c);
        if (polls != polled[c])
            left -= journal_line("polled %u %" PRIu64, c, polled[c] = polls);
    }
    left -= counts_line(left > MOST_BYTES / 2 ? left - MOST_BYTES / 2 : 0);
    uint64_t time = clock_here();
    left -= journal_line("line %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, bytes, time,
                         late.handovers, late.late, late.pending);
    reported = bytes;
    marks_line(bytes, time);
}

void console_wrote(const struct iovec *parts, size_t length) {
    if (length)
        last_byte = clock_here();
    if (length && vcpus)
        late = clock_delays(last_byte);
    for (; length; parts++) {
        const char *text = parts->iov_base;
        size_t size = parts->iov_len < length ? parts->iov_len : length;
        for (size_t i = 0; i < size; i++) {
            bytes++;
            incomplete = text[i] != '\n';
            if (vcpus && text[i] == '\n')
                end_line();
        }
        length -= size;
    }
}

void console_look(void) {
    if (!incomplete || looked == bytes)
        return;
    looked = bytes;
    polls_silence();
}

void console_report(void) {
    if (vcpus && bytes > reported)
        end_line();
}

uint64_t console_bytes(void) {
    return bytes;
}

uint64_t console_last(void) {
    return last_byte;
}
