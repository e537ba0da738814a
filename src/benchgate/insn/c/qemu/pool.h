// Disks. QEMU reads and writes image files in threads of a pool, which take host time. Here the
// thread that submits a job waits until it is done, so guest time stands still meanwhile. The main loop then
// completes the request in its next turn.
//
// QEMU must have one such thread, which never ends: `-object main-loop,thread-pool-min=1,thread-pool-max=1`.
#ifndef POOL_H
#define POOL_H

#include <pthread.h>
#include <stdbool.h>

void pool_expect(void); // there are disks, so a pool thread will exist before the guest starts
void pool_await(void);  // in the main thread, before the guest's first instruction: it is ready for jobs

// The calling thread, neither the main thread nor a vCPU, waits on a condition with a time limit. In QEMU
// only a pool thread does so, when it has no job left.
void pool_rests(pthread_cond_t *condition, pthread_mutex_t *mutex);
bool pool_takes(const pthread_cond_t *condition); // signalling it submits a job
// Signals that there is a job, and returns when it is done. `signal`: the real pthread_cond_signal.
int pool_submit(int (*signal)(pthread_cond_t *));

#endif
