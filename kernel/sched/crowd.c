// fault=crowd: a policy whose load balance is lost. Every thread is queued on one CPU, and no other CPU takes
// it, although it idles: parts that would fit beside each other share that CPU. Found in real schedulers as
// well (Lozi et al., The Linux Scheduler: a Decade of Wasted Cores, EuroSys 2016).
//
// Takes a policy and a CPU; gives the policy with three of its functions replaced, so that without the fault
// no path has an instruction more.
#include <stddef.h>

#include "sched/choose.h"

static const struct sched_policy *inner;
static struct sched_policy crowd;
static unsigned only;

static struct sched_entity *pick(unsigned cpu) {
    return cpu == only ? inner->pick(cpu) : NULL;
}

static struct sched_entity *steal(unsigned cpu) {
    (void)cpu;
    return NULL;
}

// Claims that CPU, if it idles.
static unsigned wake_cpu(const struct sched_entity *entity, unsigned here, bool *claimed) {
    (void)entity, (void)here;
    uint64_t bit = 1ul << only;
    *claimed = atomic_fetch_and_explicit(&sched_cpus.idle, ~bit, memory_order_seq_cst) & bit;
    return only;
}

const struct sched_policy *sched_crowded(const struct sched_policy *policy, unsigned cpu) {
    inner = policy;
    only = cpu;
    crowd = *policy;
    crowd.pick = pick;
    crowd.steal = steal;
    crowd.wake_cpu = wake_cpu;
    return &crowd;
}
