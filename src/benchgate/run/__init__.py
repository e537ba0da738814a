"""One attempt at a run, written to disk: command line, process, console, QMP, pinning and the run's
record."""
