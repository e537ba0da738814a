# ruff: noqa: E501 - the lines of C are as long as they are
"""Lies by class: what stands in for an operation. Data only, as in trials.py."""

from __future__ import annotations

from tests.lieskit import Trial

LINUX = """#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
"""
"""What a lie includes that calls the kernel itself."""
FIRST = {"micro": ("micro.c", '#include "calls.h"\n')}
"""Where, if it is not before `work.h` in the workload's C file."""

Pairs = tuple[tuple[str, str], ...]


def linux(workload: str) -> tuple[str, tuple[str, str]]:
    """The edit that includes it, and its file."""
    file, old = FIRST.get(workload, (f"{workload}.c", '#include "work.h"\n'))
    return file, (old, LINUX + old)


def edited(
    name: str, workload: str, file: str, *pairs: tuple[str, str], raw: bool = False, **params: object
) -> Trial:
    """Edits of one file; `raw`: it calls the kernel itself."""
    edits: dict[str, Pairs] = {file: pairs}
    if raw:
        first, pair = linux(workload)
        edits[first] = (*edits.get(first, ()), pair)
    return Trial(f"{workload}-{name}", workload, edits, params)


def _calls(name: str, op: str, old: str, new: str, *, raw: bool = False) -> Trial:
    return edited(name, "micro", "calls.h", (old, new), raw=raw, op=op, iters=100)


def _threads(name: str, op: str, *pairs: tuple[str, str], raw: bool = False) -> Trial:
    return edited(name, "micro", "threads.h", *pairs, raw=raw, op=op, iters=100)


READ = "good += port_read(me->file, &byte, 1) == 0;"
WRITE = "good += port_write(me->file, &byte, 1) == 1;"
OPEN = "        int file = port_open(path);\n        good += file >= 0 && port_close(file) == 0;\n"
SIZE = "int64_t size = port_size(path);"
PIPE = (
    "        if (port_send(channel, out, PAGE_BYTES) != 0 || port_receive(channel, in, PAGE_BYTES) != 0)\n"
    "            return good;\n"
)
COPY = "        (void)channel;\n        for (unsigned k = 0; k < CHUNK_WORDS; k++)\n            in[k] = out[k];\n"
CHILD = (
    "        int started = port_child(child, (uint64_t)cell);\n"
    "        if (started < 0 || port_child_wait(started) != 0)\n            return good;\n"
)
FAULT_IN = (
    "        uint64_t *page = (uint64_t *)(at + i * PAGE_BYTES);\n"
    "        page[0] = ++me->expected;\n        good += page[CHUNK_WORDS - 1] == 0;\n"
)
FAULT_OUT = "        me->proof += page[0];\n        page[CHUNK_WORDS - 1] = FILLING;\n"
ZERO_PAGE = (
    (
        FAULT_IN,
        "        volatile uint64_t *page = (volatile uint64_t *)(at + i * PAGE_BYTES);\n        me->expected++;\n        good += page[CHUNK_WORDS - 1] == 0;\n",
    ),
    (FAULT_OUT, "        me->proof += me->expected - n + i + 1 + page[0];\n"),
)
CREATE = "        join(start(run_once, me));\n"
SWITCH = "        hand_over(me, THEIRS);\n        wait_for_turn(me, THEIRS);\n        good += count_done(me)"
BORN = "static uint64_t run_fork_exit("
OTHER_CHILD = """static _Alignas(16) char other_stack[65536];

static int other_child(void *at) {
    child((uint64_t)at);
    return 0;
}

"""
OTHER_RUN = """static int other_run(void *at) {
    run_once(at);
    return 0;
}

"""

