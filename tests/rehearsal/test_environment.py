"""The set-up: complete or redone, quick the second time, and one sentence when it cannot be done."""

import shutil
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import pytest

from hyperpod_constructs.rehearsal import environment
from hyperpod_constructs.rehearsal.builder import Part, explain_failure
from hyperpod_constructs.rehearsal.environment import DATA, default_root, prepare
from hyperpod_constructs.rehearsal.failures import RehearsalError

pytestmark = pytest.mark.rehearsal


def test_the_second_time_costs_milliseconds(root: Path) -> None:
    prepare(root)
    started = time.monotonic()
    prepare(root)
    assert time.monotonic() - started < 0.2


def test_what_was_prepared_runs_in_the_pinned_versions(root: Path) -> None:
    ready = prepare(root)
    assert output(ready.node, "--version") == "v24.19.0"
    assert output(ready.node, ready.cdk_cli, "--version").startswith("2.1148.1 ")
    version = "import importlib.metadata as m; print(m.version('ministack'), m.version('botocore'))"
    assert output(ready.emulator_python, "-I", "-c", version) == "1.5.33 1.43.106"
    assert (ready.lambda_sdk / "boto3-1.44.8.dist-info").is_dir()
    assert not ready.node.is_symlink() or ready.node.resolve().name == "node"


def output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_a_half_built_part_of_a_killed_set_up_is_built_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rubble = tmp_path / "building" / "part"
    rubble.mkdir(parents=True)
    (rubble / "half").write_text("")

    def only_one_part(_root: Path, _node: Path | None) -> list[Part]:
        make = [sys.executable, "-c", "open('whole', 'w').write('')"]
        return [Part("part", "the part", ("lock",), lambda _folder: iter([make]))]

    part = only_one_part(tmp_path, None)[0]
    monkeypatch.setattr(environment, "_parts", only_one_part)
    monkeypatch.setattr(environment, "Environment", dict)
    with pytest.raises(KeyError):  # the places of the real parts are asked for after the building
        prepare(tmp_path)
    assert [file.name for file in part.place(tmp_path).iterdir()] == ["whole"]
    assert not (tmp_path / "building").exists()


def test_a_new_lock_file_means_a_new_folder(tmp_path: Path) -> None:
    def part(lock: str) -> Path:
        return Part("part", "the part", (lock,), lambda _folder: iter([])).place(tmp_path)

    assert part("one") == part("one")
    assert part("one") != part("other")


def test_a_root_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(RehearsalError, match=r"cannot be written to \(Not a directory\): give another with --dir"):
        prepare(file / "root")


def test_a_full_disk_is_told_before_anything_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage(10**9, 10**9, 5 * 2**20))
    with pytest.raises(RehearsalError, match=r"has 5 MiB free, the rehearsal's tools need 700 MiB"):
        prepare(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["set-up.lock"]


def test_npm_that_cannot_reach_its_registry_is_one_sentence_with_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "empty-cache"))
    only(monkeypatch, "tools")
    with pytest.raises(RehearsalError) as caught:
        prepare(tmp_path)
    assert "installing the CDK CLI failed: the package registry could not be reached" in str(caught.value)
    assert str(tmp_path / "logs" / "set-up-tools.log") in str(caught.value)
    assert not list(tmp_path.glob("tools-*"))


def test_pip_that_finds_no_package_is_one_sentence_with_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    only(monkeypatch, "lambda-sdk")
    with pytest.raises(
        RehearsalError, match=r"SDK failed: the package registry does not have a pinned version.*set-up-lambda-sdk"
    ):
        prepare(tmp_path)


def only(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    parts = environment._parts
    monkeypatch.setattr(
        environment, "_parts", lambda root, node: [part for part in parts(root, node) if part.name == name]
    )


@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("OSError: [Errno 28] No space left on device", "there is no space left on the disk"),
        ("npm error code ENOSPC", "there is no space left on the disk"),
        ("/usr/bin/python3: No module named venv", "this Python lacks the venv module"),
        ("npm error network getaddrinfo EAI_AGAIN", "the package registry could not be reached"),
        ("ERROR: No matching distribution found for ministack==1.5.33", "does not have a pinned version"),
        ("first\n\nsomething odd\n", "failed with exit code 3: something odd"),
        ("", "failed with exit code 3: it printed nothing"),
    ],
)
def test_a_failure_is_explained_by_what_the_log_shows(log: str, cause: str) -> None:
    text = explain_failure("the part", 3, log, Path("/somewhere/log"))
    assert cause in text
    assert text.endswith("(log: /somewhere/log)")
    assert "\n" not in text


def test_the_folder_can_be_given_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_root({"HYPERPOD_REHEARSAL_DIR": "/elsewhere"}) == Path("/elsewhere")
    assert default_root({}) == tmp_path / ".rehearsal"


def test_no_lock_file_says_where_packages_come_from() -> None:
    for file in DATA.rglob("*"):
        if file.is_file():
            assert "://" not in file.read_text(), file
            assert '"resolved"' not in file.read_text(), file


def test_every_python_package_is_pinned_exactly() -> None:
    for file in DATA.glob("*-requirements.txt"):
        for line in file.read_text().splitlines():
            assert line.startswith("#") or line.count("==") == 1, (file.name, line)
