"""Files of scenarios that have each key, for tests/unit/tools/test_input_schemas.py."""

from benchgate.features.scenarios import scenariofile
from benchgate.features.scenarios.scenario_keys import SCENARIO

SCENARIOS = (
    """\
name: mine
finds: a fault
about: a scenario
cpus: 4
length: 100ms
controls: {few: {weight: 50, quota: 5ms, period: 20ms, cpus: "0-1"}}
groups:
  hogs: {threads: 3, work: spin, run: 40us, nice: 5, cpus: "0", from: begin, until: last, into: few}
  beats: {work: burst, every: 2ms, policy: fifo, priority: 3}
  calls: {work: calls, count: 5}
begin: begin
timeline:
  - phase: last
    at: 50ms
    changes:
      - {group: hogs, nice: 3, policy: rr, priority: 3, cpus: "1", into: few}
      - {control: few, weight: 10, quota: 5ms, period: 20ms, cpus: "0-2"}
gates:
  part: {of: share, group: hogs, among: [hogs, beats], phase: begin, within: 2ms, at_least: 30%, at_most: 70%}
  even: {of: fairness, weights: {hogs: 3}, phase: last, within: 2ms, at_least: 0.1, at_most: 1}
  used: {of: cpus, group: hogs, phase: last, within: 2ms, at_least: 0.1, at_most: 1}
  gone: {of: moves, group: hogs, phase: last, within: 2ms, at_least: 0, at_most: 4}
""",
    """\
name: mine
finds: a fault
cpus: 4
length: 100ms
groups: {hogs: {work: spin}}
gates:
  wait: {of: latency, group: hogs, percent: 99, phase: start, within: 2ms, at_least: 0ns, at_most: 4ms}
  idle: {of: wasted, phase: start, within: 2ms, at_least: 0, at_most: 1%}
""",
    """\
name: mine
finds: a fault
about: a CPU goes and comes back
cpus: 2
length: 300ms
groups: {hogs: {work: spin, threads: 2, run: 40us}}
begin: whole
timeline:
  - {phase: gone, at: 100ms, changes: [{cpu: 1, state: offline}]}
  - {phase: back, at: 200ms, changes: [{cpu: 1, state: online}]}
gates:
  used: {of: cpus, group: hogs, phase: gone, within: 20ms, at_least: 0.5, at_most: 1}
""",
)
KINDS = ((SCENARIO, SCENARIOS, lambda path: scenariofile.parse(path.read_text(), path)),)
