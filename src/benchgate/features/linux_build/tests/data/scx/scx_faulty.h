// The faults of scx_faulty, by number.
#ifndef SCX_FAULTY_H
#define SCX_FAULTY_H

enum fault {
    FAULT_NONE,
    FAULT_STARVE,     // a thread in four runs only if nothing else waits
    FAULT_IDLE,       // the last CPU takes nothing from the queue
    FAULT_FLAT,       // weights count for nothing
    FAULT_LONG,       // a slice is 60 ms
    FAULT_TAIL,       // a woken thread is queued behind all others
    FAULT_DEAF,       // a woken thread asks for no idle CPU
    FAULT_STICK,      // a thread stays on the CPU where it began, whatever the others do
    FAULT_HALF,       // the CPUs of each half serve threads of their own only
    FAULT_HOME,       // a thread stays in the queue of its first CPU, though it may not run there any more
    FAULT_OLD_WEIGHT, // a thread keeps the weight that it had at first
    FAULT_PONG,       // a woken thread goes to another CPU each time
    FAULT_CREDIT,     // a thread that was asleep may make up for all of that time
    FAULT_KERNEL,     // time of a thread that is much in the kernel counts four times
    FAULT_GONE,       // a CPU that was away takes nothing from the queue any more
    FAULT_STARVE_ONE, // a thread in a hundred runs only if nothing else waits
    FAULTS
};

#endif
