"""A clock's log of a machine with memory, written by hand: two vCPUs, all figures chosen and added by hand.

With seed 7 and a quantum of 5000 the vCPUs begin at 691 and 1883 ns (judge/checks/balance.py).
"""

from __future__ import annotations

STARTS = (691, 1883)

HEADER = """insn-clock 1
level full
mode serial
seed 7
quantum 5000
fine 100
rush 25
vcpus 2
api 3 2 4
machine toy2
mark 03 0 6000
mark 01 0 6100
mark 01 1 6100
mark 02 1 15100
mark 02 0 15100
mark 04 0 16000
"""

BOOKS = """vcpu 0 time 16691 executed 9000 paused 100 skipped 900 halted 2000 stalled 4000
vcpu 1 time 21883 executed 7000 paused 0 skipped 0 halted 5000 stalled 8000
spent boot 0 executed 3000 paused 0 skipped 900 halted 0 stalled 2100
spent boot 1 executed 1000 paused 0 skipped 0 halted 5000 stalled 4000
spent window 0 executed 6000 paused 100 skipped 0 halted 2000 stalled 1900
spent window 1 executed 6000 paused 0 skipped 0 halted 0 stalled 4000
memory boot 0 reads 100 writes 50 fetches 30 atomics 0 l1 150 l2 9 l3 0 local 21 remote 0 \
transfer_cluster 0 transfer_across 0 transfer_socket 0 \
upgrade 0 busy 0 queue 0 atomic 0 walk 0 interrupt 0 invalidations 0 written_back 0 outside 0
memory boot 1 reads 40 writes 10 fetches 10 atomics 0 l1 20 l2 0 l3 0 local 40 remote 0 \
transfer_cluster 0 transfer_across 0 transfer_socket 0 \
upgrade 0 busy 0 queue 0 atomic 0 walk 0 interrupt 0 invalidations 0 written_back 0 outside 0
memory window 0 reads 500 writes 300 fetches 100 atomics 10 l1 880 l2 8 l3 0 local 2 remote 0 \
transfer_cluster 20 transfer_across 0 transfer_socket 0 \
upgrade 3 busy 0 queue 0 atomic 0 walk 0 interrupt 1 invalidations 20 written_back 0 outside 0
memory window 1 reads 400 writes 300 fetches 100 atomics 0 l1 750 l2 6 l3 0 local 0 remote 4 \
transfer_cluster 40 transfer_across 0 transfer_socket 0 \
upgrade 1 busy 0 queue 0 atomic 0 walk 0 interrupt 0 invalidations 38 written_back 0 outside 0
stall boot 0 l1 0 l2 0 l3 0 local 2100 remote 0 transfer_cluster 0 transfer_across 0 transfer_socket 0 \
upgrade 0 busy 0 queue 0 atomic 0 walk 0 interrupt 0
stall boot 1 l1 0 l2 0 l3 0 local 4000 remote 0 transfer_cluster 0 transfer_across 0 transfer_socket 0 \
upgrade 0 busy 0 queue 0 atomic 0 walk 0 interrupt 0
stall window 0 l1 0 l2 80 l3 0 local 200 remote 0 transfer_cluster 1400 transfer_across 0 transfer_socket 0 \
upgrade 0 busy 0 queue 0 atomic 120 walk 0 interrupt 100
stall window 1 l1 0 l2 60 l3 0 local 0 remote 440 transfer_cluster 3000 transfer_across 0 transfer_socket 0 \
upgrade 0 busy 0 queue 500 atomic 0 walk 0 interrupt 0
order boot 0 0 0 0 0
order window 3 120 1f40 170 1
"""

LOG = f"{HEADER}{BOOKS}check notes 3\nhost grants 17\nend 16691\nclosed\n"

SLOW_CPU = LOG.replace("machine toy2\n", "machine toy2\ncapacity 0 1024\ncapacity 1 512\n")
for more, before in (
    (28883, "vcpu 1 time 21883"),
    (15000, "halted 5000 stalled 8000"),
    (5001, "halted 5000 stalled 4000"),
    (9999, "spent window 1 executed 6000 paused 0 skipped 0 halted 0 stalled 4000"),
):
    assert SLOW_CPU.count(before) == 1
    SLOW_CPU = SLOW_CPU.replace(before, f"{before.rpartition(' ')[0]} {more}")
"""vCPU 1 takes 2 ns for each of its 7000 instructions, and waits for 8000 ns as before. The window begins
within an instruction."""

_NONE = (
    "transfer_cluster 0 transfer_across 0 transfer_socket 0 "
    "upgrade 0 busy 0 queue 0 atomic 0 walk 0 interrupt 0"
)
ONE_CPU = f"""{HEADER[: HEADER.index("vcpus 2")]}vcpus 1
api 3 2 4
machine toy2
vcpu 0 time 13491 executed 12000 paused 0 skipped 0 halted 0 stalled 800
spent boot 0 executed 0 paused 0 skipped 0 halted 0 stalled 0
spent window 0 executed 12000 paused 0 skipped 0 halted 0 stalled 800
memory boot 0 reads 0 writes 0 fetches 0 atomics 0 l1 0 l2 0 l3 0 local 0 remote 0 {_NONE} \
invalidations 0 written_back 0 outside 0
memory window 0 reads 1000 writes 600 fetches 200 atomics 10 l1 1757 l2 50 l3 0 local 3 remote 0 {_NONE} \
invalidations 0 written_back 0 outside 0
stall boot 0 l1 0 l2 0 l3 0 local 0 remote 0 {_NONE}
stall window 0 l1 0 l2 500 l3 0 local 300 remote 0 {_NONE}
order boot 0 0 0 0 0
order window 0 0 0 0 0
end 13491
closed
"""
