"""One file per format. Each takes a SessionView or a part of it and gives a string; evidence.py writes it."""
