"""The engine: order, bounds, outcomes, what is logged."""

import json
import time

import pytest
from nodelib.engine import Engine, StepResult
from nodelib.errors import DeferredError, StepError
from nodelib.runner import ProcessRunner
from nodelib.step import Context, Step

from tests.lifecycle.support import Machine


def fail(_context: Context) -> None:
    raise StepError("the cause")


def wait_for_ever(_context: Context) -> None:
    time.sleep(30)


def succeed(context: Context) -> None:
    context.note("a remark")
    context.did("a change")


def outcomes(results: list[StepResult]) -> list[tuple[str, str]]:
    return [(result.step, result.outcome) for result in results]


def test_required_step_that_fails_ends_the_run(machine: Machine) -> None:
    steps = [Step("first", "", succeed), Step("second", "", fail), Step("third", "", succeed)]
    results = machine.run(machine.context("compute"), *steps)
    assert outcomes(results) == [("first", "ok"), ("second", "failed")]
    assert machine.log == [
        "[1/3] first: ok in 0.00 s: a remark; changed: a change",
        "[2/3] second: FAILED in 0.00 s: the cause",
    ]


def test_optional_step_that_fails_is_noted_and_passed_over(machine: Machine) -> None:
    steps = [Step("first", "", fail, required=False), Step("second", "", succeed)]
    assert outcomes(machine.run(machine.context("compute"), *steps)) == [("first", "passed_over"), ("second", "ok")]
    assert machine.log[0] == "[1/2] first: failed, optional in 0.00 s: the cause"


def test_step_that_hangs_is_ended_at_its_bound(machine: Machine) -> None:
    start = time.monotonic()
    [result] = machine.run(machine.context("compute"), Step("hanging", "", wait_for_ever, timeout_seconds=0.05))
    assert time.monotonic() - start < 5
    assert (result.outcome, result.remarks) == ("failed", ("hanging was not done after 0.05 s",))


def test_all_steps_together_have_a_bound(machine: Machine) -> None:
    context = machine.context("compute")
    steps = [Step("slow", "", lambda context: context.clock.sleep(100)), Step("late", "", succeed)]
    results = Engine(context, machine.log.append, total_timeout_seconds=60).run(steps)
    assert outcomes(results) == [("slow", "ok"), ("late", "failed")]
    assert "all steps together took too long" in results[1].remarks[0]


def test_deferred_step_does_not_fail_the_node(machine: Machine) -> None:
    def defer(_context: Context) -> None:
        raise DeferredError("slurmdbd does not answer yet")

    results = machine.run(machine.context("controller"), Step("first", "", defer), Step("second", "", succeed))
    assert outcomes(results) == [("first", "deferred"), ("second", "ok")]


def test_full_disk_does_not_hide_the_result(machine: Machine) -> None:
    context = machine.context("compute")
    (machine.root / "var").mkdir()
    (machine.root / "var" / "log").write_text("a file where the folder should be")
    assert outcomes(machine.run(context, Step("first", "", succeed))) == [("first", "ok")]
    assert machine.log[-1].startswith("no summary: /var/log/provision/lifecycle_summary.json: cannot be written")


def test_operating_system_errors_become_the_cause(machine: Machine) -> None:
    def read(context: Context) -> None:
        (context.scripts / "missing").read_text()

    [result] = machine.run(machine.context("compute"), Step("first", "", read))
    assert (result.outcome, "No such file" in result.remarks[0]) == ("failed", True)


def test_summary_tells_every_step(machine: Machine) -> None:
    machine.run(machine.context("login"), Step("first", "", succeed), Step("second", "", fail))
    summary = json.loads(machine.get("/var/log/provision/lifecycle_summary.json"))
    assert (summary["succeeded"], summary["node_type"], summary["instance_id"]) == (False, "login", "i-login")
    assert [step["outcome"] for step in summary["steps"]] == ["ok", "failed"]
    assert summary["steps"][0]["changed"] == ["a change"]


def test_long_lists_of_changes_are_shortened_in_the_log() -> None:
    line = StepResult("copy", "ok", 0.5, tuple(f"/f{n}" for n in range(60))).line("1/1")
    assert line == "[1/1] copy: ok in 0.50 s: changed: /f0, /f1, /f2, /f3, /f4, /f5 and 54 more"


def test_step_of_an_unknown_feature_is_a_mistake_found_at_once() -> None:
    with pytest.raises(ValueError, match="unknown feature 'docker'"):
        Step("first", "", succeed, feature="docker")


def test_bound_of_a_step_is_not_swallowed_by_what_tries_failed_commands_again(machine: Machine) -> None:
    def stubborn(context: Context) -> None:
        while True:
            try:
                ProcessRunner().run(["sleep", "5"], timeout_seconds=9)
            except StepError:
                context.note("once more")

    [result] = machine.run(machine.context("compute"), Step("first", "", stubborn, timeout_seconds=0.2))
    assert result.remarks == ("first was not done after 0.2 s",)


def test_summary_counts_the_commands_of_each_step(machine: Machine) -> None:
    def busy(context: Context) -> None:
        context.runner.run(["true"])
        context.runner.run(["true"])

    results = machine.run(machine.context("compute"), Step("first", "", busy), Step("second", "", succeed))
    assert [result.processes for result in results] == [2, 0]
