"""For developers: schedulers in BPF, for the kernels that are built here."""
