"""What validate says about an account, one fault at a time; and what it says when it may not look, or cannot."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError

from tests.cli.support import (
    GROUP,
    SUBNET,
    Command,
    account_of,
    classic_pair,
    client_error,
    healthy_answers,
    self_rule,
    use_account,
    write_pair,
)

Answers = dict[str, dict[str, Any]]


def subnet(answers: Answers) -> dict[str, Any]:
    found: dict[str, Any] = answers["ec2"]["DescribeSubnets"]["Subnets"][0]
    return found


def group(answers: Answers) -> dict[str, Any]:
    found: dict[str, Any] = answers["ec2"]["DescribeSecurityGroups"]["SecurityGroups"][0]
    return found


def file_system(answers: Answers) -> dict[str, Any]:
    found: dict[str, Any] = answers["fsx"]["DescribeFileSystems"]["FileSystems"][0]
    return found


OPEN = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
Break = Callable[[Answers], object]

FAULTS: dict[str, tuple[Break, str]] = {
    "no such subnet": (
        lambda a: a["ec2"].update(DescribeSubnets={"Subnets": []}),
        f"subnet {SUBNET}: there is none in us-east-1",
    ),
    "small subnet": (
        lambda a: subnet(a).update(AvailableIpAddressCount=251),
        "has 251 free addresses, the instances of controller-group, login-group, worker-gpu-a take 514",
    ),
    "public addresses": (lambda a: subnet(a).update(MapPublicIpOnLaunch=True), "nodes have none"),
    "internet gateway": (
        lambda a: a["ec2"].update(
            DescribeRouteTables={
                "RouteTables": [{"Routes": [{"DestinationCidrBlock": "0.0.0.0/0", "GatewayId": "igw-1"}]}]
            }
        ),
        "its default route leads to igw-1",
    ),
    "no such group": (
        lambda a: a["ec2"].update(DescribeSecurityGroups={"SecurityGroups": []}),
        f"security group {GROUP}: there is none",
    ),
    "no self rule in": (lambda a: group(a).update(IpPermissions=[]), f"{GROUP} ingress: no rule for all traffic"),
    "no self rule out": (
        lambda a: group(a).update(IpPermissionsEgress=[OPEN]),
        f"{GROUP} egress: no rule for all traffic names the group itself, and EFA does not take an open rule for one",
    ),
    "rule of another group": (
        lambda a: group(a).update(IpPermissions=[self_rule("sg-99999999")]),
        f"add a rule for all traffic from {GROUP}",
    ),
    "group of another VPC": (lambda a: group(a).update(VpcId="vpc-other"), "use one VPC"),
    "no such file system": (
        lambda a: a["fsx"].update(DescribeFileSystems=client_error("FileSystemNotFound")),
        "there is no fs-0123456789abcdef0 in us-east-1",
    ),
    "another DNS name": (lambda a: file_system(a).update(DNSName="fs-1.fsx.example.com"), "its DNS name is fs-1.fsx"),
    "another mount name": (
        lambda a: file_system(a).update(LustreConfiguration={"MountName": "zzzzzzzz"}),
        "got the mount name 'abcdefgh', it is 'zzzzzzzz'",
    ),
    "OpenZFS": (lambda a: file_system(a).update(FileSystemType="OPENZFS"), "is of type OPENZFS, allowed: LUSTRE"),
    "not yet there": (lambda a: file_system(a).update(Lifecycle="CREATING"), "is CREATING, allowed: AVAILABLE"),
    "old version": (lambda a: file_system(a).update(FileSystemTypeVersion="2.10"), "is of version 2.10"),
    "other VPC": (lambda a: file_system(a).update(VpcId="vpc-other"), "lies in vpc-other, the nodes in vpc-0123"),
    "no such role": (
        lambda a: a["iam"].update(GetRole=client_error("NoSuchEntity")),
        "execution role hyperpod-nodes: there is none",
    ),
    "another role of that name": (
        lambda a: a["iam"]["GetRole"]["Role"].update(Arn="arn:aws:iam::111122223333:role/team/hyperpod-nodes"),
        "its ARN is arn:aws:iam::111122223333:role/team/hyperpod-nodes",
    ),
    "role for EC2": (
        lambda a: a["iam"]["GetRole"]["Role"].update(
            AssumeRolePolicyDocument={"Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}}]}
        ),
        "its trust policy does not let sagemaker.amazonaws.com take it",
    ),
    "no such bucket": (
        lambda a: a["s3"].update(ListObjectsV2=client_error("NoSuchBucket")),
        "bucket sagemaker-scripts-111122223333-us-east-1: there is none",
    ),
    "scripts not uploaded": (lambda a: a["s3"].update(ListObjectsV2={}), "has no on_create.sh"),
    "parameters not uploaded": (
        lambda a: a["s3"].update(ListObjectsV2={"Contents": [{"Key": "0123456789abcdef/on_create.sh"}]}),
        "has no provisioning_parameters.json",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_account_is_named(
    name: str, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fault, words = FAULTS[name]
    answers = healthy_answers()
    fault(answers)
    use_account(monkeypatch, account_of(answers))
    answer = command("validate", *write_pair(tmp_path, classic_pair()))
    assert answer.code == 1
    assert len([line for line in answer.lines if line.startswith("✖️") and words in line]) == 1, answer.out


def test_subnets_of_two_vpcs_are_refused(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers = healthy_answers()
    second = subnet(answers) | {"SubnetId": "subnet-22222222", "VpcId": "vpc-22222222"}
    answers["ec2"]["DescribeSubnets"]["Subnets"].append(second)
    use_account(monkeypatch, account_of(answers))
    pair = classic_pair()
    pair[0]["VpcConfig"]["Subnets"].append("subnet-22222222")
    answer = command("validate", *write_pair(tmp_path, pair))
    assert f"subnets: got {SUBNET} in vpc-0123456789abcdef0, subnet-22222222 in vpc-22222222" in answer.out


def test_a_file_system_in_another_zone_is_refused(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers = healthy_answers()
    answers["ec2"]["DescribeSubnets"]["Subnets"].append(
        subnet(answers) | {"SubnetId": "subnet-22222222", "AvailabilityZoneId": "use1-az6"}
    )
    file_system(answers)["SubnetIds"] = ["subnet-22222222"]
    use_account(monkeypatch, account_of(answers))
    answer = command("validate", *write_pair(tmp_path, classic_pair()))
    assert f"lies in use1-az6, subnet {SUBNET} of the nodes in use1-az4; keep both in one zone" in answer.out


def test_an_open_rule_suffices_without_efa_but_is_told(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers = healthy_answers()
    group(answers).update(IpPermissionsEgress=[OPEN])
    use_account(monkeypatch, account_of(answers))
    pair = classic_pair()
    pair[0]["InstanceGroups"][2]["InstanceType"] = "ml.c5.4xlarge"
    answer = command("validate", *write_pair(tmp_path, pair))
    assert answer.code == 0
    assert f"⚠️  security group {GROUP}: its egress rules are open to everything" in answer.out


def test_a_bucket_that_the_managed_policy_does_not_reach_is_told(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_account(monkeypatch, account_of(healthy_answers()))
    pair = classic_pair()
    for one in pair[0]["InstanceGroups"]:
        one["LifeCycleConfig"]["SourceS3Uri"] = "s3://my-scripts/0123456789abcdef"
    answer = command("validate", *write_pair(tmp_path, pair))
    assert "reads buckets named sagemaker-... only, not my-scripts" in answer.out


def test_without_permissions_each_look_is_unknown_and_names_the_permission(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_account(monkeypatch, account_of({"sts": healthy_answers()["sts"], "ec2": {}, "fsx": {}, "iam": {}, "s3": {}}))
    answer = command("validate", *write_pair(tmp_path, classic_pair()))
    assert answer.code == 3
    missing = [line.rpartition(" ")[2] for line in answer.lines if line.startswith("❔") and "permission" in line]
    assert missing == [
        "ec2:DescribeSubnets",
        "ec2:DescribeSecurityGroups",
        "fsx:DescribeFileSystems",
        "iam:GetRole",
        "s3:ListBucket",
    ]
    assert answer.lines[-1] == "❔ Cluster Validation: nothing failed, 5 of 8 checks not known"


def test_what_failed_counts_more_than_what_is_unknown(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers = healthy_answers() | {"iam": {}}
    group(answers).update(IpPermissions=[])
    use_account(monkeypatch, account_of(answers))
    assert command("validate", *write_pair(tmp_path, classic_pair())).code == 1


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (NoCredentialsError(), "no credentials"),
        (client_error("ExpiredToken", "The security token is expired."), "the credentials are not valid"),
        (EndpointConnectionError(endpoint_url="https://sts.example"), "no answer from AWS"),
        (client_error("Throttling", "Rate exceeded"), "too many requests"),
    ],
)
def test_an_account_that_cannot_be_asked_is_one_line(
    error: Exception, says: str, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_account(monkeypatch, account_of({"sts": {"GetCallerIdentity": error}}))
    answer = command("validate", *write_pair(tmp_path, classic_pair()))
    assert answer.code == 3
    assert [line for line in answer.lines if line.startswith("❔ the account") and says in line]


def test_the_real_sdk_without_credentials_or_region_is_unknown(command: Command, tmp_path: Path) -> None:
    files = write_pair(tmp_path, classic_pair())
    nowhere = command("validate", *files)
    assert (nowhere.code, "no region is configured; give --region" in nowhere.out) == (3, True)
    nobody = command("validate", "--region", "us-east-1", *files)
    assert (nobody.code, "the account was not looked at: no credentials" in nobody.out) == (3, True)


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [("--profile", "nobody", "no such profile"), ("--region", "us-eest", "got the region 'us-eest'")],
)
def test_a_profile_or_region_that_does_not_exist_ends_the_command(
    option: str, value: str, says: str, command: Command, tmp_path: Path
) -> None:
    answer = command("validate", option, value, *write_pair(tmp_path, classic_pair()))
    assert (answer.code, answer.out) == (1, "")
    assert says in answer.err


def test_json_holds_every_check_and_the_verdict(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answers = healthy_answers()
    subnet(answers).update(MapPublicIpOnLaunch=True)
    use_account(monkeypatch, account_of(answers))
    pair = classic_pair()
    pair[1]["workload_manager"] = "pbs"
    answer = command("validate", "--json", *write_pair(tmp_path, pair))
    told = answer.json()
    assert (answer.code, told["verdict"], told["clusters"]) == (1, "failed", ["my-training-cluster"])
    failed = [check for check in told["checks"] if check["outcome"] == "failed"]
    assert [check["rule"] for check in failed] == ["classic-form", ""]
    assert failed[0]["place"].endswith("provisioning_parameters.json:3:3")


def test_a_prefix_with_the_classic_file_fails_a_continuous_cluster(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_account(monkeypatch, account_of(healthy_answers()))
    golden = Path(__file__).parents[1] / "goldens" / "requests" / "documented.json"
    request = json.loads(golden.read_text())
    (tmp_path / "request.json").write_text(json.dumps(request))
    answer = command("validate", tmp_path / "request.json")
    assert "has provisioning_parameters.json, which the service refuses beside SlurmConfig" in answer.out
    assert answer.code == 1
