"""What this machine is, and what it did meanwhile. Each module says what it takes, gives and how it fails."""
