"""Types and tools that every stage uses: errors, cells, runs, gates, statistics, files, text, processes.

Imports no other room.
"""
