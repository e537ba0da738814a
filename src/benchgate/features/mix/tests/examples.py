"""Files of a study that have each key, for tests/unit/tools/test_input_schemas.py."""

from benchgate.features.mix import studyfile
from benchgate.features.mix.study_keys import STUDY

STUDIES = (
    """\
name: mine
about: a study
system: linux
cpus: 4
machine: desktop8
clock: insn
resources: [cpu, disk]
calibrate: {disk: other.large}
applications:
  primes:
    workload: primes
    score: rate
    inputs:
      small: {workers: 1, hi: 40000, units: 40000}
  other:
    workload: schbench
    score: rps
    inputs:
      large: {workers: 2}
least: 3
limit_ms: 10000
seeds: 3
sensitivity: {levels: [50], inputs: all}
least_use: 0.01
capacity: {cpu: 1.02}
sweep: {input: primes.small, cpus: [1, 2], beside: other.large, beside_cpus: 1}
scaling: primes
overcommit: [1, 2]
near: 4
""",
    """\
name: mine
cpus: 2
clock: wall
applications: {primes: {inputs: {small: {hi: 40000}, large: {hi: 50000}}}}
antagonists: {cache: {whole: 10, takes: {primes.small: 1, primes.large: 9}}}
""",
)
KINDS = ((STUDY, STUDIES, studyfile.load),)
