// The policy that the command line chose. Set once at boot, before the first thread.
#ifndef SCHED_CHOOSE_H
#define SCHED_CHOOSE_H

#include "sched/policy.h"

extern const struct sched_policy *sched;

const struct sched_policy *sched_named(const char *name); // global, rr or wfq; NULL: no such policy

#endif
