#include "core/fault.h"

#include <stddef.h>

#include "core/options.h"
#include "core/print.h"
#include "core/process.h"
#include "core/string.h"
#include "core/standing.h"
#include "core/thread.h"
#include "core/thread_switch.h"
#include "core/thread_wait.h"
#include "ring/park.h"
#include "sched/common.h"

enum fault fault_chosen;
uint64_t fault_value;

// With `right` and `wrong` a fault is a jump from the one to the other. A fault may have several.
static const struct {
    const char *name;
    enum fault fault;
    void *right, *wrong;
} known[] = {
    {"drop-ipi", FAULT_DROP_IPI, NULL, NULL},
    {"skip-shootdown", FAULT_SKIP_SHOOTDOWN, NULL, NULL},
    {"wrong-checksum", FAULT_WRONG_CHECKSUM, NULL, NULL},
    {"lost-wake", FAULT_LOST_WAKE, NULL, NULL},
    {"unbounded-steal", FAULT_UNBOUNDED_STEAL, NULL, NULL},
    {"unfair-weight", FAULT_UNFAIR_WEIGHT, NULL, NULL},
    {"lock-hold", FAULT_LOCK_HOLD, NULL, NULL},
    {"idle-spin", FAULT_IDLE_SPIN, NULL, NULL},
    {"panic", FAULT_PANIC, NULL, NULL},
    {"crowd", FAULT_CROWD, sched_any_waiting, crowd_any_waiting},
    {"deaf-wake", FAULT_PLACING, sched_wake_cpu, sched_wake_cpu_deaf},
    {"half", FAULT_PLACING, sched_search_others, sched_search_half},
    {"half", FAULT_PLACING, sched_any_waiting, half_any_waiting},
    {"behind", FAULT_PLACING, wfq_enqueue, wfq_enqueue_behind},
    {"halt-yield", FAULT_STANDS, thread_choose, thread_choose_halted},
    {"spin-yield", FAULT_STANDS, thread_choose, thread_choose_spun},
    {"busy-yield", FAULT_STANDS, thread_choose, thread_choose_busy},
    {"late-poke", FAULT_STANDS, thread_poked, thread_poked_late},
    {"withhold", FAULT_STANDS, thread_ready, thread_ready_withheld},
    {"withhold", FAULT_STANDS, thread_expire, thread_expire_withheld},
    {"late-start", FAULT_LATE_START, thread_ready, thread_ready_withheld},
    {"late-start", FAULT_LATE_START, thread_expire, thread_expire_withheld},
    {"late-look", FAULT_STANDS, thread_idle, thread_idle_late},
    {"blind-idle", FAULT_STANDS, thread_idle, thread_idle_blind},
    {"storm", FAULT_STANDS, thread_reschedule, thread_reschedule_storm},
    {"nap", FAULT_STANDS, thread_choose, thread_choose_napped},
    {"blip", FAULT_STANDS, thread_idle, thread_idle_blip},
    {"slow-return", FAULT_STANDS, thread_reschedule, thread_reschedule_slow},
    {"slow-count", FAULT_STANDS, thread_reschedule, thread_reschedule_counting},
    {"slow-switch", FAULT_STANDS, thread_choose, thread_choose_slow},
    {"halt-return", FAULT_STANDS, thread_reschedule, thread_reschedule_halted},
    {"halt-poke", FAULT_STANDS, thread_poked, thread_poked_halted},
    {"queue-lock", FAULT_STANDS, thread_poked, thread_poked_locked},
    {"late-begin", FAULT_STANDS, process_begin, process_begin_late},
    {"parked", FAULT_STANDS, thread_idle, thread_idle_parked},
    {"poll-idle", FAULT_STANDS, thread_idle, thread_idle_polling},
    {"late-steal", FAULT_STANDS, sched_search_others, sched_search_dropping},
    {"private-list", FAULT_STANDS, thread_ready, thread_ready_kept},
    {"private-list", FAULT_STANDS, thread_choose, thread_choose_kept},
    {"late-unpark", FAULT_STANDS, unpark, unpark_late},
    {"sleepy-unpark", FAULT_STANDS, unpark, unpark_asleep},
    {"sleepy-yield", FAULT_STANDS, thread_yield, thread_yield_asleep},
    {"late-rest", FAULT_STANDS, unpark, unpark_rest_late},
    {"sleepy-return", FAULT_STANDS, thread_reschedule, thread_reschedule_asleep},
    {"sleepy-exit", FAULT_STANDS, process_exit, process_exit_asleep},
    {"sleepy-park", FAULT_STANDS, park, park_asleep},
    {"wake-window", FAULT_RACE, wait_while, wait_while_early},
    {"late-store", FAULT_RACE, wait_on, wait_on_late},
    {"unlocked-count", FAULT_RACE, wfq_enqueue, wfq_enqueue_late},
    {"double-free", FAULT_RACE, process_exit, process_exit_late},
    {"stale-steal", FAULT_RACE, sched_search_others, sched_search_early},
};

// From now on every call of `right` runs `wrong`: its first instruction becomes a jump. Only during boot, before
// vm_init takes the right to write from the kernel's text, and before another CPU runs.
static void replace(uint8_t *right, const uint8_t *wrong) {
    int32_t distance = (int32_t)(wrong - (right + 5));
    right[0] = 0xe9; // jmp
    memcpy(right + 1, &distance, sizeof distance);
}

// The N of NAME:N; `digits` begins with the colon, or is empty.
static uint64_t value_of(const char *word, const char *digits) {
    uint64_t value = 0;
    while (*digits && *++digits) {
        if (*digits < '0' || *digits > '9' || value > 1000000000)
            panic("why=option word=fault=%s reason=not-a-number", word);
        value = value * 10 + (uint64_t)(*digits - '0');
    }
    return value;
}

void fault_choose(const char *word) {
    if (word == NULL || text_same(word, "none"))
        return;
    if (!CONFIG_CHECKS)
        panic("why=option word=fault=%s reason=the-fast-profile-has-none", word);
    size_t n = 0;
    while (word[n] && word[n] != ':')
        n++;
    fault_value = value_of(word, word + n);
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++) {
        if (text_length(known[i].name) != n || memcmp(known[i].name, word, n) != 0)
            continue;
        fault_chosen = known[i].fault;
        if (known[i].right != NULL)
            replace(known[i].right, known[i].wrong);
    }
    if (fault_chosen == FAULT_DROP_IPI && fault_value == 0)
        fault_value = 1; // without N: all of them
    if (fault_chosen == FAULT_NONE)
        panic("why=option word=fault=%s reason=no-such-fault", word);
}
