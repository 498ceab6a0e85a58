"""What the custom resource carries fits into what carries it; docs/limits.md has the same numbers."""

import json
from pathlib import Path

import pytest

from hyperpod_constructs import payload
from hyperpod_constructs.api_request import create_cluster_request
from hyperpod_constructs.rules import check
from tests.core.full_specs import hundred_full_groups, hundred_groups, longest_groups
from tests.core.support import TEXT_TOKEN, a_cluster, bindings_for

_PAGE = (Path(__file__).parents[2] / "docs" / "limits.md").read_text()


_CASES = {
    "3 groups": (a_cluster(), bindings_for(a_cluster())),
    "100 groups as documented": hundred_groups(),
    "100 groups, each": hundred_full_groups(),
}


@pytest.mark.parametrize("name", _CASES)
def test_the_page_has_the_numbers(name: str) -> None:
    properties = payload.properties_bytes(*_CASES[name])
    update = payload.waiter_input_bytes(*_CASES[name])
    share = round(100 * update / payload.STEP_FUNCTIONS_INPUT_BYTES)
    (row,) = [line for line in _PAGE.splitlines() if line.startswith(f"| {name}")]
    assert [cell.strip() for cell in row.split("|")[2:5]] == [f"{properties:,}", f"{update:,}", f"{share} %"]


def test_a_hundred_usual_groups_fit_twice_into_a_waiters_input() -> None:
    assert payload.waiter_input_bytes(*hundred_groups()) < payload.STEP_FUNCTIONS_INPUT_BYTES
    assert check(*hundred_groups())[0] == []


def test_a_cluster_whose_updates_would_not_fit_is_refused() -> None:
    errors, _ = check(*hundred_full_groups())
    assert [problem.rule for problem in errors] == ["payload-size"]


def test_a_few_groups_with_the_longest_values_are_refused_too() -> None:
    assert check(*longest_groups(6))[0] == []
    assert [problem.rule for problem in check(*longest_groups(7))[0]] == ["payload-size"]


def test_the_page_says_how_many_full_groups_fit() -> None:
    # Two groups are the controller's and the login nodes'.
    fits, does_not_fit = (payload.waiter_input_bytes(*hundred_full_groups(count - 2)) for count in (56, 57))
    assert fits <= payload.STEP_FUNCTIONS_INPUT_BYTES < does_not_fit
    assert "About 56 groups with every field fit" in _PAGE


def test_the_event_fits_into_lambda_and_the_template_into_cloudformation_even_where_the_waiter_is_too_small() -> None:
    spec, bindings = hundred_full_groups()
    assert payload.waiter_input_bytes(spec, bindings) < payload.LAMBDA_EVENT_BYTES
    # In a template each deploy-time value splits the text, which costs quotes, a comma and the intrinsic function.
    assert payload.properties_bytes(spec, bindings) + 100 * 8 * 60 < payload.TEMPLATE_BYTES


def test_a_token_counts_as_the_value_it_becomes() -> None:
    spec = a_cluster()
    literal = payload.properties_bytes(spec, bindings_for(spec, execution_role_arn="x" * payload.TOKEN_BYTES))
    assert payload.properties_bytes(spec, bindings_for(spec, execution_role_arn=TEXT_TOKEN)) == literal


def test_the_size_is_that_of_the_properties_the_constructs_write() -> None:
    spec, bindings = _CASES["3 groups"]
    request = create_cluster_request(spec, bindings)
    texts = [json.dumps(group, separators=(",", ":")) for group in request["InstanceGroups"]]
    assert payload.properties_bytes(spec, bindings) > sum(len(json.dumps(text)) for text in texts)
