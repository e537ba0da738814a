"""A feature that is no part of benchgate: it copies verdicts to a folder."""
