// Self-tests of waits on a host that is simulated: it ends each wait late, and its timer's rate may be wrong.
#include "user/in_time.h"

#include <stddef.h>

#include "host/host.h"

#define MS 1000000ul

static uint64_t host_late, rate_permille, calls;

static enum wait_end simulated(uint64_t ns, uint64_t limit_ns, unsigned tries) {
    calls += tries;
    uint64_t ended = ns * rate_permille / 1000 + host_late;
    return ended < ns ? WAIT_WRONG : ended - ns <= limit_ns ? WAIT_IN_TIME : WAIT_LATE;
}

static bool passes(uint64_t late_ns, uint64_t permille, bool grows) {
    host_late = late_ns;
    rate_permille = permille;
    calls = 0;
    return in_time(simulated, 10 * MS, MS / 2, grows);
}

static int busy_host_is_in_time(uint64_t seed) {
    NEED(passes(0, 1000, true) && calls == IN_TIME_TRIES);
    NEED(passes(MS + seed % 8 * MS, 1000, true) && calls > IN_TIME_TRIES);
    NEED(!passes(60 * MS, 1000, true)); // later than by 5% of the longest wait
    NEED(!passes(MS, 1000, false));
    return 0;
}

static int wrong_rate_is_late(uint64_t seed) {
    NEED(!passes(0, 1051, true) && !passes(seed % 8 * MS, 1060, true));
    NEED(!passes(0, 999, true) && !passes(MS, 880, true)); // too early
    return 0;
}

const struct check in_time_checks[] = {
    {"in-time-busy-host", busy_host_is_in_time},
    {"in-time-wrong-rate", wrong_rate_is_late},
    {NULL, NULL},
};
