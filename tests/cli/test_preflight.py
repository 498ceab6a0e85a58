"""preflight: what an account can give, one shortage at a time."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hyperpod_constructs.cli.checking import tools
from hyperpod_constructs.cli.live import clock
from hyperpod_constructs.handlers.cluster.errors import UnsuitableSdkError
from tests.cli.support import Command, account_of, client_error, healthy_answers, use_account
from tests.cli.test_render import EXISTING

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PLAN = "arn:aws:sagemaker:us-east-1:111122223333:training-plan/large-models-2027"
Answers = dict[str, dict[str, Any]]


def quota(name: str, value: float) -> dict[str, Any]:
    return {"QuotaName": name, "Value": value, "ServiceCode": "sagemaker"}


def offer(name: str, *zones: str) -> list[dict[str, str]]:
    return [{"InstanceType": name, "LocationType": "availability-zone-id", "Location": zone} for zone in zones]


def answers() -> Answers:
    """An account in which the documented cluster can be made at once."""
    healthy = healthy_answers()
    quotas = [
        quota("ml.m5.xlarge for cluster usage", 4),
        quota("ml.p5.48xlarge for cluster usage", 16),
        quota("ml.p5.48xlarge for training job usage", 0),
        quota("Maximum number of instances allowed per SageMaker HyperPod cluster", 50),
        quota("Total number of instances allowed across SageMaker HyperPod clusters", 100),
    ]
    offers = offer("m5.xlarge", "use1-az4", "use1-az6") + offer("p5.48xlarge", "use1-az4")
    return {
        **healthy,
        "ec2": healthy["ec2"] | {"DescribeInstanceTypeOfferings": {"InstanceTypeOfferings": offers}},
        "service-quotas": {
            "ListServiceQuotas": {"Quotas": quotas},
            "GetServiceQuota": {"Quota": {"QuotaName": "Network interfaces per Region", "Value": 5000.0}},
        },
        "sagemaker": {
            "DescribeTrainingPlan": {
                "TrainingPlanArn": PLAN,
                "TrainingPlanName": "large-models-2027",
                "Status": "Active",
                "StartTime": NOW - timedelta(days=1),
                "EndTime": NOW + timedelta(days=30),
                "AvailableInstanceCount": 16,
                "TargetResources": ["hyperpod-cluster"],
                "ReservedCapacitySummaries": [
                    {
                        "ReservedCapacityArn": f"{PLAN}/1",
                        "InstanceType": "ml.p5.48xlarge",
                        "TotalInstanceCount": 16,
                        "Status": "Active",
                        "AvailabilityZoneId": "use1-az4",
                    }
                ],
            }
        },
        "ssm": {"GetParameter": {"Parameter": {"Name": "/cdk-bootstrap/hnb659fds/version", "Value": "30"}}},
    }


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(EXISTING)
    return path


@pytest.fixture
def planned(config: Path) -> Path:
    config.write_text(
        EXISTING.replace("partition: gpu-training", f"partition: gpu-training, training_plan_arn: '{PLAN}'")
    )
    return config


@pytest.fixture(autouse=True)
def today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", NOW.timestamp)


def test_an_account_that_can_give_everything_passes(
    command: Command, monkeypatch: pytest.MonkeyPatch, config: Path
) -> None:
    use_account(monkeypatch, account_of(answers()))
    answer = command("preflight", config)
    assert answer.code == 0, answer.out
    assert answer.lines[:7] == [
        '✔️  Validated quota "ml.m5.xlarge for cluster usage" 4 for 2 ...',
        '✔️  Validated quota "ml.p5.48xlarge for cluster usage" 16 for 16 ...',
        '✔️  Validated quota "Maximum number of instances allowed per SageMaker HyperPod cluster" 50 for 18 ...',
        '✔️  Validated quota "Total number of instances allowed across SageMaker HyperPod clusters" 100 for 18 ...',
        '✔️  Validated quota "Network interfaces per Region" 5000 for 514 ...',
        "✔️  Validated instance type ml.m5.xlarge of controller-group in use1-az4 ...",
        "✔️  Validated instance type ml.m5.xlarge of login-group in use1-az4 ...",
    ]
    assert answer.lines[-2] == "✔️  Validated CDK bootstrap version 30 ..."
    assert answer.lines[-1] == "✅ Preflight succeeded"


Break = Callable[[Answers], object]


def quotas(found: Answers) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = found["service-quotas"]["ListServiceQuotas"]["Quotas"]
    return listed


SHORTAGES: dict[str, tuple[Break, str]] = {
    "type": (lambda a: quotas(a)[1].update(Value=4), '"ml.p5.48xlarge for cluster usage": is 4, the cluster takes 16'),
    "size": (lambda a: quotas(a)[3].update(Value=10), 'per SageMaker HyperPod cluster": is 10, the cluster has 18'),
    "total": (lambda a: quotas(a)[4].update(Value=17), 'across SageMaker HyperPod clusters": is 17'),
    "interfaces": (
        lambda a: a["service-quotas"]["GetServiceQuota"]["Quota"].update(Value=500.0),
        '"Network interfaces per Region": is 500, the nodes take 514',
    ),
    "zone": (
        lambda a: a["ec2"].update(
            DescribeInstanceTypeOfferings={
                "InstanceTypeOfferings": offer("m5.xlarge", "use1-az4") + offer("p5.48xlarge", "use1-az6")
            }
        ),
        "worker-gpu-a: ml.p5.48xlarge is not offered in use1-az4, but in use1-az6",
    ),
    "region": (
        lambda a: a["ec2"].update(
            DescribeInstanceTypeOfferings={"InstanceTypeOfferings": offer("m5.xlarge", "use1-az4")}
        ),
        "worker-gpu-a: ml.p5.48xlarge is not offered in us-east-1",
    ),
    "addresses": (
        lambda a: a["ec2"]["DescribeSubnets"]["Subnets"][0].update(AvailableIpAddressCount=100),
        "has 100 free addresses",
    ),
    "bootstrap": (lambda a: a["ssm"].update(GetParameter=client_error("ParameterNotFound")), "run cdk bootstrap"),
    "old bootstrap": (
        lambda a: a["ssm"]["GetParameter"]["Parameter"].update(Value="5"),
        "is of version 5, allowed: 6 or newer",
    ),
}


@pytest.mark.parametrize("name", SHORTAGES)
def test_a_shortage_is_named(name: str, command: Command, monkeypatch: pytest.MonkeyPatch, config: Path) -> None:
    shortage, words = SHORTAGES[name]
    found = answers()
    shortage(found)
    use_account(monkeypatch, account_of(found))
    answer = command("preflight", config)
    assert answer.code == 1
    assert len([line for line in answer.lines if line.startswith("✖️") and words in line]) == 1, answer.out


def plan(found: Answers) -> dict[str, Any]:
    described: dict[str, Any] = found["sagemaker"]["DescribeTrainingPlan"]
    return described


PLANS: dict[str, tuple[Break, str]] = {
    "none": (lambda a: a["sagemaker"].update(DescribeTrainingPlan=client_error("ResourceNotFound")), "there is none"),
    "of jobs": (lambda a: plan(a).update(TargetResources=["training-job"]), "is for training-job, allowed: hyperpod"),
    "expired": (lambda a: plan(a).update(Status="Expired"), "is Expired, allowed: Active"),
    "to come": (lambda a: plan(a).update(Status="Scheduled", StartTime=NOW + timedelta(days=2)), "begins 2026-12-02"),
    "over": (lambda a: plan(a).update(EndTime=NOW - timedelta(hours=1)), "ended 2026-11-30"),
    "small": (lambda a: plan(a).update(AvailableInstanceCount=8), "has 8 instances free, worker-gpu-a wants 16"),
    "of another type": (
        lambda a: plan(a)["ReservedCapacitySummaries"][0].update(InstanceType="ml.trn2.48xlarge"),
        "is for ml.trn2.48xlarge, worker-gpu-a is of ml.p5.48xlarge",
    ),
    "elsewhere": (
        lambda a: plan(a)["ReservedCapacitySummaries"][0].update(AvailabilityZoneId="use1-az6"),
        "lies in use1-az6, the subnets of worker-gpu-a in use1-az4",
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_training_plan_that_does_not_cover_the_group_is_named(
    name: str, command: Command, monkeypatch: pytest.MonkeyPatch, planned: Path
) -> None:
    fault, words = PLANS[name]
    found = answers()
    fault(found)
    use_account(monkeypatch, account_of(found))
    answer = command("preflight", planned)
    assert answer.code == 1
    assert f"✖️  training plan large-models-2027: {words}" in answer.out


def test_a_training_plan_needs_no_quota_of_its_type(
    command: Command, monkeypatch: pytest.MonkeyPatch, planned: Path
) -> None:
    found = answers()
    quotas(found)[1].update(Value=0)
    use_account(monkeypatch, account_of(found))
    answer = command("preflight", planned)
    assert answer.code == 0
    assert "✔️  Validated training plan large-models-2027 for 16 x ml.p5.48xlarge ..." in answer.lines


def test_a_plan_that_ends_soon_is_a_warning(command: Command, monkeypatch: pytest.MonkeyPatch, planned: Path) -> None:
    found = answers()
    plan(found).update(EndTime=NOW + timedelta(hours=5))
    use_account(monkeypatch, account_of(found))
    answer = command("preflight", planned)
    assert answer.code == 0
    assert "instances end an hour before" in answer.out


def test_a_role_that_the_first_cluster_creates_is_a_warning(
    command: Command, monkeypatch: pytest.MonkeyPatch, config: Path
) -> None:
    found = answers()
    found["iam"]["GetRole"] = client_error("NoSuchEntity")
    use_account(monkeypatch, account_of(found))
    answer = command("preflight", config)
    assert answer.code == 0
    assert "the first cluster creates it if its creator has iam:CreateServiceLinkedRole" in answer.out


def test_an_old_sdk_is_named_with_the_version_that_is_needed(
    command: Command, monkeypatch: pytest.MonkeyPatch, config: Path
) -> None:
    def too_old(_: object) -> None:
        raise UnsuitableSdkError("too old")

    monkeypatch.setattr("hyperpod_constructs.handlers.cluster.clients.check_model", too_old)
    use_account(monkeypatch, account_of(answers()))
    answer = command("preflight", config)
    assert answer.code == 1
    assert "does not know continuous provisioning for Slurm; install boto3 1." in answer.out


def test_without_permissions_everything_is_unknown_with_the_permission(
    command: Command, monkeypatch: pytest.MonkeyPatch, planned: Path
) -> None:
    use_account(monkeypatch, account_of({"sts": healthy_answers()["sts"]}))
    answer = command("preflight", planned)
    assert answer.code == 3
    missing = {line.rpartition(" ")[2] for line in answer.lines if line.startswith("❔") and "permission" in line}
    assert missing == {
        "servicequotas:ListServiceQuotas",
        "servicequotas:GetServiceQuota",
        "ec2:DescribeInstanceTypeOfferings",
        "ec2:DescribeSubnets",
        "sagemaker:DescribeTrainingPlan",
        "iam:GetRole",
        "ssm:GetParameter",
    }


def test_subnets_that_do_not_exist_yet_leave_the_zones_to_choose_from(
    command: Command, monkeypatch: pytest.MonkeyPatch, config: Path
) -> None:
    lines = EXISTING.splitlines()
    config.write_text("\n".join(line for line in lines if not line.startswith(("network", "  vpc", "  sub", "  sec"))))
    use_account(monkeypatch, account_of(answers()))
    answer = command("preflight", config)
    assert answer.code == 0
    expected = "✔️  Validated instance type ml.m5.xlarge of controller-group, offered in use1-az4, use1-az6 ..."
    assert expected in answer.lines


def test_json_and_the_constants(command: Command, monkeypatch: pytest.MonkeyPatch, config: Path) -> None:
    use_account(monkeypatch, account_of(answers()))
    told = command("preflight", config, "--json").json()
    assert told["verdict"] == "passed"
    assert {check["outcome"] for check in told["checks"]} == {"passed"}
    assert tools.OLDEST_BOOTSTRAP == 6