NOTHING_MOVED = (
    _calls("read-of-nothing", "read_null", READ, "good += port_read(me->file < 0 ? 0 : -1, &byte, 1) < 0;"),
    _calls("read-no-bytes", "read_null", READ, "good += port_read(me->file, &byte, 0) == 0;"),
    _calls(
        "write-to-nothing", "write_null", WRITE, "good += port_write(me->file < 0 ? 1 : -1, &byte, 1) < 0;"
    ),
    _calls("write-no-bytes", "write_null", WRITE, "good += port_write(me->file, &byte, 0) == 0;"),
    _calls(
        "open-a-missing-file",
        "open_close",
        OPEN,
        '        (void)path;\n        good += port_open("/-") < 0 && port_close(-1) < 0;\n',
    ),
    _calls(
        "open-a-short-name", "open_close", OPEN, OPEN.replace("(path)", '(path == NULL ? path : "/dev/null")')
    ),
    _calls(
        "stat-a-missing-file",
        "stat",
        SIZE,
        '(void)path;\n        int64_t size = port_size("/-") < 0 ? expected : 0;',
    ),
    _calls(
        "stat-an-empty-name",
        "stat",
        SIZE,
        '(void)path;\n        int64_t size = port_size("") < 0 ? expected : 0;',
    ),
    _calls(
        "stat-a-short-name",
        "stat",
        SIZE,
        '(void)path;\n        int64_t size = port_size("/") > 0 ? expected : 0;',
    ),
    _calls(
        "stat-a-descriptor",
        "stat",
        SIZE,
        "static int file = -1;\n        struct stat found;\n        if (file < 0)\n            file = port_open(path);\n"
        '        int64_t size = syscall(SYS_newfstatat, file, "", &found, AT_EMPTY_PATH) == 0 ? found.st_size : -1;',
        raw=True,
    ),
    _calls(
        "pipe-of-nothing",
        "pipe",
        PIPE,
        f"        if (write(-1, out, PAGE_BYTES) >= 0 || read(-1, in, PAGE_BYTES) >= 0)\n            return good;\n{COPY}",
        raw=True,
    ),
    _calls(
        "pipe-to-null",
        "pipe",
        PIPE,
        '        static int null = -1, zero = -1;\n        if (null < 0) {\n            null = open("/dev/null", O_WRONLY);\n'
        '            zero = open("/dev/zero", O_RDONLY);\n        }\n'
        "        if (write(null, out, PAGE_BYTES) != PAGE_BYTES || read(zero, in, PAGE_BYTES) != PAGE_BYTES)\n"
        f"            return good;\n{COPY}",
        raw=True,
    ),
    _calls(
        "pipe-in-a-file",
        "pipe",
        PIPE,
        "        static int file = -1;\n        if (file < 0)\n"
        '            file = (int)syscall(SYS_memfd_create, "pipe", 0);\n'
        "        if (lseek(file, 0, SEEK_SET) != 0 || write(file, out, PAGE_BYTES) != PAGE_BYTES ||\n"
        "            lseek(file, 0, SEEK_SET) != 0 || read(file, in, PAGE_BYTES) != PAGE_BYTES)\n"
        "            return good;\n        (void)channel;\n",
        raw=True,
    ),
    _threads(
        "fork-that-fails",
        "fork_exit",
        (
            CHILD,
            "        if (syscall(SYS_clone, CLONE_THREAD, 0, 0, 0, 0) >= 0 || wait4(-1, 0, 0, 0) >= 0)\n"
            "            return good;\n        child((uint64_t)cell);\n",
        ),
        raw=True,
    ),
    _threads(
        "thread-that-fails",
        "thread_create",
        (
            CREATE,
            "        (void)start, (void)join;\n        if (syscall(SYS_clone3, 0, 0) >= 0)\n            return good;\n        run_once(me);\n",
        ),
        raw=True,
    ),
)
"""Calls that fail, or that move nothing or something else."""


def _other_child(name: str, flags: str) -> Trial:
    """A child that is cheaper than one of fork."""
    started = f"clone(other_child, other_stack + sizeof other_stack, {flags} | SIGCHLD, cell)"
    child = f"        int started = {started};\n" + CHILD.partition("\n")[2]
    return _threads(name, "fork_exit", (CHILD, child), (BORN, OTHER_CHILD + BORN), raw=True)


