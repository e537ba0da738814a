"""The session folder: written as things happen, sealed, read back, checked."""
