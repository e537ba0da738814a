from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchgate.base.errors import UsageError
from benchgate.features.mix import study_orders, studyfile
from benchgate.features.mix.measurement import StudyRun
from benchgate.features.mix.session.folder import StudyFolder, locked
from benchgate.features.mix.tests import mixsim


def test_another_study_has_another_folder(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path)
    study = mixsim.study()
    folder.begin(study, [])
    elsewhere = studyfile.parse("# A comment.\n" + mixsim.STUDY, Path("elsewhere.yaml"))
    assert elsewhere.inputs[0].where != study.inputs[0].where
    folder.begin(elsewhere, [*study_orders.alone(study)])
    assert len(folder.orders()) == 12
    with pytest.raises(UsageError, match=r"is of another study, .*; next: move it away"):
        folder.begin(replace(study, least=4), [])


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no plan\.json; next: benchgate mix vectors"):
        StudyFolder(tmp_path).study()


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(UsageError, match="measures in"), locked(tmp_path):
        pass


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"measured": null, "reason": 1, "fraction": null, "folder": ""}']
)
def test_a_result_that_was_changed_is_refused_by_name(tmp_path: Path, text: str) -> None:
    folder = StudyFolder(tmp_path)
    attempt = folder.new_attempt("alone-a.b-s1")
    folder.finish("alone-a.b-s1", StudyRun(None, "it hung", None, "runs/alone-a.b-s1/1"))
    assert attempt.name == "1"
    assert folder.runs()["alone-a.b-s1"].reason == "it hung"
    (tmp_path / "runs/alone-a.b-s1/result.json").write_text(text)
    with pytest.raises(UsageError, match=r"result\.json cannot be read: .*; remove the file"):
        folder.runs()


def test_a_plan_that_was_changed_is_refused(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path)
    folder.begin(mixsim.study(), [])
    path = tmp_path / "plan.json"
    path.write_text(path.read_text().replace('"version": 4', '"version": 2'))
    with pytest.raises(UsageError, match="another version of benchgate"):
        folder.study()


def test_a_key_never_leads_out_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no name of a run"):
        StudyFolder(tmp_path).new_attempt("../elsewhere")
