"""Reports. One view of a session; tables for people, files for programs."""
