"""nodes, events and logs against the HyperPod service."""

import json

import pytest

from hyperpod_constructs.cli.failures import CommandError
from hyperpod_constructs.cli.live import clock
from hyperpod_constructs.cli.live.clock import duration, moment
from tests.cli.live_support import Live
from tests.cli.support import Command, FakeAccount, use_account
from tests.rehearsal.service.support import NAME, controller, login, workers

MISSING = "hyperpod-slurm: there is no cluster other in us-east-1; there are: my-training-cluster\n"


def test_nodes_are_one_line_each_when_not_on_a_terminal(command: Command, live: Live) -> None:
    live.up()
    answer = command("nodes", NAME)
    assert [line.split()[0] for line in answer.lines] == [
        "GROUP",
        "controller-group",
        "login-group",
        *["worker-gpu-a"] * 4,
    ]
    host = live.nodes("controller-group")[0]["PrivateDnsHostname"].partition(".")[0]
    assert answer.lines[1].split()[1:5] == [live.instance("controller-group"), host, "ml.m5.xlarge", "Running"]


def test_nodes_of_one_group_are_not_those_of_a_longer_name(command: Command, live: Live) -> None:
    live.up(controller(), workers(2), workers(3) | {"InstanceGroupName": "worker-gpu-a2"})
    found = command("nodes", NAME, "--group", "worker-gpu-a", "--json").json()
    assert [node["group"] for node in found] == ["worker-gpu-a"] * 2


def test_nodes_in_a_state_are_found_whatever_the_case(command: Command, live: Live) -> None:
    live.up(NodeRecovery="None")
    broken = live.instance("worker-gpu-a")
    live.service.fail_node(broken, "a GPU fell off the bus")
    live.advance(10)
    found = command("nodes", NAME, "--status", "failure", "--json").json()
    assert [(node["instance_id"], node["message"]) for node in found] == [(broken, "a GPU fell off the bus")]


def test_a_thousand_nodes_come_in_pages(command: Command, live: Live) -> None:
    live.up(controller(), workers(1000))
    assert len(command("nodes", NAME, "--json").json()) == 1001
    listed = [call for call in live.service.calls if call.operation == "ListClusterNodes"]
    assert len(listed) == 11


def test_an_unknown_group_is_named_with_those_there_are(command: Command, live: Live) -> None:
    live.up()
    answer = command("nodes", NAME, "--group", "workers")
    there = "controller-group, login-group, worker-gpu-a"
    assert answer.err == f"hyperpod-slurm: my-training-cluster has no group workers; it has: {there}\n"


@pytest.mark.parametrize("arguments", [("nodes", "other"), ("events", "other"), ("logs", "other", "controller")])
def test_an_unknown_cluster_is_named_with_those_there_are(
    arguments: tuple[str, ...], command: Command, live: Live
) -> None:
    live.up()
    answer = command(*arguments)
    assert (answer.code, answer.err) == (1, MISSING)


def test_a_cluster_name_that_looks_like_an_option_is_wrong_usage(command: Command, live: Live) -> None:
    assert command("nodes", "--", "--force").code == 2


def test_events_come_oldest_first_and_the_newest_are_kept(command: Command, live: Live) -> None:
    live.up()
    every = command("events", NAME).lines
    assert command("events", NAME, "-n", "3").lines == every[-3:]
    assert every == sorted(every, key=lambda line: line[:19])


def test_errors_are_told_with_the_text_that_the_list_lacks(command: Command, live: Live) -> None:
    live.service.fail_lifecycle("worker-gpu-a", times=1, message="mount of /fsx failed.", exit_code=3)
    live.up()
    answer = command("events", NAME, "--level", "error", "--details")
    assert {line.split()[2] for line in answer.lines if "cause: " not in line} == {"Error"}
    assert "cause: " in answer.out
    assert "mount of /fsx failed." in answer.out


def test_a_group_and_a_time_narrow_the_events(command: Command, live: Live) -> None:
    live.up()
    live.advance(7200)
    live.service.fail_node(live.instance("worker-gpu-a"))
    live.advance(60)
    lines = command("events", NAME, "--group", "worker-gpu-a", "--since", "1h", "--json").lines
    assert lines
    assert {json.loads(line)["group"] for line in lines} == {"worker-gpu-a"}


def test_following_shows_each_event_once(command: Command, live: Live) -> None:
    live.create()
    live.stop_after = 40
    answer = command("events", NAME, "--follow", "--json")
    ids = [json.loads(line)["event_id"] for line in answer.lines]
    assert answer.code == 130
    assert len(ids) == len(set(ids)) == len(command("events", NAME, "--json").lines)


