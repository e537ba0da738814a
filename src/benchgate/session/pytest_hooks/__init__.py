"""What the hooks of pytest call: options, items, marks, the session and the values of its fixtures."""
