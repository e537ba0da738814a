"""The workbench, the measuring loop, and its users: pytest's session, rejudge, replay, publish, progress,
doctor."""
