"""The user's own scripts: what is staged, and what is refused before anything is deployed."""

from pathlib import Path

import pytest

from hyperpod_constructs.lifecycle_options import UserStep
from hyperpod_constructs.user_steps import normalized, problems, user_step_files


def test_windows_line_ends_and_byte_order_mark_do_not_reach_a_node(tmp_path: Path) -> None:
    script = tmp_path / "tune.sh"
    script.write_bytes(b"\xef\xbb\xbf#!/bin/bash\r\nset -e\r\necho ok\r\n")
    step = UserStep(source=str(script))
    assert list(problems(step)) == []
    assert user_step_files([step]) == {"user_steps/0/tune.sh": b"#!/bin/bash\nset -e\necho ok\n"}


def test_folder_ships_whole_and_two_steps_never_share_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "my tools"
    (folder / "nested" / "empty").mkdir(parents=True)
    (folder / "run me.sh").write_text("#!/bin/bash\n")
    (folder / "nested" / "data.bin").write_bytes(b"\0\r\n")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "x.pyc").write_bytes(b"x")
    step = UserStep(source=str(folder), entry="run me.sh")
    assert list(problems(step)) == []
    assert user_step_files([step, step]) == {
        "user_steps/0/nested/data.bin": b"\0\r\n",
        "user_steps/0/run me.sh": b"#!/bin/bash\n",
        "user_steps/1/nested/data.bin": b"\0\r\n",
        "user_steps/1/run me.sh": b"#!/bin/bash\n",
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [(b" \n", "is empty"), (b"\x7fELF\0", "is no text"), (b"echo hi\n", 'first line "echo hi"')],
)
def test_script_that_no_node_could_run_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    script = tmp_path / "tune.sh"
    script.write_bytes(content)
    [(field, said)] = problems(UserStep(source=str(script)))
    assert field == "source"
    assert message in said


def test_provisioning_parameters_deep_in_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "run.sh").write_text("#!/bin/bash\n")
    (tmp_path / "deep" / "er" / "provisioning_parameters.json").write_text("{}")
    [(field, said)] = problems(UserStep(source=str(tmp_path), entry="run.sh"))
    assert (field, "deep/er/provisioning_parameters.json" in said) == ("source", True)


def test_missing_source_entry_and_superfluous_entry_are_told_apart(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/bash\n")
    assert [field for field, _ in problems(UserStep(source=str(tmp_path / "no.sh")))] == ["source"]
    assert [field for field, _ in problems(UserStep(source=str(tmp_path)))] == ["entry"]
    assert [field for field, _ in problems(UserStep(source=str(script), entry="x"))] == ["entry"]
    [(_, said)] = problems(UserStep(source=str(tmp_path), entry="no.sh"))
    assert "it has run.sh" in said


def test_lone_carriage_returns_are_line_ends_too() -> None:
    assert normalized(b"a\rb\r\nc") == b"a\nb\nc"
