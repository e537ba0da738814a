"""The C of mapreduce, run on this host: right answers, and lies that are refused."""

from __future__ import annotations

from tests.nativekit import Lie, refusals, right_answers

test_every_worker_gives_the_correct_answer = right_answers("mapreduce")

LIES = [
    # a word that is skipped, one in the wrong bucket, a table that is not merged
    Lie("mapreduce", "i = job->task[worker][TASK_LO]", "i = job->task[worker][TASK_LO] + worker", "worker 1"),
    Lie("mapreduce", "count[key >> (64 - BUCKET_BITS)]++", "count[i == 5]++", "the result reported fold="),
    Lie("mapreduce", "merge(mine, &", "if (data->grain == 0)\n                merge(mine, &", "the result"),
]

test_a_lie_is_found = refusals(LIES)
