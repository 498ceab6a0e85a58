"""watch: its picture, its plain lines, its end, and the same on a terminal."""

import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from rich.console import Console

from hyperpod_constructs.cli.live.cluster import Event
from hyperpod_constructs.cli.live.drawing import Screen, bar_text, counts, plain_lines
from hyperpod_constructs.cli.live.folding import folded
from hyperpod_constructs.cli.live.picture import GroupPicture, Pace, Picture
from tests.cli.live_support import Live
from tests.cli.support import Command
from tests.rehearsal.service.support import NAME, controller, login, workers


@pytest.mark.parametrize(
    ("current", "target", "minimum", "text"),
    [
        (0, 0, 0, "░░░░░░░░░░"),
        (0, 16, 0, "░░░░░░░░░░"),
        (1, 1000, 0, "█░░░░░░░░░"),
        (8, 16, 0, "█████░░░░░"),
        (2, 16, 8, "█░░░░┊░░░░"),
        (8, 16, 8, "█████░░░░░"),
        (16, 16, 16, "██████████"),
        (17, 16, 0, "██████████"),
        (0, 16, 16, "░░░░░░░░░░"),
    ],
)
def test_a_bar_shows_what_is_there_and_marks_the_minimum_until_it_is_reached(
    current: int, target: int, minimum: int, text: str
) -> None:
    assert bar_text(current, target, minimum, 10) == text


def test_a_terminal_without_block_characters_gets_others() -> None:
    assert bar_text(2, 16, 8, 10, ascii_only=True) == "#....|...."


def test_it_ends_when_every_instance_is_there(command: Command, live: Live) -> None:
    live.create()
    answer = command("watch", NAME)
    assert answer.code == 0
    assert answer.err == "✅ my-training-cluster is ready: 6 of 6 instances\n"
    told = [line[21:] for line in answer.lines if "event" not in line]
    assert told[0] == "cluster my-training-cluster: Creating, 0 of 6 instances"
    assert "worker-gpu-a: 4/4 InService" in told
    assert told.count("worker-gpu-a: 4/4 InService") == 1


def test_what_did_not_change_is_not_told_again(command: Command, live: Live) -> None:
    live.create(controller(), workers(4))
    lines = command("watch", NAME, "--interval", "1").lines
    assert len(lines) == len(set(lines))
    assert len(lines) < 40 < len(live.waits)


def test_in_service_does_not_wait_for_workers(command: Command, live: Live) -> None:
    live.service.set_capacity({})
    live.create(controller(), login(), workers(4))
    assert command("watch", NAME, "--until", "in-service").code == 0
    assert sum(live.waits) < 120


