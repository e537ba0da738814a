// A scheduler in BPF for tests of benchgate's scenarios: fair by virtual time, with one fault on demand.
//
// Without a fault all CPUs share one queue, ordered by the CPU time of a thread for its weight. A thread
// that was asleep has at most one slice of credit. rows/test_scenarios.py has the scenario that finds
// each fault.
#include <scx/common.bpf.h>

#include "scx_faulty.h"

char _license[] SEC("license") = "Dual MIT/GPL";

UEI_DEFINE(uei);

#define SHARED 0
#define BEHIND 1    // of threads that starve: served only if nothing else waits
#define OF_CPU 2    // and on: one queue for each CPU
#define SLICE 4000000ull
#define LONG_SLICE 60000000ull

const volatile u32 fault = FAULT_NONE;
const volatile u32 cpus = 1;

static u64 now; // the virtual time of the thread that was served last
static u64 left; // the CPUs that have been away

struct known {
    u32 weight;
    s32 home;
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct known);
} threads SEC(".maps");

static bool before(u64 a, u64 b) {
    return (s64)(a - b) < 0;
}

// To one CPU of several: its own queue is the only one that is right.
static bool is_bound(const struct task_struct *p) {
    return cpus > 1 && p->nr_cpus_allowed == 1;
}

static bool is_kernels(const struct task_struct *p) {
    return p->flags & PF_KTHREAD;
}

// Whether the faulty scheduler leaves this CPU idle.
static bool is_forgotten(s32 cpu) {
    if (fault == FAULT_GONE)
        return left >> (cpu & 63) & 1;
    return fault == FAULT_IDLE && cpu == (s32)cpus - 1;
}

static u32 half_of(s32 cpu) {
    return (u32)cpu >= cpus / 2;
}

// What the scheduler keeps of a thread from its first run on.
static struct known *known_of(struct task_struct *p) {
    return bpf_task_storage_get(&threads, p, 0, 0);
}

static u64 weight_of(struct task_struct *p) {
    struct known *mine = fault == FAULT_OLD_WEIGHT ? known_of(p) : NULL;
    if (fault == FAULT_FLAT)
        return 100;
    return mine && mine->weight ? mine->weight : p->scx.weight;
}

// By weight, too: who stops running is queued behind the one that comes next, whatever the order of the
// queue.
static u64 slice_of(struct task_struct *p) {
    return (fault == FAULT_LONG ? LONG_SLICE : SLICE) * weight_of(p) / 100;
}

static bool starves(const struct task_struct *p) {
    u32 of = fault == FAULT_STARVE ? 4 : fault == FAULT_STARVE_ONE ? 100 : 0;
    return of && (u32)p->pid % of == 0 && !is_kernels(p);
}

// The queue of a thread that no idle CPU takes at once.
static u64 queue_of(struct task_struct *p) {
    s32 cpu = scx_bpf_task_cpu(p);
    struct known *mine = known_of(p);
    if (fault == FAULT_STICK)
        return OF_CPU + cpu;
    if (fault == FAULT_HALF)
        return OF_CPU + half_of(cpu);
    if (fault == FAULT_HOME && mine && !is_kernels(p))
        return OF_CPU + mine->home;
    if (starves(p))
        return BEHIND;
    return SHARED;
}

// CPU time counts for the weight of the thread.
static void charge(struct task_struct *p) {
    u64 left = p->scx.slice, whole = slice_of(p), had = left < whole ? whole - left : 0;
    if (fault == FAULT_KERNEL && p->stime > p->utime / 4)
        had *= 4;
    p->scx.dsq_vtime += had * 100 / weight_of(p);
}

// Whether the faulty wake-up leaves everything to the CPU where the thread was before.
static bool stays(void) {
    return fault == FAULT_STICK || fault == FAULT_DEAF || fault == FAULT_HALF || fault == FAULT_HOME;
}

// Another CPU than the one before, if the thread may run there.
static s32 next_cpu(struct task_struct *p, s32 cpu) {
    for (u32 i = 1; i < 64 && i < cpus; i++) {
        s32 other = (cpu + i) % cpus;
        if (bpf_cpumask_test_cpu(other, p->cpus_ptr))
            return other;
    }
    return cpu;
}

