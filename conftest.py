"""This repository's pytest defaults: no logic, no keys of benchgate, so that -p no:benchgate works here."""

pytest_plugins = ["pytester"]
