"""A fake QEMU with a probe guest in it; takes QEMU's arguments.

$FAKE_ACCEL or $FAKE_ACCEL_MODEL, for instance FAKE_kvm_host, names its fault; without one it works.
$FAKE_MIPS_ACCEL is its speed. It computes answers with F. Brown's jump-ahead.
"""

from __future__ import annotations

import os
import signal
import sys
import time

MODULUS = 1 << 64


def jump(start: int, steps: int) -> int:
    factor, addend, product, total = 6364136223846793005, 1442695040888963407, 1, 0
    while steps:
        if steps & 1:
            product, total = product * factor % MODULUS, (total * factor + addend) % MODULUS
        factor, addend = factor * factor % MODULUS, addend * (factor + 1) % MODULUS
        steps >>= 1
    return (product * start + total) % MODULUS


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def serve(fault: str, mips: float) -> int:
    say("probe ready v=1\r\n")
    for line in sys.stdin:
        steps = int(line)
        if steps == 0:
            return 35 if fault == "bad end" else 33
        time.sleep(steps * 10 / (mips * 1e6))
        if fault == "hangs later":
            time.sleep(6000)
        if fault == "resets later":
            return 0  # -no-reboot
        if fault == "dies later":
            os.kill(os.getpid(), signal.SIGKILL)
        state = jump(0, steps) ^ jump(1, steps) ^ jump(2, steps) ^ jump(3, steps)
        if fault == "wrong answer":
            state ^= 1
        say(f"probe steps={steps + (fault == 'other order')} state={state:x}\n")
    time.sleep(6000)  # QEMU does not exit at the end of its input
    return 1


def main(argv: list[str]) -> int:
    if argv[-2:] == ["-accel", "help"]:
        print("Accelerators supported in QEMU binary:\n" + os.environ.get("FAKE_ACCELS", "tcg\nkvm"))
        return 0
    accel, model = (argv[argv.index(option) + 1].split(",")[0] for option in ("-accel", "-cpu"))
    fault = os.environ.get(f"FAKE_{accel}_{model}", os.environ.get(f"FAKE_{accel}", ""))
    if fault == "aborts":
        print(f"qemu: error: failed to set MSR 0x48b to 0x0\nqemu: {model}: it is over", file=sys.stderr)
        os.abort()
    if fault == "hangs":
        time.sleep(6000)
    if fault == "refuses":
        print("qemu: no \x1b[31msuch\x1b[0m machine", file=sys.stderr)
        return 1
    if fault == "babbles":
        while True:
            say("x" * 1000)
    if fault == "other guest":
        say("Linux version 6.12\n")
    return serve(fault, float(os.environ.get(f"FAKE_MIPS_{accel}", "1000")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
