"""This repository's pytest plugins. Nothing of benchgate is imported, so `-p no:benchgate` works here."""

pytest_plugins = ["pytester"]
