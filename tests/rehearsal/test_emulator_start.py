"""A process that does not come up is one sentence, and is gone."""

from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal import emulator, guard, service_process
from hyperpod_constructs.rehearsal.emulator import emulator_environment, start_emulator
from hyperpod_constructs.rehearsal.environment import prepare
from hyperpod_constructs.rehearsal.failures import RehearsalError
from hyperpod_constructs.rehearsal.processes import free_port

pytestmark = pytest.mark.rehearsal


def start(root: Path, folder: Path) -> None:
    start_emulator(prepare(root), folder=folder, port=free_port(), service_url="http://127.0.0.1:9", region="us-east-1")


def children() -> list[int]:
    import os

    return guard.descendants(os.getpid())


def test_an_emulator_that_ends_at_once_is_told_with_its_last_line(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emulator, "_LAUNCH", "raise SystemExit('the emulator is broken')")
    with pytest.raises(RehearsalError) as caught:
        start(root, tmp_path)
    assert str(caught.value) == (
        "the emulated AWS did not come up: it ended with exit code 1; its last line was: the emulator is broken "
        f"(log: {tmp_path / 'emulator.log'})"
    )


def test_an_emulator_that_never_answers_is_ended_after_its_time(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emulator, "_LAUNCH", "import time; time.sleep(300)")
    monkeypatch.setattr(emulator, "START_TIMEOUT_SECONDS", 1.0)
    before = set(children())
    with pytest.raises(RehearsalError, match="it did not answer within 1 s; its last line was: its log is empty"):
        start(root, tmp_path)
    assert set(children()) <= before


def test_a_service_that_refuses_its_arguments_is_told_in_its_own_words(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match=r"exit code 1; its last line was: .*not a capacity: 'nonsense'"):
        service_process.start_service(folder=tmp_path, port=0, region="us-east-1", arguments=["--capacity=nonsense"])


def test_the_emulator_sees_nothing_of_the_users_environment(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    monkeypatch.setenv("HTTPS_PROXY", "http://elsewhere")
    seen = emulator_environment(prepare(root), folder=tmp_path, port=1, service_url="http://s", region="eu-west-1")
    assert not {"AWS_PROFILE", "HTTPS_PROXY"} & set(seen)
    assert seen["HOME"].startswith(str(tmp_path))
    assert seen["BIND_HOST"] == "127.0.0.1"
    assert seen["AWS_REGION"] == "eu-west-1"
