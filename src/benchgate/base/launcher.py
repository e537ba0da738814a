"""Starts a child program: sets its parent-death signal and CPU affinity, then executes it.

`process.start` runs this file as a script and never imports it. Takes two descriptors as arguments: one to
read a marshalled request from (argv, environment, parent, affinity, descriptors), one for errors. Gives the
program, which replaces this process. Fails by writing the step and the errno to the second descriptor; if
that is closed without output, the program is running.

This is a script and not a preexec_fn because a preexec_fn runs Python between fork and exec, which may
deadlock if the parent has threads, and newer Pythons warn about it. The program's environment (a preloaded
instruction clock, the libraries of a private QEMU) must not affect this interpreter either. The script
imports little, because every boot pays for the imports.
"""

import ctypes
import marshal
import os
import sys

PR_SET_PDEATHSIG = 1
SIGKILL = 9
SIGNALS = 64
RLIMIT_CORE = 4


def main(request_fd: int, status_fd: int) -> None:
    os.set_inheritable(status_fd, False)  # so that it closes when the program starts
    with os.fdopen(request_fd, "rb") as stream:
        request = marshal.loads(stream.read())  # noqa: S302 - from our own parent, over a private descriptor
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0:
        report(status_fd, "death-signal", ctypes.get_errno())
    if os.getppid() != request["parent"]:
        os._exit(1)  # the parent died before prctl, so the signal will never arrive
    # Programs expect default signal handling, but exec keeps ignored signals ignored: SIGPIPE by Python,
    # SIGINT and SIGQUIT by a shell's `&`, SIGHUP by nohup. Signals that cannot be set are never ignored.
    for number in range(1, SIGNALS + 1):
        libc.signal(number, None)
    # A QEMU that aborts (KVM cannot set an MSR) would write a core file as large as the guest.
    libc.setrlimit(RLIMIT_CORE, (ctypes.c_ulong * 2)(0, 0))
    step = "affinity"
    try:
        if request["affinity"]:
            os.sched_setaffinity(0, request["affinity"])
        step = "execute"
        for target, source in request["descriptors"].items():
            os.dup2(source, target)
            os.close(source)
        os.execvpe(request["argv"][0], request["argv"], request["environment"])  # noqa: S606 - no shell wanted
    except OSError as error:
        report(status_fd, step, error.errno or 1)


def report(status_fd: int, step: str, number: int) -> None:
    os.write(status_fd, f"{step} {number}".encode())
    os._exit(127)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
