"""For developers: a fleet on this machine to look at, and a simulated one to measure."""
