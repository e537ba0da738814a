"""Becomes a guest's process: ties it to its parent's life, places it, and executes it.

Run as a script by `process.start`, never imported by it. Takes two descriptors as arguments: one to read
a marshalled order from (argv, environment, parent, affinity, descriptors), one to report on. Gives the
program, in this very process. Fails by writing the step and its error number to the second descriptor;
nothing there means that the program runs.

Why a script and not a preexec_fn: that runs Python between fork and exec, which may deadlock when the parent
has threads, and newer Pythons warn about it. Nor may the guest's environment (a preloaded instruction clock,
the libraries of a private QEMU) reach this interpreter. It imports little, for it is paid at every boot.
"""

import ctypes
import marshal
import os
import sys

PR_SET_PDEATHSIG = 1
SIGKILL = 9
SIGNALS = 64
RLIMIT_CORE = 4


def main(order_fd: int, status_fd: int) -> None:
    os.set_inheritable(status_fd, False)  # so that it closes when the program starts
    with os.fdopen(order_fd, "rb") as stream:
        order = marshal.loads(stream.read())  # noqa: S302 - from our own parent, over a private descriptor
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0:
        report(status_fd, "tie", ctypes.get_errno())
    if os.getppid() != order["parent"]:
        os._exit(1)  # the parent died before the tie was made: no signal will come
    # A program expects them at their defaults, and what is ignored stays so: SIGPIPE by Python, SIGINT and
    # SIGQUIT by a shell's `&`, SIGHUP by nohup. Some cannot be set, and those are never ignored.
    for number in range(1, SIGNALS + 1):
        libc.signal(number, None)
    # A QEMU that aborts (KVM that cannot set an MSR) would leave a core file as large as the guest.
    libc.setrlimit(RLIMIT_CORE, (ctypes.c_ulong * 2)(0, 0))
    step = "place"
    try:
        if order["affinity"]:
            os.sched_setaffinity(0, order["affinity"])
        step = "execute"
        for target, source in order["descriptors"].items():
            os.dup2(source, target)
            os.close(source)
        os.execvpe(order["argv"][0], order["argv"], order["environment"])  # noqa: S606 - no shell is meant
    except OSError as error:
        report(status_fd, step, error.errno or 1)


def report(status_fd: int, step: str, number: int) -> None:
    os.write(status_fd, f"{step} {number}".encode())
    os._exit(127)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
