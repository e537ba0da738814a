// Limits and named design switches. Everything that a reader may want to turn is here and nowhere else.
#ifndef CONFIG_H
#define CONFIG_H

#define MAX_CPUS 64
#define MAX_APIC_ID 256
#define MAX_PROCESSES 1024
#define MAX_THREADS 2048

// RAM above this is left alone: the top of the first 4 GiB is device space and mapped uncached.
#define RAM_LIMIT 0xc0000000ul

#define KERNEL_STACK_PAGES 4
#define PAGE_MAGAZINE 64 // free pages that a CPU may keep for itself
#define PAGE_BATCH 32    // pages moved at once between a CPU and the common list

// A CPU that runs a thread takes one timer tick per slice, an idle CPU takes none.
#define SLICE_ALONE_US 10000 // nobody waits
#define SLICE_SHARED_US 2000 // somebody waits in the queue
#define SLICE_SLACK_US 200   // a slice may be this much shorter, where a timer is set for then already
#define STEAL_VICTIMS 4      // queues that one search for work may look at

#define PARK_BUCKETS 256
#define SPIN_LIMIT_MS 5000 // debug: a spin that takes longer panics and names whom it waits for

// How the machine is left: isa-debug-exit turns value v into exit status 2v+1.
#define EXIT_PORT 0xf4
#define EXIT_GOOD 0x10
#define EXIT_FAILED 0x11
#define EXIT_PANIC 0x12

// Profiles set these by make PROFILE=...; see README.md.
#ifndef CONFIG_DEBUG
#define CONFIG_DEBUG 0 // lock ranks, assertions, spin deadlines
#endif
#ifndef CONFIG_HARDENED
#define CONFIG_HARDENED 0 // SMEP, SMAP, UBSan traps, stack protector
#endif
#ifndef CONFIG_CHECKS
#define CONFIG_CHECKS 1 // cheap invariants, books of locks, faults on demand; the fast profile has none
#endif

#endif
