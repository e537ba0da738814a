"""This host's memory system: what it tells, what it shows when it is measured, and the machine file of both.
`c/` is the program that measures."""