s32 BPF_STRUCT_OPS(faulty_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags) {
    bool idle = false;
    s32 cpu;
    if (stays())
        return prev_cpu;
    if (fault == FAULT_PONG) {
        cpu = next_cpu(p, prev_cpu);
        idle = scx_bpf_test_and_clear_cpu_idle(cpu);
    } else {
        cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &idle);
    }
    if (idle && !is_forgotten(cpu))
        scx_bpf_dispatch(p, SCX_DSQ_LOCAL, slice_of(p), 0);
    return cpu;
}

void BPF_STRUCT_OPS(faulty_enqueue, struct task_struct *p, u64 enq_flags) {
    u64 time = p->scx.dsq_vtime;
    struct known *mine = known_of(p);
    s32 cpu;
    if (is_bound(p)) {
        scx_bpf_dispatch(p, SCX_DSQ_LOCAL, slice_of(p), enq_flags);
        return;
    }
    if (fault != FAULT_CREDIT && before(time, now - SLICE))
        time = now - SLICE;
    if (fault == FAULT_TAIL && enq_flags & SCX_ENQ_WAKEUP)
        time = now + 100 * SLICE;
    scx_bpf_dispatch_vtime(p, queue_of(p), slice_of(p), time, enq_flags);
    if (fault == FAULT_HOME && mine)
        scx_bpf_kick_cpu(mine->home, 0);
    if (stays())
        return;
    cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
    if (cpu >= 0)
        scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

void BPF_STRUCT_OPS(faulty_dispatch, s32 cpu, struct task_struct *prev) {
    if (is_forgotten(cpu))
        return;
    if (fault == FAULT_STICK || fault == FAULT_HOME) {
        if (scx_bpf_consume(SHARED) || scx_bpf_consume(OF_CPU + cpu))
            return;
    } else if (fault == FAULT_HALF) {
        if (scx_bpf_consume(OF_CPU + half_of(cpu)))
            return;
    } else if (scx_bpf_consume(SHARED) || scx_bpf_consume(BEHIND)) {
        return;
    }
    if (prev && prev->scx.flags & SCX_TASK_QUEUED) { // the kernel would give it a slice of 20 ms
        charge(prev);
        prev->scx.slice = slice_of(prev);
        if (before(now, prev->scx.dsq_vtime))
            now = prev->scx.dsq_vtime;
    }
}

void BPF_STRUCT_OPS(faulty_running, struct task_struct *p) {
    if (before(now, p->scx.dsq_vtime))
        now = p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(faulty_stopping, struct task_struct *p, bool runnable) {
    charge(p);
}

void BPF_STRUCT_OPS(faulty_enable, struct task_struct *p) {
    struct known *mine = bpf_task_storage_get(&threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (mine) {
        mine->weight = p->scx.weight;
        mine->home = scx_bpf_task_cpu(p);
    }
    p->scx.dsq_vtime = now;
}

// Without these two the kernel throws a scheduler out when a CPU goes or comes.
void BPF_STRUCT_OPS(faulty_cpu_offline, s32 cpu) {
    left |= 1ull << (cpu & 63);
}

void BPF_STRUCT_OPS(faulty_cpu_online, s32 cpu) {}

s32 BPF_STRUCT_OPS_SLEEPABLE(faulty_init) {
    for (u32 id = 0; id < 64 + OF_CPU && id < cpus + 2 + OF_CPU; id++) {
        s32 error = scx_bpf_create_dsq(id, -1);
        if (error)
            return error;
    }
    return 0;
}

void BPF_STRUCT_OPS(faulty_exit, struct scx_exit_info *ei) {
    UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(faulty_ops,
               .select_cpu = (void *)faulty_select_cpu,
               .enqueue = (void *)faulty_enqueue,
               .dispatch = (void *)faulty_dispatch,
               .running = (void *)faulty_running,
               .stopping = (void *)faulty_stopping,
               .enable = (void *)faulty_enable,
               .cpu_online = (void *)faulty_cpu_online,
               .cpu_offline = (void *)faulty_cpu_offline,
               .init = (void *)faulty_init,
               .exit = (void *)faulty_exit,
               .name = "faulty");
