// QEMU executes rdtsc inline for a guest's rdtsc, and for the cycle counters of some other architectures. The
// kernel can trap it (PR_SET_TSC). The trap handler answers with instruction time, so the guest's TSC ticks
// once per instruction. A signal takes the host 5 us, so a place in QEMU at which a vCPU is trapped becomes a
// jump to a thunk (thunk.h), where it can be one.
#define _GNU_SOURCE
#include "tsc.h"

#include "clock.h"
#include "journal.h"

#include "libc.h"
#include "outer.h"
#include "thunk.h"

#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <ucontext.h>

static bool is_guest_clock;
static struct sigaction before;
static uintptr_t text_begin, text_end; // QEMU's own code

// Stops after the first object of the list, which is the program itself.
static int find_text(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
            text_begin = info->dlpi_addr + p->p_vaddr;
            text_end = text_begin + p->p_memsz;
        }
    }
    return 1;
}

// Reads the host's TSC, for a library that reads it in the main thread.
static uint64_t host_tsc(void) {
    prctl(PR_SET_TSC, PR_TSC_ENABLE);
    uint64_t now = __builtin_ia32_rdtsc();
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    return now;
}

static uint64_t guest_time(void) {
    clock_checks.tsc_traps++;
    uint64_t now = is_guest_clock ? clock_spin_read() : clock_seen();
    outer_clock_read((unsigned)clock_self, now);
    return now;
}

// In place of a read in QEMU's own code. Threads that do not run the guest come here, too.
static uint64_t answer(void) {
    if (clock_self >= 0) {
        clock_checks.tsc_thunks++;
        return guest_time();
    }
    return libc_is_main() ? clock_seen() : __builtin_ia32_rdtsc();
}

static void trapped(int number, siginfo_t *info, void *context) {
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint8_t *at = (uint8_t *)r[REG_RIP];
    const uint8_t *resume = info->si_code == SI_KERNEL ? thunk_resume(at) : NULL;
    if (resume) {
        r[REG_RIP] = (greg_t)resume;
        return;
    }
    int length = info->si_code == SI_KERNEL ? thunk_length(at) : 0;
    if (!length) { // a real fault: it repeats, and the previous handler gets it
        (void)number;
        sigaction(SIGSEGV, &before, NULL);
        return;
    }
    if (clock_self < 0 && !libc_is_main()) { // a thread that inherited the setting
        prctl(PR_SET_TSC, PR_TSC_ENABLE);
        return;
    }
    bool is_qemu = (uintptr_t)at >= text_begin && (uintptr_t)at < text_end;
    if (clock_self >= 0 && is_qemu && thunk_replace(at, (const uint8_t *)text_end, answer))
        return; // it goes on with the jump
    uint64_t now;
    if (clock_self >= 0)
        now = guest_time();
    else
        now = is_qemu ? clock_seen() : host_tsc(); // QEMU itself, when it starts or stops the guest's clock
    r[REG_RAX] = (greg_t)(uint32_t)now;
    r[REG_RDX] = (greg_t)(now >> 32);
    if (length == THUNK_RDTSCP)
        r[REG_RCX] = 0;
    r[REG_RIP] += length;
}

const char *tsc_setup(bool guest_clock) {
    int mode = 0;
    is_guest_clock = guest_clock;
    if (prctl(PR_GET_TSC, &mode))
        return "this kernel cannot trap reads of the TSC";
    dl_iterate_phdr(find_text, NULL);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = trapped;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    return sigaction(SIGSEGV, &action, &before) ? "cannot install the signal handler for the TSC trap" : NULL;
}

void tsc_trap_this_thread(void) {
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
        journal_refuse("this host does not allow reads of the TSC to be trapped");
}