def test_a_cluster_of_the_older_form_has_no_events_and_says_so(command: Command, live: Live) -> None:
    classic = [group() for group in (controller, login, workers)]
    for group in classic:
        del group["SlurmConfig"]
    live.up(*classic, NodeProvisioningMode=None, Orchestrator=None)
    answer = command("events", NAME)
    assert answer.code == 1
    assert answer.err.startswith("hyperpod-slurm: sagemaker:ListClusterEvents: ")


def test_the_log_of_the_controller(command: Command, live: Live) -> None:
    live.up()
    lines = command("logs", NAME, "controller").lines
    assert lines[0].startswith("[SageMaker] Lifecycle scripts were provided")
    assert lines[-1] == "[SageMaker] The lifecycle scripts succeeded"


def test_the_last_lines_and_those_with_a_text(command: Command, live: Live) -> None:
    live.service.fail_lifecycle("worker-gpu-a", times=1, log=[f"step {number} [x" for number in range(50)])
    live.up()
    failed = next(name for name in live.sink.streams[_log_group(live)] if "worker-gpu-a" in name)
    node = failed.rpartition("/")[2]
    assert command("logs", NAME, node, "--group", "worker-gpu-a", "-n", "2").lines[-1].endswith("scripts failed")
    found = command("logs", NAME, node, "--group", "worker-gpu-a", "--grep", "7 [x").lines
    assert found == ["step 7 [x", "step 17 [x", "step 27 [x", "step 37 [x", "step 47 [x"]


def _log_group(live: Live) -> str:
    return next(iter(live.sink.streams))


def test_following_shows_new_lines_once(command: Command, live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    live.up()
    stream = f"LifecycleConfig/controller-group/{live.instance('controller-group')}"
    group, more = _log_group(live), iter(["one", "two", "three"])

    def sleep(_: float) -> None:
        line = next(more, None)
        if line is None:
            raise KeyboardInterrupt
        live.sink.put(group, stream, [line])

    monkeypatch.setattr(clock, "sleep", sleep)
    answer = command("logs", NAME, "controller", "-n", "1", "--follow")
    assert answer.lines == ["[SageMaker] The lifecycle scripts succeeded", "one", "two", "three"]
    assert answer.code == 130


def test_no_log_says_what_that_means(command: Command, live: Live) -> None:
    live.create()
    live.advance(11)
    live.sink.streams.clear()
    answer = command("logs", NAME, "controller")
    assert answer.code == 1
    assert "no log means that no script ran yet" in answer.err
    assert "security group allows all traffic from and to itself" in answer.err


@pytest.mark.parametrize(
    ("node", "says"),
    [
        ("worker-gpu-a", "worker-gpu-a: 4 nodes are meant, say which: i-"),
        ("compute", "has no node 'compute', allowed: controller, login, a group of one node"),
        ("i-0", "has no node 'i-0'"),
    ],
)
def test_a_node_that_is_none_or_many_is_said(node: str, says: str, command: Command, live: Live) -> None:
    live.up()
    answer = command("logs", NAME, node)
    assert (answer.code, says in answer.err) == (1, True), answer.err


def test_a_node_is_found_by_every_name_it_has(command: Command, live: Live) -> None:
    live.up()
    node = command("nodes", NAME, "--group", "worker-gpu-a", "--json").json()[0]
    names = (node["instance_id"], node["logical_id"], node["host"], f"{node['host']}.ec2.internal")
    assert len({command("logs", NAME, name).out for name in names}) == 1


def test_text_from_a_node_cannot_steer_the_terminal(command: Command, live: Live) -> None:
    live.up()
    stream = f"LifecycleConfig/controller-group/{live.instance('controller-group')}"
    live.sink.put(_log_group(live), stream, ["\x1b[2Jgone\x07"])
    assert command("logs", NAME, "controller").lines[-1] == "\\x1b[2Jgone\\x07"


def test_too_few_permissions_are_one_sentence(command: Command, live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    live.up()
    account = use_account(monkeypatch, FakeAccount({"sagemaker": live.sagemaker}))
    live.service.faults.add("ListClusterNodes", "access_denied")
    assert "needs the permission sagemaker:ListClusterNodes" in command("nodes", NAME).err
    live.service.faults.clear()
    assert "needs the permission logs:GetLogEvents" in command("logs", NAME, "controller").err
    assert account.client("logs").calls


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("3d", 259200)])
def test_so_long_ago(text: str, seconds: int, live: Live) -> None:
    assert live.clock.now() - moment(text).timestamp() == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["yesterday", "2x", "-1h", ""])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(CommandError, match="allowed: 30m, 2h, 3d"):
        moment(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.9, "59 s"), (125, "2 min 05 s"), (3599, "59 min"), (7500, "2 h 05 min")]
)
def test_durations_read_as_people_say_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text
