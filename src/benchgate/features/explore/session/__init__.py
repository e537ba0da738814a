"""An exploration: makes its runs, keeps what was found, and makes finds small."""
