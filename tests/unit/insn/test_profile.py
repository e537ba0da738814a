"""Symbol tables and the instruction profile, compared with nm and with sums by hand."""

from __future__ import annotations

import subprocess
from io import BytesIO
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from benchgate.base.errors import VerifyError
from benchgate.base.system.arch import RISCV64, X86_64
from benchgate.build.toolchain import compiler
from benchgate.insn.profile import folded, folded_stacks, read_folded, read_profile, read_stacks, top_table
from benchgate.insn.symbols import NO_SYMBOLS, Symbols, names_at, read_symbols, symbol_file
from tests.machines import PATIENCE_S

FILE = """insn-profile 1
window 1000
vcpu 0 executed 700 paused 50 skipped 0 halted 250 stalled 0
vcpu 1 executed 100 paused 0 skipped 0 halted 900 stalled 0
block 401000 5 0 100
block 401008 2 0 50
block ffffffff81000010 10 0 10
block ffffffff81000100 10 1 10
end 4
"""
KALLSYMS = """0000000000000000 A absent
ffffffff81000000 T startup
ffffffff81000000 t alias_behind
ffffffff81000100 t schedule
ffffffff81000200 D not_text
ffffffff81000300 T last
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "System.map"
    path.write_text(KALLSYMS, encoding="ascii")
    return path


@pytest.fixture
def profile_file(tmp_path: Path) -> Path:
    path = tmp_path / "profile"
    path.write_text(FILE, encoding="ascii")
    return path


def test_a_system_map_gives_its_text_symbols_sorted_by_address(kernel: Path) -> None:
    symbols = read_symbols(kernel)
    assert symbols.names == ("alias_behind", "schedule", "last")
    assert symbols.name_of(0xFFFFFFFF810001FF) == "schedule"
    assert symbols.name_of(0xFFFFFFFF80000000) is None
    assert symbols.name_of(0xFFFFFFFF90000000) is None


@pytest.mark.parametrize(
    "text", ["", "ffffffffffffffff B The real System.map is in another package\n", "\x00MZ"]
)
def test_a_file_without_symbols_has_none(tmp_path: Path, text: str) -> None:
    """A kernel's Image has no symbols, nor has the stub that Debian ships."""
    path = tmp_path / "Image"
    path.write_text(text, encoding="ascii")
    assert read_symbols(path) == NO_SYMBOLS


def test_what_a_page_of_memory_holds_is_named_where_linux_maps_itself(kernel: Path) -> None:
    page = 0x0100_0000
    names = names_at(kernel, X86_64, page, page + 0x1000)
    assert names == ("not_text", "alias_behind", "schedule", "last")
    assert names_at(kernel, X86_64, page + 0x300, page + 0x301) == ("not_text", "last")
    assert names_at(kernel, X86_64, 0x4000_0000, 0x4000_1000) == ()
    assert names_at(kernel, RISCV64, page, page + 0x1000) == ()


def test_nm_can_read_the_symbol_file_for_debuggers(tmp_path: Path, kernel: Path) -> None:
    path = tmp_path / "symbols.elf"
    path.write_bytes(symbol_file(read_symbols(kernel), RISCV64.elf_machine))
    assert ELFFile(BytesIO(path.read_bytes()))["e_machine"] == "EM_RISCV"
    output = subprocess.run(
        ["nm", path], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    ).stdout
    assert [line.split() for line in output.splitlines()] == [
        ["ffffffff81000000", "T", "alias_behind"],
        ["ffffffff81000300", "T", "last"],
        ["ffffffff81000100", "T", "schedule"],
    ]


def test_instructions_are_counted_by_vcpu_space_and_symbol(profile_file: Path, kernel: Path) -> None:
    seen = read_profile(profile_file, read_symbols(kernel))
    assert (seen.vcpus[0].user, seen.vcpus[0].kernel, seen.vcpus[0].halted) == (600, 100, 250)
    assert (seen.vcpus[1].user, seen.vcpus[1].kernel) == (0, 100)
    assert seen.by_symbol() == {
        ("user", "[user]"): 600,
        ("kernel", "alias_behind"): 100,
        ("kernel", "schedule"): 100,
    }
    assert "vcpu1;kernel;schedule 100\n" in folded(seen)
    assert "vcpu0;halted 250\n" in folded(seen)
    table = top_table(seen)
    assert "75.00%  user [user]" in table
    assert "60.00%" in table


def test_waiting_for_memory_has_a_column_on_a_machine_with_memory(profile_file: Path, kernel: Path) -> None:
    symbols = read_symbols(kernel)
    assert "stalled" not in top_table(read_profile(profile_file, symbols))
    profile_file.write_text(FILE.replace("halted 900 stalled 0", "halted 600 stalled 300"), encoding="ascii")
    seen = read_profile(profile_file, symbols)
    assert seen.vcpus[1].stalled == 300
    head, first, second = top_table(seen).splitlines()[1:4]
    assert (head.split()[-1], first.split()[-1], second.split()[-1]) == ("stalled", "0.00%", "30.00%")
    assert "vcpu1;stalled 300\n" in folded(seen)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("insn-profile 1", "insn-profile 9", "known version"),
        ("end 4\n", "", "incomplete"),
        ("end 4\n", "end 4\nblock 1 1 0 1\n", "text after the end"),
        ("block 401000 5 0", "block 401000 5 2", "does not exist"),
        ("block 401000 5", "block 0x401000 5", "not a line of an instruction profile"),
        ("vcpu 1 executed", "vcpu 0 executed", "not a line of an instruction profile"),
    ],
)
def test_a_damaged_profile_is_refused(profile_file: Path, kernel: Path, old: str, new: str, why: str) -> None:
    profile_file.write_text(FILE.replace(old, new), encoding="ascii")
    with pytest.raises(VerifyError, match=why):
        read_profile(profile_file, read_symbols(kernel))


