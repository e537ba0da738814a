"""A system under test as types: what boots, on which board, its disks, ports, prompt and results."""
