// The policy that the command line chose. Set once at boot, before the first thread.
#ifndef SCHED_CHOOSE_H
#define SCHED_CHOOSE_H

#include "sched/policy.h"

extern const struct sched_policy *sched;

// The same policy with a defect: every thread runs on this one CPU, and the others take none (fault=crowd).
const struct sched_policy *sched_crowded(const struct sched_policy *policy, unsigned cpu);

const struct sched_policy *sched_named(const char *name); // global, rr or wfq; NULL: no such policy

#endif