def linked(folder: Path, source: str, *flags: str) -> Path:
    (folder / "two.c").write_text(source, encoding="ascii")
    program = folder / "two"
    argv = [*compiler().argv, "-no-pie", *flags, str(folder / "two.c"), "-o", str(program)]
    subprocess.run(argv, check=True, timeout=PATIENCE_S)
    return program


def address_of(program: Path, name: str) -> int:
    """The address that nm prints."""
    argv = ["nm", str(program)]
    output = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout
    return int(next(line.split()[0] for line in output.splitlines() if line.endswith(f" {name}")), 16)


TWO = "int data = 1; int one(void){return data;} int main(void){return one();}"
FREESTANDING = ("-ffreestanding", "-nostdlib", "-static", "-Wl,-e,main")


@pytest.mark.parametrize("flags", [(), ("-m32", *FREESTANDING)], ids=["64 bits", "32 bits"])
def test_an_elf_file_gives_its_functions(tmp_path: Path, flags: tuple[str, ...]) -> None:
    program = linked(tmp_path, TWO, *flags)
    symbols = read_symbols(program)
    assert {"one", "main"} <= set(symbols.names)
    assert "data" not in symbols.names
    assert symbols.name_of(address_of(program, "one") + 1) == "one"
    assert symbols.name_of(address_of(program, "main") + 1) == "main"


def test_labels_within_a_function_do_not_divide_it(tmp_path: Path) -> None:
    """AArch64 and RISC-V mark code and data by labels such as `$x`."""
    label = r"\"$x\": nop"  # in quotation marks within C's
    code = f'__asm__(".globl main; .type main,@function; main: nop; {label}; nop; .size main,.-main");'
    program = linked(tmp_path, code, *FREESTANDING)
    assert read_symbols(program).name_of(address_of(program, "main") + 2) == "main"
    assert address_of(program, "$x") == address_of(program, "main") + 1


@pytest.mark.parametrize("length", [5, 40, 63, 70, 200])
def test_a_truncated_elf_file_is_refused(tmp_path: Path, length: int) -> None:
    program = tmp_path / "cut"
    program.write_bytes(Path("/proc/self/exe").read_bytes()[:length])
    with pytest.raises(VerifyError, match="damaged ELF"):
        read_symbols(program)


KERNEL = Symbols((0xFFFFFFFF81000000,), (0xFFFFFFFF81001000,), ("schedule",))
USER = Symbols((0x401000, 0x402000), (0x402000, 0x403000), ("main", "operator;() x"))
STACKS_FILE = """insn-stacks 1
node 0 0 0 5
node 3 0 401000 10
node 4 3 402010 20
node 7 4 ffffffff81000010 40
node 9 4 ffffffff99000000 80
node 12 3 402020 1
end 6
"""
SEEN = {
    ("[entry]",): 5,
    ("main",): 10,
    ("main", "operator_()_x"): 21,
    ("main", "operator_()_x", "schedule_[k]"): 40,
    ("main", "operator_()_x", "[kernel]_[k]"): 80,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "stacks"


def test_stacks_have_names_and_the_kernel_is_marked(path: Path) -> None:
    path.write_text(STACKS_FILE, encoding="ascii")
    assert read_stacks(path, KERNEL, USER) == SEEN


def test_folded_stacks_are_lines_of_frames_and_a_count_and_are_read_back(path: Path) -> None:
    assert folded_stacks({("main", "work"): 7, ("main",): 3}) == "main 3\nmain;work 7\n"
    path.write_text(folded_stacks(SEEN), encoding="ascii")
    assert read_folded(path) == SEEN


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("insn-stacks 1", "insn-stacks 2", "known version"),
        ("end 6\n", "", "incomplete"),
        ("end 6\n", "end 6\nnode 20 0 1 1\n", "not a line"),
        ("node 3 0 401000 10", "node 3 2 401000 10", "not a line"),
        ("node 3 0 401000 10", "node 3 0 0x401000 10", "not a line"),
        ("node 3 0 401000 10", "node 3 0 401000", "not a line"),
    ],
)
def test_a_damaged_file_is_refused(path: Path, old: str, new: str, why: str) -> None:
    assert old in STACKS_FILE
    path.write_text(STACKS_FILE.replace(old, new), encoding="ascii")
    with pytest.raises(VerifyError, match=why):
        read_stacks(path, KERNEL, USER)


def test_a_path_without_end_is_refused(path: Path) -> None:
    nodes = "".join(f"node {n + 1} {n} 1 1\n" for n in range(1_000))
    path.write_text(f"insn-stacks 1\n{nodes}end 1000\n", encoding="ascii")
    with pytest.raises(VerifyError, match="not a line"):
        read_stacks(path, KERNEL)


@pytest.mark.parametrize(
    "bad", ["main", "main 0", "main -1", "main 1 2", ";main 1", "a 1\na 1", "a b 1", "a 1e3"]
)
def test_a_text_that_is_no_folded_stack_is_refused(path: Path, bad: str) -> None:
    path.write_text(f"{bad}\n", encoding="ascii")
    with pytest.raises(VerifyError, match="not a folded stack"):
        read_folded(path)
