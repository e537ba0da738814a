// Disks. QEMU reads and writes image files in threads of a pool, which take host time. Here the
// thread that submits a job waits until it is done, so guest time stands still meanwhile. The main loop then
// completes the request in its next turn.
//
// QEMU must have such a thread before the guest's first job: `-object
// main-loop,thread-pool-min=1,thread-pool-max=1`. Without that option one exists as soon as QEMU has read an
// image, and would end after ten seconds of the host without a job. The main loop makes another; it could not
// while it waits for the job. So its rest has no end here.
#ifndef POOL_H
#define POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

void pool_expect(void); // there are disks, so a pool thread will exist before the guest starts
void pool_await(void);  // in the main thread, before the guest's first instruction: it is ready for jobs

// A wait until then, by a thread that is neither the main thread nor a vCPU's, is that of a pool thread
// without a job.
bool pool_is_rest(const struct timespec *until);
// Such a wait, by the real pthread_cond_wait.
int pool_rest(pthread_cond_t *condition, pthread_mutex_t *mutex,
              int (*wait)(pthread_cond_t *, pthread_mutex_t *));
bool pool_takes(const pthread_cond_t *condition); // signalling it submits a job
// Signals that there is a job, and returns when it is done. `signal`: the real pthread_cond_signal.
int pool_submit(int (*signal)(pthread_cond_t *));

#endif
