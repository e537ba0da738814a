"""What the core is told of scenarios.

Data only (hooks.py): does not fail.
"""

from benchgate.hooks import Feature, RunCheck, WorkloadKind

HERE = "benchgate.features.scenarios"
FEATURE = Feature(
    workloads=(WorkloadKind("scenario", files="fixtures/scenarios/*.yaml", place=f"{HERE}.scenariofile"),),
    checks=(RunCheck(f"{HERE}.check:with_scenario", workload="scenario"),),
    exports={"scenario_tests": f"{HERE}.scenario_tests:scenario_tests"},
    files=(f"{HERE}.scenario_keys:SCENARIO",),
)
