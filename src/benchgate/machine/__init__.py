"""One machine's life: its command line, its process, its console, its CPUs."""