IN_PLACE = (
    _other_child("vfork", "CLONE_VM | CLONE_VFORK"),
    _other_child("shared-memory", "CLONE_VM | CLONE_FILES | CLONE_FS"),
    _threads(
        "process-for-thread",
        "thread_create",
        (
            CREATE,
            "        static _Alignas(16) char stack[65536];\n        (void)start, (void)join;\n"
            "        int other = clone(other_run, stack + sizeof stack, CLONE_VM | CLONE_FILES | CLONE_FS | SIGCHLD, me);\n"
            "        if (other < 0 || port_child_wait(other) != 0)\n            return good;\n",
        ),
        ("static uint64_t run_thread_create(", OTHER_RUN + "static uint64_t run_thread_create("),
        raw=True,
    ),
    edited("fault-zero-page", "micro", "calls.h", *ZERO_PAGE, op="mmap_fault", iters=100),
    _calls(
        "fault-populated",
        "mmap_fault",
        "char *at = port_private(n * PAGE_BYTES);",
        "char *at = mmap(NULL, n * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);\n"
        "    volatile char *other = port_private(n * PAGE_BYTES);\n"
        "    for (uint64_t i = 0; i < n; i++)\n        (void)other[i * PAGE_BYTES];\n"
        "    port_unmap((void *)other, n * PAGE_BYTES);",
        raw=True,
    ),
    _threads(
        "switch-wakes-nobody",
        "context_switch",
        (
            SWITCH,
            "        port_wake(&me->asleep, 1);\n        port_wake(&me->asleep, 1);\n        me->done++;\n        good += count_done(me)",
        ),
    ),
    _threads(
        "switch-by-spinning",
        "context_switch",
        (
            "    while ((now = __atomic_load_n(&me->word, __ATOMIC_ACQUIRE)) == others)\n        port_wait(&me->word, others, 0);",
            "    while ((now = __atomic_load_n(&me->word, __ATOMIC_ACQUIRE)) == others)\n        port_yield();",
        ),
    ),
    _threads(
        "wake-nobody",
        "futex_wake",
        (
            "        while (port_wake(&me->word, 1) != 1)\n            port_yield();\n",
            "        me->done += port_wake(&me->done_elsewhere, 1) == 0;\n".replace(
                "done_elsewhere", "asleep"
            ),
        ),
    ),
    _calls(
        "signal-kept-mask",
        "signal_delivery",
        "good += port_signal() == ++me->expected;",
        "good += i % 2 != 0 ? ++me->expected > 0 : port_signal() <= ++me->expected;",
    ),
    edited(
        "process-for-thread",
        "spawn",
        "spawn.c",
        (
            "shared->threads ? port_task(thread_body, errand) : port_child(",
            "shared->threads > 1 ? port_task(thread_body, errand) : port_child(",
        ),
        (
            "(shared->threads ? port_task_join(number) : port_child_wait(number))",
            "(shared->threads > 1 ? port_task_join(number) : port_child_wait(number))",
        ),
        ("    errand->stack = (uint64_t)&errand;\n", "    errand->stack = 0;\n"),
        errands=200,
    ),
    edited(
        "vfork",
        "spawn",
        "spawn.c",
        ("port_child(process_body, (uint64_t)errand)", "other_child(process_body, errand)"),
        (
            "static int create(",
            "static int other_body(void *errand) {\n    run_errand(errand);\n    return 0;\n}\n\n"
            "static int other_child(void (*body)(uint64_t), struct errand *errand) {\n    (void)body;\n    static _Alignas(16) char stack[LIVE_MAX][16384];\n"
            "    return clone(other_body, stack[errand->number % LIVE_MAX] + 16384, CLONE_VM | CLONE_VFORK | SIGCHLD, errand);\n}\n\n"
            "static int create(",
        ),
        raw=True,
        errands=200,
        kind="process",
    ),
    edited(
        "shared-memory",
        "spawn",
        "spawn.c",
        ("port_child(process_body, (uint64_t)errand)", "other_child(process_body, errand)"),
        (
            "static int create(",
            "static int other_body(void *errand) {\n    run_errand(errand);\n    return 0;\n}\n\n"
            "static int other_child(void (*body)(uint64_t), struct errand *errand) {\n    (void)body;\n    static _Alignas(16) char stack[LIVE_MAX][16384];\n"
            "    return clone(other_body, stack[errand->number % LIVE_MAX] + 16384, CLONE_VM | SIGCHLD, errand);\n}\n\n"
            "static int create(",
        ),
        raw=True,
        errands=200,
        kind="process",
    ),
    edited(
        "vfork",
        "jobs",
        "jobs.c",
        (
            "port_child(job_body, (uint64_t)target)",
            "clone(other_body, other_stack + sizeof other_stack, CLONE_VM | CLONE_VFORK | SIGCHLD, target)",
        ),
        ("    done_here++;\n", "    (void)done_here;\n"),
        (
            "static void build(",
            "static _Alignas(16) char other_stack[65536];\n\nstatic int other_body(void *target) {\n"
            "    job_body((uint64_t)target);\n    return 0;\n}\n\nstatic void build(",
        ),
        raw=True,
        jobs=60,
    ),
    edited(
        "one-after-the-other",
        "tasks",
        "tasks.c",
        (
            "    for (unsigned i = 0; i < live; i++) {\n        if (port_task_join(started[i]) != 0)\n",
            "    for (unsigned i = 0; i < live; i++) {\n        if (started[i] < 0)\n",
        ),
        (
            "        started[i] = port_task(run_task, &task[i]);\n",
            "        started[i] = port_task(run_task, &task[i]);\n        if (port_task_join(started[i]) != 0)\n            started[i] = -1;\n",
        ),
        steps=20_000,
    ),
    edited(
        "one-for-all",
        "tasks",
        "tasks.c",
        ("{lo + share * i / live, lo + share * (i + 1) / live, 0}", "{i ? lo + share : lo, lo + share, 0}"),
        steps=20_000,
    ),
    edited(
        "synced-nothing",
        "files",
        "files.c",
        ("if (port_sync(file) != 0)", "if (port_sync(-1) == 0)"),
        rounds=1,
    ),
    edited(
        "written-to-null",
        "files",
        "files.c",
        ("static void write_file(", "static int null_file;\n\nstatic void write_file("),
        (
            "    int file = opened(plan->path[number]);\n    for (uint64_t b = 0; b < plan->blocks; b++) {\n        uint64_t word",
            '    int file = opened(plan->path[number]);\n    null_file = opened("/dev/null");\n    for (uint64_t b = 0; b < plan->blocks; b++) {\n        uint64_t word',
        ),
        ("if (port_write(file, block, plan->bytes)", "if (port_write(null_file, block, plan->bytes)"),
        (
            "        for (uint64_t i = 0; i < plan->bytes / sizeof *block; i++)\n            digest",
            "        uint64_t word = bench_mix((slot->value[VALUE_READ] / plan->blocks * 0 + number) * plan->blocks + b);\n        for (uint64_t i = 0; i < plan->bytes / sizeof word; i++, word = bench_turns(word, 1))\n            block[i] = word;\n        for (uint64_t i = 0; i < plan->bytes / sizeof *block; i++)\n            digest",
        ),
        rounds=1,
    ),
    edited(
        "read-without-bytes",
        "files",
        "files.c",
        (
            "        if (port_read(file, block, plan->bytes) != (int64_t)plan->bytes)\n",
            "        uint64_t word = bench_mix(number * plan->blocks + b);\n"
            "        for (uint64_t i = 0; i < plan->bytes / sizeof word; i++, word = bench_turns(word, 1))\n            block[i] = word;\n"
            "        if (port_read(file, block, 0) != 0)\n",
        ),
        rounds=1,
    ),
)
"""Another operation in the place of the one that is asked for."""

