"""Every rule refuses what it says it refuses, and none of them can be lost."""

import pytest

from hyperpod_constructs import rules
from hyperpod_constructs.errors import SpecError
from hyperpod_constructs.rules import ALL_RULES, Level, Surroundings
from tests.core.bad import Bad
from tests.core.bad_specs import BAD
from tests.core.support import LUSTRE, OPEN_ZFS, TEXT_TOKEN, a_cluster, bindings_for, with_compute

_LEVELS = {rule.id: rule.level for rule in ALL_RULES}


def _found(bad: Bad, without: str = "") -> bool:
    errors, warnings = rules.check(bad.spec, bad.bindings, bad.around)
    problems = errors if _LEVELS[bad.rule] is Level.ERROR else warnings
    return any(
        problem.rule == bad.rule and problem.path == bad.path and bad.says in problem.message
        for problem in problems
        if problem.rule != without
    )


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: f"{bad.rule}-{bad.path}")
def test_a_wrong_specification_is_refused_with_its_place_and_what_to_do_and_for_nothing_else(bad: Bad) -> None:
    errors, warnings = rules.check(bad.spec, bad.bindings, bad.around)
    assert _found(bad), [str(problem) for problem in (*errors, *warnings)]
    # Another problem would bury the message, and removing the rule would go unnoticed.
    assert [problem for problem in errors if problem.rule != bad.rule] == []


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.id)
def test_without_the_rule_a_wrong_specification_would_pass(rule: rules.Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [bad for bad in BAD if bad.rule == rule.id]
    assert cases, "no case of the table needs this rule"
    monkeypatch.setattr(rules, "ALL_RULES", tuple(other for other in ALL_RULES if other is not rule))
    assert any(not _found(bad) for bad in cases)


def test_ids_are_unique_and_in_kebab_case() -> None:
    ids = [rule.id for rule in ALL_RULES]
    assert len(set(ids)) == len(ids)
    assert all(name == name.lower() and " " not in name and "_" not in name for name in ids)


def test_every_rule_says_in_one_sentence_what_it_wants_and_where_that_comes_from() -> None:
    for rule in ALL_RULES:
        assert rule.text.endswith("."), rule.id
        assert "\n" not in rule.text, rule.id
        assert rule.source, rule.id


def test_every_error_message_names_what_is_allowed_or_missing() -> None:
    for bad in BAD:
        errors, _ = rules.check(bad.spec, bad.bindings, bad.around)
        for problem in errors:
            words = ("allowed:", "missing", "already", "the subnet has")
            assert any(word in problem.message for word in words), str(problem)


def test_the_documented_cluster_has_nothing_to_complain_about() -> None:
    spec = a_cluster()
    assert rules.check(spec) == ([], [])
    assert (
        rules.validate(spec, bindings_for(spec, mounts=(LUSTRE, OPEN_ZFS)), Surroundings(subnet_address_count=32763))
        == ()
    )


def test_unresolved_tokens_pass_wherever_values_may_be_known_at_deploy_time_only() -> None:
    spec = with_compute(image_id=TEXT_TOKEN, training_plan_arn=TEXT_TOKEN, availability_zone="use1-az4")
    mount = LUSTRE.__class__(dns_name=TEXT_TOKEN, mount_name=TEXT_TOKEN)
    bound = bindings_for(spec, execution_role_arn=TEXT_TOKEN, source_s3_uri=f"s3://{TEXT_TOKEN}/x", mounts=(mount,))
    assert rules.validate(spec, bound) == ()


def test_an_unknown_instance_type_takes_one_address_only() -> None:
    around = Surroundings(subnet_address_count=18)
    assert not rules.check(with_compute(instance_type="ml.p9.48xlarge"), None, around)[0]


def test_groups_with_subnets_of_their_own_take_no_addresses_of_the_clusters() -> None:
    around = Surroundings(subnet_address_count=100)
    assert not rules.check(with_compute(subnets=[object()]), None, around)[0]


def test_a_zone_name_and_a_zone_id_are_never_said_to_differ() -> None:
    around = Surroundings(availability_zone="use1-az4", file_system_zones=(("/fsx", "us-east-1a"),))
    spec = a_cluster()
    assert rules.validate(spec, bindings_for(spec), around) == ()


def test_validate_raises_every_error_at_once_in_the_order_of_the_input() -> None:
    spec = with_compute(name="a b", instance_count=-1, instance_type="p5", partition="dev")
    with pytest.raises(SpecError) as caught:
        rules.validate(spec)
    assert [problem.rule for problem in caught.value.problems] == ["group-name", "instance-type", "instance-count"]


def test_validate_returns_the_warnings_of_a_sound_specification() -> None:
    (warning,) = rules.validate(with_compute(partition="dev"))
    assert warning.rule == "partition-shared"
