// The system calls (ring/abi.h). Entered from trap.S with interrupts off.
#include "arch/tsc.h"
#include "core/process.h"
#include "core/thread.h"
#include "measure/measure.h"
#include "ring/ring.h"

uint64_t syscall(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth, uint64_t number);

static int64_t handle(uint64_t first, uint64_t second, uint64_t third, uint64_t number) {
    switch (number) {
    case RING_CALL_ENTER:
        return ring_enter(first, second, third == 1);
    case RING_CALL_EXIT:
        if (second == 1)
            process_exit_machine((int)(first & 0xff));
        process_exit((int)(first & 0xff));
    case RING_CALL_YIELD:
        thread_yield();
        return 0;
    case RING_CALL_CPU:
        return this_cpu()->index;
    case RING_CALL_WINDOW:
        return measure_window(first);
    case RING_CALL_READ:
        return measure_read(first, second, third);
    case RING_CALL_PROCESS:
        return current()->process->id;
    default:
        return -RING_EINVAL;
    }
}

uint64_t syscall(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth, uint64_t number) {
    (void)fourth;
    this_cpu()->count.syscalls++;
    int64_t result = handle(first, second, third, number);
    thread_reschedule();
    process_check_asked();
    return (uint64_t)result;
}