LOCKS = (
    edited(
        "own-lock",
        "contend",
        "contend.c",
        (
            "        bench_lock(&shared->spin);\n        return;\n",
            "        struct bench_lock *one = &other[bench_word_of(shared)];\n        bench_lock(one);\n        bench_unlock(one);\n"
            "        while (__atomic_exchange_n(&shared->spin.taken, 1, __ATOMIC_ACQUIRE) != 0)\n            port_yield();\n        return;\n",
        ),
        (
            "__attribute__((noinline)) static void contend_take(struct shared *shared) {",
            "static struct bench_lock other[2];\nstatic unsigned bench_word_of(const struct shared *shared) {\n"
            "    return shared->count % 2 == 0;\n}\n\n__attribute__((noinline)) static void contend_take(struct shared *shared) {",
        ),
        (
            "        bench_unlock(&shared->spin);\n    else if",
            "        __atomic_store_n(&shared->spin.taken, 0, __ATOMIC_RELEASE);\n    else if",
        ),
        takes=1000,
        lock="spin",
    ),
    edited(
        "own-lock",
        "schbench",
        "worker.h",
        (
            "        struct bench_lock *lock = &state->lock[(unsigned)cpu % LOCKS];\n",
            "        static _Thread_local struct bench_lock own;\n        struct bench_lock *lock = state ? &own : NULL;\n",
        ),
        time_ns=60_000_000,
        threads=4,
    ),
    edited(
        "lock-let-go",
        "schbench",
        "worker.h",
        (
            "    for (uint64_t i = 0; i < options->operations; i++)",
            "    if (lock != NULL)\n        bench_unlock(lock);\n    lock = NULL;\n    for (uint64_t i = 0; i < options->operations; i++)",
        ),
        time_ns=60_000_000,
    ),
    edited(
        "barrier-by-spinning",
        "barrier",
        "barrier.c",
        (
            "        bench_barrier(&loop->barrier);\n",
            """        uint32_t now = (uint32_t)phase;
        if (__atomic_add_fetch(&loop->barrier.arrived, 1, __ATOMIC_ACQ_REL) == job->workers * (now + 1)) {
            __atomic_store_n(&loop->barrier.phase, now + 1, __ATOMIC_RELEASE);
            port_wake(&loop->barrier.phase, BENCH_MAX_WORKERS);
        }
        while (__atomic_load_n(&loop->barrier.phase, __ATOMIC_ACQUIRE) <= now)
            bench_relax();
""",
        ),
        phases=20,
    ),
)
"""Other locks and waits."""

ALL = (*NOTHING_MOVED, *IN_PLACE, *LOCKS)
