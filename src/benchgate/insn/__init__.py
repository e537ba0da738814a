"""The instruction clock: guest time is instruction time, on any host (docs/insn.md)."""
