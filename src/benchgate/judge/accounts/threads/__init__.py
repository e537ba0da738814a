"""The books of the guest's threads: who ran, who waited, and which CPU idled meanwhile."""
