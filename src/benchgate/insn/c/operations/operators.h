// The threads of the guest, by where the kernel keeps them: the calls in which each of them is, and what is
// measured of those at work.
#ifndef OPERATORS_H
#define OPERATORS_H

#include "spans.h"
#include "threads_hooks.h"

#define OPERATORS_NO_MEMORY "there was no memory for its spans"
#define OPERATORS_POSTS 512 // of a thread, the last ones
#define OPERATORS_DEPTH 8 // of calls within each other: functions, a system call, handlers of signals in it

enum operators_way { OPERATORS_STAYS, OPERATORS_PUTS, OPERATORS_GETS };

// Where the program goes on when a call returns, or the number of a function; and its stack there.
struct operators_place {
    uint64_t back, stack;
};

// A call that has not returned: of the kernel, or of a function of the program.
struct operators_call {
    uint32_t number; // HOOKS_FUNCTION and more: of a function
    struct operators_place place;
    struct spans_moment begin;
    enum operators_way way; // its bytes
    uint64_t object;
};

// Calls that say until when they last, in the program's own time.
struct operators_asked {
    uint64_t count;
    uint64_t until, since; // sums: of what they said, and of the machine's time at the reading of the clock before them
};

// A call that may wake others, whether or not anybody slept: what its thread had read, and by which word.
struct operators_post {
    uint64_t read, word;
};

struct operators_work {
    uint64_t id;
    unsigned vcpu;
    uint64_t begin, end;
    bool has_end, has_started, has_ended;
    uint64_t started, ended; // what it read first from its clock after its marks
    uint64_t read;           // what it read last
    uint64_t since, asked;   // the wake-up that it recorded last was asked for then: at first, and as is known now
    unsigned posted;
    struct operators_post posts[OPERATORS_POSTS];
    struct spans spans[HOOKS_OPERATIONS];
    struct operators_asked until[HOOKS_OPERATIONS];
    // Threads and processes that it made: all, those that live, the most at once, and how many system calls and
    // multiplications those made, of all that have ended, that made the fewest.
    uint64_t made, alive, most_alive, fewest_calls, fewest_products;
    uint64_t products; // its own multiplications in its work, and those of such that ended meanwhile
};

struct operators_thread {
    struct operators_thread *next;
    uint64_t place, id, serial; // serial: another one for each thread
    bool has_id, is_at_work, was_woken, was_sent;
    struct spans_moment woken, sent; // when the call began in which another thread woke it, or asked for that
    uint64_t step;                   // its last read before it was woken
    unsigned asleep;                 // of its calls: in so many it was when it was woken
    struct spans_moment last;        // what it has read from its clock
    uint64_t entered, products;      // its system calls, and its multiplications before it ran last
    struct operators_work *maker;    // who made it, at work; NULL: another one did, or it has ended
    unsigned depth;
    struct operators_call calls[OPERATORS_DEPTH];
    struct operators_work *work; // NULL: it has not been at work
};

struct operators_thread *operators_at(uint64_t place); // NULL: too many, or no memory
void operators_new(struct operators_thread *thread, struct operators_thread *maker); // another one begins at its place
void operators_ended(struct operators_thread *thread);
struct operators_work *operators_work(unsigned number); // of those that were at work; NULL: there are no more
// NULL: there are too many at work.
struct operators_work *operators_begin(struct operators_thread *thread, unsigned vcpu, uint64_t time);

// Its call begins, or goes on after a signal's handler: it comes to the same place again, with the same number or,
// for a system that has one, that of the call that goes on with another. Some calls are posts, and some say until when
// they last. `argument`: its first one, of a function. False: there is no memory.
bool operators_enter(struct operators_thread *thread, uint32_t number, uint64_t argument, struct operators_place place,
                     uint64_t time, const struct hooks *hooks);
int operators_find(const struct operators_thread *thread, struct operators_place place); // which of its calls; or -1
void operators_leave(struct operators_thread *thread, unsigned depth); // so many calls remain
void operators_woken(struct operators_thread *thread, const struct spans_moment *since);
// Its call number `which` succeeds now: begins and ends the spans of which it is a part. False: there is no memory.
bool operators_measure(struct operators_thread *thread, unsigned which, const struct hooks *hooks, uint64_t time);

// Its program records this value in the histogram of this number, right after it read its clock. False: there is
// no memory.
bool operators_record(struct operators_thread *thread, const struct hooks *hooks, unsigned histogram, uint64_t ns);

bool operators_close(struct operators_work *work, unsigned operations); // it has ended; false: no memory
// Writes what was measured of all threads at work, in the order in which they began, or why not (`lost`).
void operators_report(const struct hooks *hooks, const char *lost);

#endif
