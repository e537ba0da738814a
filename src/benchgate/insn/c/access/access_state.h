// Shared by the access*.c files only.
#ifndef ACCESS_STATE_H
#define ACCESS_STATE_H

#include "access.h"
#include "clock.h"
#include "counter.h"
#include "memory.h"

#define ACCESS_PAGES 256
#define ACCESS_RECENT 256
#define ACCESS_PAGE (UINT64_C(1) << MEMORY_PAGE_BITS)
#define ACCESS_NO_LINE UINT64_MAX

// The state of one vCPU's thread for its accesses.
struct access_cpu {
    _Alignas(128) struct memory_front *front;
    struct counter_place place; // NULL until its first access
    bool slow;                  // clock_is_slow
    bool waits;                 // for memory, since its last access_done
    bool ends;                  // its turn ends now
    bool wary;                  // QEMU may still use a translation that another vCPU has changed
    struct {
        uint64_t key, line; // a virtual page of memory; its first physical line
    } pages[ACCESS_PAGES];
    struct access_recent {
        _Alignas(64) uint64_t key; // a line of virtual addresses
        struct memory_spot line;
        struct memory_page_spot page;
    } recent[ACCESS_RECENT];
};

extern struct memory *access_memory; // NULL: nothing is watched
extern struct memory_shape access_shape;
extern struct access_cpu access_cpus[LOCKSTEP_MAX];

void access_begin(struct access_cpu *a, unsigned vcpu); // sets its places
void access_look_again(unsigned vcpu);                  // its next access to each line takes the long path
static inline struct access_cpu *access_of(unsigned vcpu) {
    struct access_cpu *a = &access_cpus[vcpu];
    if (!a->place.counted)
        access_begin(a, vcpu);
    return a;
}
// The time of a vCPU, in its own thread, at an instruction with `left` others after it in its block. What earlier
// accesses of the instruction have waited for is part of it.
static inline uint64_t access_time(const struct access_cpu *a, unsigned vcpu, size_t left) {
    return a->slow ? clock_before(vcpu, left) : *a->place.counted + clock_ahead[vcpu] - left;
}
// Handles one access to one line at `now`: its order, and its stall.
void access_line(struct access_cpu *a, unsigned vcpu, enum memory_kind kind, uint64_t line, uint64_t now);
// The vCPU waits.
void access_stall(struct access_cpu *a, uint64_t stall);
// Call after a callback's accesses. If what they waited for took the vCPU past its limit, or they must end its turn,
// it stops here.
void access_done(struct access_cpu *a, unsigned vcpu, size_t left);

// ---- access_fetch.c

void access_fetch_setup(void);
void access_fetch_count(unsigned vcpu); // gives the model the fetches that translated code has answered
void access_fetch_flush(unsigned vcpu);
void access_fetch_forget(unsigned vcpu); // which lines and which page it fetched last

// ---- access_books.c

void access_books_setup(unsigned vcpus, bool whole);
// Both give true if the vCPU's turn must end now.
bool access_out_of_order(uint64_t time, uint64_t late, uint64_t line);
bool access_waited(uint64_t time, uint64_t line); // and was not late

#endif
