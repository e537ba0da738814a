"""From the files of a run to verdicts: parse, verify, measure, decide. Repeatable at any time."""
