// Decides when the guest stops for input to its console, and when typed bytes arrive. Pure: owns no
// descriptor, thread or clock, so it can be tested by itself. typist.c connects it to the host and to QEMU.
//
// The guest stops only at moments that it determines itself. Guest time stands still until the host has
// answered. So a conversation repeats, however slow the host reads and types.
//
// Messages:
//   to the host    stop KIND BYTES TIME UNREAD RESTS STARTED
//                    KIND: `start`: nothing has run yet. `quiet`: for QUIET ns nothing was printed or typed.
//                    `full`: since the last stop TALK_PRINTED bytes were printed.
//                    `late`: the time is LIMIT. `halted`: the same, and no vCPU has run for a second.
//                    BYTES: of the console so far. UNREAD: typed bytes that the guest has not taken. RESTS: 1 if
//                    every vCPU is halted, else 0. STARTED: a digit for each vCPU, 1 if it has executed something.
//   from the host  go QUIET LIMIT PACE HEX
//                    types these bytes (`-`: none), the first now, the others PACE ns apart; then the guest
//                    runs to its next stop. A guest is quiet once after each output or input.
//                  free
//                    no more stops. A closed socket means the same.
//                  pause
//                    every vCPU is halted, and the host stops QEMU by QMP to take a snapshot. The answer is due.
//                  begin
//                    after `pause`, and for a guest that was restored from a snapshot: QEMU goes on, and so does
//                    time. The plugin tells the stop again.
#ifndef TALK_H
#define TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALK_NEVER UINT64_MAX
#define TALK_BYTES 2048   // most bytes that wait to be typed
#define TALK_PRINTED 4096 // most bytes that are printed between two stops

enum talk_state { TALK_OFF, TALK_STOPPED, TALK_PAUSED, TALK_RUNS, TALK_FREE };
enum talk_kind { TALK_NONE, TALK_START, TALK_QUIET, TALK_FULL, TALK_LATE };

struct talk {
    enum talk_state state;
    enum talk_kind kind;         // of the last stop
    uint64_t quiet, limit, pace; // of the last `go`
    uint64_t since;              // when something was last printed or typed
    uint64_t heard;              // bytes of the console at the last stop
    bool news;                   // something was typed since the last stop
    size_t waiting;              // typed bytes that have not arrived
    uint64_t next_byte;          // when the first of them arrives
    uint8_t bytes[TALK_BYTES];
};

// It stops for the first time before the guest runs, at `now`. If its console has had bytes by then, it was
// restored, and is quiet: that is where a snapshot was taken.
void talk_begin(struct talk *t, uint64_t bytes, uint64_t now);
// The host's answer to a stop at `now`. False: it is no valid message.
bool talk_answer(struct talk *t, const char *text, uint64_t now);

// The console has `bytes` bytes; the last one was printed at `last`.
void talk_printed(struct talk *t, uint64_t bytes, uint64_t last);
bool talk_is_full(const struct talk *t, uint64_t bytes);
bool talk_has_news(const struct talk *t, uint64_t bytes); // since the last stop, printed or typed
int talk_take(struct talk *t, uint64_t now);              // a byte that arrives now, or -1
uint64_t talk_next(const struct talk *t, uint64_t bytes); // when a byte arrives or the guest must stop
// Gives why the guest must stop now; it counts as stopped from then on.
enum talk_kind talk_stop(struct talk *t, uint64_t bytes, uint64_t now);

#endif