def test_a_minimum_is_marked_and_waited_for(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    live = Live(monkeypatch, "worker-gpu-a=1@0,2@300")
    live.create(controller(), workers(16, MinInstanceCount=2))
    answer = command("watch", NAME, "--until", "minimum")
    assert answer.code == 0
    assert any("worker-gpu-a: 1/16 (min 2) Creating" in line for line in answer.lines)
    assert answer.err.endswith("is ready: 3 of 17 instances\n")


def test_a_time_limit_is_said_with_what_is_there(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    live = Live(monkeypatch, "worker-gpu-a=2")
    live.create()
    answer = command("watch", NAME, "--timeout", "10")
    assert (answer.code, answer.err) == (
        1,
        "my-training-cluster is not ready after 10 min: 4 of 6 instances, InService\n",
    )
    assert sum(live.waits) <= 600


def test_a_failure_ends_with_its_cause_and_where_to_look(command: Command, live: Live) -> None:
    live.service.fail_lifecycle("controller-group", message="mount of /fsx failed.", log=["step mount", "no route"])
    live.create()
    answer = command("watch", NAME)
    assert answer.code == 1
    assert answer.err.startswith("❌ my-training-cluster has failed: ")
    for part in (
        "mount of /fsx failed.",
        "group controller-group",
        "stream LifecycleConfig/controller-group/i-",
        "no route",
    ):
        assert part in answer.err
    assert '"step"' not in answer.out + answer.err


def test_a_cluster_that_is_deleted_meanwhile_is_gone(command: Command, live: Live) -> None:
    live.up()
    live.sagemaker.delete_cluster(ClusterName=NAME)
    answer = command("watch", NAME)
    assert (answer.code, answer.err) == (0, "my-training-cluster is gone\n")


def test_repeated_events_are_one_line_with_their_number(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    live = Live(monkeypatch, "worker-gpu-a=2")
    live.create()
    live.stop_after = 200
    answer = command("watch", NAME)
    assert answer.code == 130
    described = [event["Description"] for event in live.sagemaker.list_cluster_events(ClusterName=NAME)["Events"]]
    assert len(described) > 20
    assert "times)" in answer.out


def test_passing_failures_are_told_and_outlasted(command: Command, live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    live.create()
    advance = live.advance

    def fails_after_the_first_look(seconds: float) -> None:
        if len(live.waits) == 1:
            live.service.faults.add("DescribeCluster", "throttling", times=3)
        advance(seconds)

    monkeypatch.setattr(live, "advance", fails_after_the_first_look)
    answer = command("watch", NAME)
    assert answer.code == 0
    assert "not known: sagemaker:DescribeCluster: AWS answered only that there are too many requests" in answer.out
    assert [call.error for call in live.service.calls].count("ThrottlingException") == 3


def test_without_the_permission_for_nodes_and_events_the_rest_is_shown(command: Command, live: Live) -> None:
    live.service.faults.add("ListClusterNodes", "access_denied", times=None)
    live.service.faults.add("ListClusterEvents", "access_denied", times=None)
    live.create()
    answer = command("watch", NAME)
    assert answer.code == 0
    assert "not known: nodes, not allowed: needs the permission sagemaker:ListClusterNodes" in answer.out
    assert "not known: events, not allowed: needs the permission sagemaker:ListClusterEvents" in answer.out


def group(name: str, current: int, target: int, **more: object) -> GroupPicture:
    given: dict[str, object] = {"node_type": "Compute", "status": "InService", "minimum": 0, **more}
    return GroupPicture(name=name, current=current, target=target, **given)  # type: ignore[arg-type]


def picture(*groups: GroupPicture, at: float = 0.0) -> Picture:
    return Picture(name=NAME, status="InService", at=at, elapsed_seconds=at, groups=groups)


def test_an_estimate_follows_the_pace_of_the_last_half_hour() -> None:
    pace = Pace()
    assert pace.estimated(picture(group("a", 0, 10), at=0)).remaining_seconds is None
    assert pace.estimated(picture(group("a", 2, 10), at=60)).remaining_seconds == pytest.approx(240)
    assert pace.estimated(picture(group("a", 4, 10), at=120)).remaining_seconds == pytest.approx(180)
    assert pace.estimated(picture(group("a", 4, 10), at=7200)).remaining_seconds is None
    assert pace.estimated(picture(group("a", 10, 10), at=7210)).remaining_seconds is None


def drawn(shown: Picture, *, width: int = 100, height: int = 24) -> list[str]:
    console = Console(width=width, height=height, force_terminal=True, color_system=None, legacy_windows=False)
    with console.capture() as capture:
        console.print(Screen(shown))
    return capture.get().splitlines()


def test_the_screen_never_grows_beyond_the_terminal() -> None:
    many = picture(*(group(f"group-{number}", 1, 2) for number in range(90)))
    lines = drawn(many, height=24)
    assert len(lines) < 24
    assert lines[-1].strip() == "... and 74 more groups"
    assert all(len(line) <= 100 for line in lines)


def test_nodes_that_do_not_run_are_shown_by_state() -> None:
    lines = drawn(picture(group("a", 2, 4, status="Degraded", states={"Running": 2, "Failure": 1, "Pending": 1})))
    assert lines[1].split("  ")[-1].strip() == "2 Running, 1 Failure, 1 Pending"


def test_a_thousand_nodes_are_drawn_in_a_blink(live: Live) -> None:
    states = {"Running": 900, "Pending": 90, "Failure": 10}
    shown = picture(*(group(f"workers-{number}", 50, 60, states=states) for number in range(20)))
    console = Console(width=160, height=50, force_terminal=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    begun = time.process_time()
    for _ in range(10):
        console.print(Screen(shown))
    console.file.close()
    # Four refreshes a second must leave the machine alone.
    assert (time.process_time() - begun) / 10 < 0.1


def test_a_look_at_a_thousand_nodes_is_cheap_once_they_are_there(command: Command, live: Live) -> None:
    live.up(controller(), workers(1000))
    live.stop_after = 12
    begun = len(live.service.calls)
    live.service.fail_node(live.instance("worker-gpu-a"))
    command("watch", NAME, "--until", "all")
    lists = [call for call in live.service.calls[begun:] if call.operation == "ListClusterNodes"]
    assert len(lists) <= 11 * 13


def test_plain_lines_tell_a_change_once() -> None:
    before = picture(group("a", 1, 2, status="Creating"))
    after = picture(group("a", 2, 2))
    assert [line[21:] for line in plain_lines(before, after)] == ["a: 2/2 InService"]
    assert list(plain_lines(after, replace(after, at=9.0))) == []


def test_a_minimum_that_is_reached_is_not_mentioned() -> None:
    assert counts(group("a", 2, 16, minimum=2)) == "2/16"
    assert counts(group("a", 1, 16, minimum=2)) == "1/16 (min 2)"


def test_ids_and_numbers_make_no_difference_between_events(live: Live) -> None:
    def event(identifier: str, description: str, group: str = "a") -> Event:
        return Event(
            event_id=identifier,
            time=datetime.fromtimestamp(0, UTC),
            level="Warn",
            resource="Instance",
            group=group,
            instance_id="",
            description=description,
        )

    events = [
        event("3", "Instance i-0abc lost 2 of 16"),
        event("2", "Instance i-0def lost 3 of 16"),
        event("1", "Instance i-0def lost 3 of 16", "b"),
        event("0", "something else"),
    ]
    assert [(one.event.event_id, one.count) for one in folded(events, at_most=2)] == [("3", 2), ("1", 1)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--interval", "0"], "--interval"), (["--until", "never"], "--until"), (["--timeout", "-1"], "--timeout")],
)
def test_wrong_options_are_wrong_usage(command: Command, live: Live, arguments: list[str], says: str) -> None:
    answer = command("watch", NAME, *arguments)
    assert (answer.code, says in answer.err) == (2, True)
