"""A machine with a real KVM, under TCG: `machine` runs inside/ in it, `boot` a guest; `root` has its disk."""
