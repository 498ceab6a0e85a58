"""The check of nodes, all together: what comparing their reports shows, and how the reports find their reader."""

import threading
import time
from dataclasses import replace

import pytest

from tests.cli import precheck_support  # noqa: F401 - puts the nodes' modules on the path  # isort: skip
from nodelib.precheck.findings import Finding, NodeReport, failed, ok, report_from_json
from nodelib.precheck.gather import Collector, Step, expanded, missing_hosts, send, step_of
from nodelib.precheck.table import faults, judged, rendered


def report(host: str, *findings: Finding, behind: float = 0.0) -> NodeReport:
    return NodeReport(host, 1000.0 - behind, findings or (ok("/fsx", "lustre a"), ok("slurm", "25.11.8")), 1000.0)


def told(reports: list[NodeReport], missing: tuple[str, ...] = ()) -> list[tuple[str, str, str]]:
    return [(one.host, one.check, one.problem) for one in faults(judged(reports, missing))]


def test_nodes_that_agree_have_no_faults() -> None:
    reports = [report("a"), report("b")]
    assert told(reports) == []
    assert rendered(judged(reports)).splitlines() == [
        "NODE  /FSX  CLOCK  VERSIONS",
        "a     ok    ok     ok",
        "b     ok    ok     ok",
        "2 nodes: everything is as it should be",
    ]


def test_the_node_that_differs_from_most_is_named() -> None:
    odd = report("c", ok("/fsx", "lustre z"), ok("slurm", "24.11"), ok("home", "/home/alice"))
    usual = [report(host, ok("/fsx", "lustre a"), ok("slurm", "25.11"), ok("home", "/fsx/alice")) for host in "ab"]
    assert told([*usual, odd]) == [
        ("c", "/fsx", "lustre z is mounted, other nodes have lustre a"),
        ("c", "slurm", "24.11, other nodes have 25.11"),
        ("c", "home", "/home/alice, other nodes have /fsx/alice"),
    ]


def test_different_counts_of_gpus_are_no_fault_by_themselves() -> None:
    assert told([report("a", ok("gpus", "8")), report("b", ok("gpus", "1"))]) == []


def test_a_clock_that_is_off_is_named_and_a_slow_collector_is_not() -> None:
    assert told([report("a", behind=30), report("b", behind=30), report("c", behind=45)]) == [
        ("c", "clock", "15 s behind the other nodes")
    ]
    assert told([report("a"), report("b"), report("c", behind=-9)]) == [("c", "clock", "9 s ahead the other nodes")]


def test_a_silent_node_is_named_with_what_to_do() -> None:
    text = rendered(judged([report("a")], ["b"]))
    assert "b     NO REPORT" in text
    assert "b: no report: sent no report\n  to do: look at it: scontrol show node b;" in text
    assert text.endswith("1 of 2 nodes have faults")


def test_a_fault_is_in_the_table_and_below_it_with_its_remedy() -> None:
    broken = report("b", failed("/fsx", "not mounted", "mount it"), ok("gpus", "8"))
    lines = rendered(judged([report("a", ok("/fsx", "x"), ok("gpus", "8")), broken])).splitlines()
    assert lines[0].split() == ["NODE", "/FSX", "GPUS", "CLOCK", "VERSIONS"]
    assert lines[2].split() == ["b", "FAILED", "8", "ok", "ok"]
    assert lines[4:] == ["b: /fsx: not mounted", "  to do: mount it", "1 of 2 nodes have faults"]


def test_a_report_survives_its_journey() -> None:
    sent = report("a", failed("x", "y", "z", "v"), ok("w"))
    assert report_from_json(sent.to_json(), 5.0) == replace(sent, received_at=5.0)
    for broken in ("", "{", "[]", '{"host": "a"}', '{"host": 1, "sent_at": "x", "findings": []}', "null"):
        assert report_from_json(broken, 0.0) is None


# Reports come together


STEP = Step(job="77", step="0", rank=0, tasks=3, node_list="a,b,c")


def test_reports_of_all_tasks_reach_the_first_one() -> None:
    collector = Collector(STEP, "127.0.0.1")
    found: list[NodeReport] = []
    thread = threading.Thread(target=lambda: found.extend(collector.collect(2, 10)))
    thread.start()
    assert [send(STEP, report(host), "127.0.0.1", 5) for host in "bc"] == ["", ""]
    thread.join(10)
    assert sorted(one.host for one in found) == ["b", "c"]
    assert all(abs(one.received_at - one.sent_at) < 2 for one in found)


def test_a_task_that_comes_first_waits_for_the_listener() -> None:
    step = replace(STEP, job="78")
    answers: list[str] = []
    thread = threading.Thread(target=lambda: answers.append(send(step, report("b"), "127.0.0.1", 10)))
    thread.start()
    time.sleep(0.3)
    assert [one.host for one in Collector(step, "127.0.0.1").collect(1, 10)] == ["b"]
    thread.join(10)
    assert answers == [""]


def test_two_jobs_whose_ports_meet_keep_apart() -> None:
    other = replace(STEP, job="79")
    mine = Collector(STEP, "127.0.0.1")

    class SamePorts(Step):
        ports = STEP.ports

    thief = SamePorts(job="79", step="0", rank=1, tasks=2, node_list="a,b")
    thread = threading.Thread(target=lambda: mine.collect(1, 1))
    thread.start()
    assert send(thief, report("x"), "127.0.0.1", 0.5) != ""
    thread.join(10)
    assert other.greeting != STEP.greeting


def test_a_task_without_a_listener_says_so() -> None:
    assert send(replace(STEP, job="80"), report("b"), "127.0.0.1", 0.3) == "Connection refused"


def test_who_did_not_report_is_known() -> None:
    assert missing_hosts(["a", "b.ec2.internal", "c"], [report("a"), report("b")]) == ["c"]


def test_waiting_for_reports_ends() -> None:
    begun = time.monotonic()
    assert Collector(replace(STEP, job="81"), "127.0.0.1").collect(1, 0.3) == []
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("ip-10-1-0-[1-3,7]", ["ip-10-1-0-1", "ip-10-1-0-2", "ip-10-1-0-3", "ip-10-1-0-7"]),
        ("n[08-10],m2", ["n08", "n09", "n10", "m2"]),
        ("", []),
    ],
)
def test_lists_of_hosts_are_understood(text: str, hosts: list[str]) -> None:
    assert expanded(text) == hosts


def test_a_step_of_one_task_is_none() -> None:
    step = {"SLURM_PROCID": "1", "SLURM_NTASKS": "8", "SLURM_STEP_ID": "0", "SLURM_JOB_ID": "5"}
    assert step_of({}) is None
    assert step_of(step | {"SLURM_NTASKS": "1"}) is None
    found = step_of(step | {"SLURM_STEP_NODELIST": "a,b"})
    assert found is not None
    assert (found.rank, found.tasks, found.node_list) == (1, 8, "a,b")
