"""A guest's console: its text without escapes, and the conversation that is held on it."""
