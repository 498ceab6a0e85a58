"""The screens in docs/cli.md are what the commands show; HYPERPOD_GOLDENS=write draws them anew."""

import io
import os
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from hyperpod_constructs.cli.application import COMMANDS, load
from hyperpod_constructs.cli.checking.outcome import verdict
from hyperpod_constructs.cli.live.cluster import Event
from hyperpod_constructs.cli.live.drawing import Screen
from hyperpod_constructs.cli.live.folding import Folded
from hyperpod_constructs.cli.live.picture import GroupPicture, Picture
from hyperpod_constructs.cli.screen import STYLES, check_line, verdict_line
from tests.cli.support import Command, account_of, classic_pair, healthy_answers, use_account, write_pair

DOCS = Path(__file__).parents[2] / "docs"
# Without the fonts that Rich would have the reader's browser fetch from elsewhere.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def check_screen(name: str, title: str, *lines: object, width: int = 110, height: int = 24) -> None:
    console = Console(
        record=True, width=width, height=height, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    for line in lines:
        console.print(line)
    svg = console.export_svg(title=title, code_format=FORMAT, unique_id=name) + "\n"
    path = DOCS / "screens" / f"{name}.svg"
    if os.environ.get("HYPERPOD_GOLDENS") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(svg)
    assert path.read_text() == svg, f"{path} is not what the command shows; if that is meant: HYPERPOD_GOLDENS=write"


def event(minute: int, level: str, group: str, description: str) -> Event:
    return Event(
        event_id=str(minute),
        time=datetime(2026, 11, 30, 12, minute, tzinfo=UTC),
        level=level,
        resource="Instance",
        group=group,
        instance_id="",
        description=description,
    )


def group(
    name: str, kind: str, status: str, current: int, target: int, minimum: int = 0, **states: int
) -> GroupPicture:
    return GroupPicture(
        name=name, node_type=kind, status=status, current=current, target=target, minimum=minimum, states=states
    )


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times of the screens are the reader's own otherwise."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def test_the_screen_of_watch(in_utc: None) -> None:
    shown = Picture(
        name="my-training-cluster",
        status="Creating",
        at=0.0,
        elapsed_seconds=842,
        remaining_seconds=610,
        groups=(
            group("controller-group", "Controller", "InService", 1, 1, 1, Running=1),
            group("login-group", "Login", "InService", 1, 1, 1, Running=1),
            group("worker-gpu-a", "Compute", "Creating", 7, 16, 12, Running=7, Pending=6, Failure=1),
            group("worker-trn", "Compute", "InService", 2, 64, 0, Running=2, Pending=62),
        ),
        events=(
            Folded(event=event(14, "Warn", "worker-trn", "Insufficient capacity for ml.trn2.48xlarge"), count=31),
            Folded(event=event(13, "Error", "worker-gpu-a", "Lifecycle script failed on the instance"), count=1),
            Folded(event=event(12, "Info", "worker-gpu-a", "Instance is running"), count=7),
            Folded(event=event(9, "Info", "", "Slurm cluster is ready for jobs"), count=1),
        ),
    )
    check_screen("watch", "hyperpod-slurm watch my-training-cluster", Screen(shown))


def test_the_screen_of_validate(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from hyperpod_constructs.cli.checking.account import account_checks
    from hyperpod_constructs.cli.checking.subject import subject_of
    from hyperpod_constructs.cli.reading import load_pair

    answers = healthy_answers()
    answers["ec2"]["DescribeSecurityGroups"]["SecurityGroups"][0]["IpPermissionsEgress"] = []
    answers["iam"] = {}
    account = use_account(monkeypatch, account_of(answers))
    pair = classic_pair()
    pair[0]["InstanceGroups"][2]["InstanceType"] = "ml.p5.49xlarge"
    pair[1]["fsx_mountname"] = "abcdefghi"
    monkeypatch.chdir(tmp_path)
    options = write_pair(Path(), pair)
    loaded = load_pair(Path(options[1]), Path(options[3]))
    checks = [*loaded.checks, *account_checks(subject_of(loaded.request, loaded.parameters), account)]
    lines = [Text(check_line(check), style=STYLES[check.outcome]) for check in checks]
    last = Text(verdict_line(checks, "Cluster Validation"), style=STYLES[verdict(checks)])
    check_screen("validate", "hyperpod-slurm validate", *lines, last, width=140)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_and_its_exit_codes_in_its_help(name: str, command: Command) -> None:
    answer = command(name, "--help")
    assert answer.code == 0
    text = " ".join(answer.out.split())
    assert f"hyperpod-slurm {name}" in text
    assert "Exit codes:" in text
    if name != "rehearse":
        assert f"Example: hyperpod-slurm {name}" in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_in_the_docs(name: str) -> None:
    text = (DOCS / "cli.md").read_text()
    assert f"`{name}`" in text
    options = [option for parameter in load(name).params for option in parameter.opts if option.startswith("--")]
    if name != "rehearse":
        assert [option for option in options if option not in text and option != "--help"] == []


def test_every_example_of_the_docs_is_a_command_that_there_is() -> None:
    found = re.findall(r"^(?:\$ )?hyperpod-slurm ([a-z-]+)", (DOCS / "cli.md").read_text(), re.M)
    assert found
    assert set(found) <= set(COMMANDS)
