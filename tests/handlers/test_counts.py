"""Counts belong to whoever changed them last: the table of DESIGN decision 7."""

from dataclasses import dataclass

import pytest

from hyperpod_constructs.handlers.cluster.counts import Counts, Situation, decide_counts, wanted_minimum
from hyperpod_constructs.handlers.cluster.observed import Group
from tests.handlers.builders import compute, controller


@dataclass(frozen=True)
class Case:
    """Template before and now, live target; what is sent, and how."""

    before: int | None
    now: int
    live: int
    target: int
    how: str
    force: bool = False
    rolling_back: bool = False
    before_known: bool = True
    remembered: int | None = None


CASES = {
    "unchanged_and_equal": Case(4, 4, 4, 4, "nothing"),
    "unchanged_keeps_what_an_operator_scaled": Case(4, 4, 8, 8, "note"),
    "unchanged_keeps_it_even_when_forced": Case(4, 4, 8, 8, "note", force=True),
    "grown_from_what_the_template_said": Case(4, 6, 4, 6, "sent"),
    "shrunk_from_what_the_template_said": Case(4, 2, 4, 2, "sent"),
    "grown_beyond_what_an_operator_scaled_to": Case(4, 10, 8, 10, "sent"),
    "below_what_an_operator_scaled_to": Case(4, 6, 8, 8, "refused"),
    "below_it_with_the_explicit_word": Case(4, 6, 8, 6, "sent", force=True),
    "already_what_is_wanted": Case(4, 8, 8, 8, "nothing"),
    "lowered_in_the_template_but_still_more_than_live": Case(10, 6, 4, 6, "sent"),
    "a_new_group_that_lives_smaller": Case(None, 6, 4, 6, "sent"),
    "a_new_group_that_lives_larger": Case(None, 4, 8, 8, "refused"),
    "an_unknown_past": Case(None, 6, 4, 4, "note", before_known=False),
    "rolled_back_from_what_the_failed_template_said": Case(6, 4, 6, 4, "sent", rolling_back=True),
    "rolled_back_from_what_an_operator_scaled_to": Case(6, 4, 8, 8, "note", rolling_back=True),
    "rolled_back_to_what_the_failed_update_overrode": Case(10, 4, 10, 8, "sent", rolling_back=True, remembered=8),
    "rolled_back_without_a_change_of_this_count": Case(10, 10, 10, 10, "nothing", rolling_back=True, remembered=8),
    "rolled_back_after_somebody_scaled_again": Case(10, 4, 12, 12, "note", rolling_back=True, remembered=8),
    "rolled_back_removal_that_was_refused": Case(None, 5, 4, 4, "note", rolling_back=True),
    "rolled_back_growth_after_somebody_scaled_down": Case(6, 4, 3, 3, "note", rolling_back=True),
    "rolled_back_to_a_larger_group": Case(2, 4, 2, 4, "sent", rolling_back=True),
}


def decided(case: Case) -> Counts:
    live = Group(name="p5", current=case.live, target=case.live, minimum=0, status="InService", details={})
    return decide_counts(
        compute(count=case.now),
        None if case.before is None else compute(count=case.before),
        live,
        Situation(
            before_known=case.before_known,
            force=case.force,
            rolling_back=case.rolling_back,
            remembered={} if case.remembered is None else {"p5": case.remembered},
        ),
    )


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_c14_the_count_that_is_sent(case: Case) -> None:
    counts = decided(case)
    assert counts.target == case.target
    how = "refused" if counts.refusal else "sent" if counts.changed else "note" if counts.note else "nothing"
    assert how == case.how


def test_a_refusal_names_the_three_numbers_and_both_ways_out() -> None:
    text = decided(CASES["below_what_an_operator_scaled_to"]).refusal
    assert "InstanceCount 6 is refused: the template said 4 before and the live count is 8" in text
    assert "instance_count=8" in text
    assert "force_instance_counts=True" in text


def test_the_default_minimum_is_one_for_the_controller_and_none_for_compute() -> None:
    assert wanted_minimum(controller()) == 1
    assert wanted_minimum(compute()) == 0
    assert wanted_minimum(compute(MinInstanceCount=3)) == 3


def test_a_minimum_that_the_template_did_not_change_keeps_its_live_value() -> None:
    live = Group(name="p5", current=4, target=4, minimum=1, status="InService", details={})
    spec = compute(count=4, MinInstanceCount=3)
    counts = decide_counts(spec, spec, live, Situation())
    assert (counts.minimum, counts.changed) == (1, False)


def test_a_changed_minimum_is_sent_but_never_above_the_target() -> None:
    live = Group(name="p5", current=2, target=2, minimum=0, status="InService", details={})
    before, now = compute(count=4), compute(count=4, MinInstanceCount=3)
    counts = decide_counts(now, before, live, Situation())
    assert (counts.target, counts.minimum, counts.changed) == (2, 2, True)


def test_a_minimum_dropped_from_the_template_goes_back_to_the_default() -> None:
    live = Group(name="p5", current=4, target=4, minimum=3, status="InService", details={})
    before, now = compute(count=4, MinInstanceCount=3), compute(count=4)
    counts = decide_counts(now, before, live, Situation())
    assert (counts.minimum, counts.changed) == (0, True)
