"""The instruction clock: guest time is instruction time, on any host (`benchgate docs insn`)."""
