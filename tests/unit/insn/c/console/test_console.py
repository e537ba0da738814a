"""console.c: what a line says was seen too late is as of its last byte. The clock is replaced by MACHINE."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchgate.build.toolchain import compiler
from benchgate.insn.plugin import c_file, c_folders
from tests.machines import PATIENCE_S

MACHINE = r"""
#include "console.h"
#include "clock.h"
#include "counts.h"
#include "journal.h"
#include "marks.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
static uint64_t now;
size_t journal_line(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    return (size_t)puts("");
}
uint64_t clock_here(void) { return now; }
struct clock_delays clock_delays(uint64_t time) { return (struct clock_delays){1, 2, time / 10}; }
struct clock_work clock_work(unsigned vcpu) { return (struct clock_work){0}; }
size_t counts_line(size_t room) { return 0; }
uint64_t polls_of(unsigned vcpu) { return 0; }
void polls_silence(void) {}
void marks_line(uint64_t bytes, uint64_t time) {}
static void print(const char *text, uint64_t time) {
    now = time;
    console_wrote(&(struct iovec){(void *)text, strlen(text)}, strlen(text));
}
int main(void) {
    console_setup(1);
    print("hello\n", 100);
    print("> ", 200);
    now = 300; // the guest waits, and the host ends it
    console_report();
    return 0;
}
"""


def said(folder: Path, text: str) -> str:
    (folder / "console.c").write_text(text)
    (folder / "main.c").write_text(MACHINE)
    words = [*compiler().argv, "-std=gnu11", *(f"-I{c_folder}" for c_folder in c_folders())]
    subprocess.run([*words, "main.c", "console.c", "-o", "made"], cwd=folder, check=True, timeout=PATIENCE_S)
    return subprocess.run([folder / "made"], stdout=subprocess.PIPE, text=True, check=True).stdout


def test_the_last_line_does_not_depend_on_when_the_host_ends_the_guest(tmp_path: Path) -> None:
    assert said(tmp_path, c_file("console.c").read_text()) == "line 6 100 1 2 10\nline 8 300 1 2 20\n"


def test_delays_at_the_end_would_be_others(tmp_path: Path) -> None:
    kept = "        late = clock_delays(last_byte);\n"
    wrong = c_file("console.c").read_text().replace(kept, "")
    wrong = wrong.replace(
        "    uint64_t time = clock_here();\n",
        "    uint64_t time = clock_here();\n    late = clock_delays(time);\n",
    )
    with pytest.raises(AssertionError):
        assert said(tmp_path, wrong).endswith("line 8 300 1 2 20\n")
