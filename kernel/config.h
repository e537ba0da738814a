// Limits and named design switches. Every value that a reader may want to change is here.
#ifndef CONFIG_H
#define CONFIG_H

#define MAX_CPUS 64
#define MAX_APIC_ID 256
#define MAX_PROCESSES 1024
#define MAX_THREADS 2048

// RAM above this address is not used: the top of the first 4 GiB is device space and is mapped uncached.
#define RAM_LIMIT 0xc0000000ul

#define KERNEL_STACK_PAGES 4
#define PAGE_MAGAZINE 64 // free pages that a CPU may cache
#define THREAD_MAGAZINE 8 // unused thread slots that a CPU may keep
#define PAGE_BATCH 32    // pages moved at once between a CPU and the common list

// A CPU that runs a thread takes one timer tick per slice, an idle CPU takes none.
#define SLICE_ALONE_US 10000 // no other thread waits
#define SLICE_SHARED_US 2000 // a thread waits in the queue
#define SLICE_SLACK_US 200   // a slice may end this much earlier if the timer is already set for that time
#define STEAL_VICTIMS 4      // queues that one search for work may examine

#define PARK_BUCKETS 256
#define SPIN_LIMIT_MS 5000 // debug: a longer spin panics and names the CPU it waits for

// Exit values: isa-debug-exit turns value v into QEMU's exit status 2v+1.
#define EXIT_PORT 0xf4
#define EXIT_GOOD 0x10
#define EXIT_FAILED 0x11
#define EXIT_PANIC 0x12

// Set by make PROFILE=...; see README.md.
#ifndef CONFIG_DEBUG
#define CONFIG_DEBUG 0 // lock ranks, assertions, spin deadlines
#endif
#ifndef CONFIG_HARDENED
#define CONFIG_HARDENED 0 // SMEP, SMAP, UBSan traps, stack protector
#endif
#ifndef CONFIG_CHECKS
#define CONFIG_CHECKS 1 // cheap assertions, lock statistics, faults on demand; the fast profile has none
#endif

#endif
