"""Each example says what it shows, warns of nothing, and gives what its first line promises."""

import json
from collections import Counter

import pytest

from tests.app.support import APPS, ROOT, assembly, resources

_INLINE_TEMPLATE_BYTES = 51200  # CloudFormation quota for a template in the request; larger ones go over S3
# The multi-zone example has two NAT gateways and two zones of subnets.
_LARGE = {"multi_zone"}


@pytest.mark.parametrize("name", APPS)
def test_an_app_of_this_repository_warns_of_nothing(name: str) -> None:
    assert assembly(name).messages == []


@pytest.mark.parametrize("name", APPS)
def test_every_finding_of_cdk_nag_is_acknowledged_with_a_reason(name: str) -> None:
    assert assembly(name).nag == []


@pytest.mark.parametrize("name", sorted(set(APPS) - _LARGE))
def test_a_template_fits_into_a_request(name: str) -> None:
    for stack, template in assembly(name).templates.items():
        assert len(json.dumps(template, separators=(",", ":"))) < _INLINE_TEMPLATE_BYTES, stack


def test_where_everything_is_brought_the_template_holds_only_what_is_ours() -> None:
    kinds = Counter(resource["Type"] for _, _, resource in resources("bring_your_own"))
    brought = ("AWS::EC2::", "AWS::FSx::", "AWS::S3::", "AWS::KMS::", "AWS::RDS::")
    assert not [kind for kind in kinds if kind.startswith(brought)]
    assert kinds["Custom::HyperPodCluster"] == 1
    assert set(kinds) == {
        "AWS::IAM::Policy",
        "AWS::IAM::Role",
        "AWS::Lambda::Function",
        "AWS::Lambda::LayerVersion",
        "AWS::Logs::LogGroup",
        "AWS::StepFunctions::StateMachine",
        "Custom::CDKBucketDeployment",
        "Custom::HyperPodCluster",
    }


def test_the_cluster_of_the_repositorys_app_can_go_and_come_back_while_data_stays() -> None:
    templates = assembly("app").templates
    stateful = {"AWS::EC2::VPC", "AWS::EC2::Subnet", "AWS::EC2::SecurityGroup", "AWS::FSx::FileSystem"}
    assert not stateful & {item["Type"] for item in templates["HyperPod"]["Resources"].values()}
    assert stateful <= {item["Type"] for item in templates["HyperPodFoundation"]["Resources"].values()}


def test_the_storage_stack_exports_nothing_that_would_lock_it_while_a_cluster_uses_it() -> None:
    # Field report P-07: an export in use can be neither changed nor removed. Weak references read plain outputs.
    for name in ("app", "shared_storage", "external_database"):
        for template in assembly(name).templates.values():
            assert not [output for output in template.get("Outputs", {}).values() if "Export" in output]
            assert "Fn::ImportValue" not in json.dumps(template)


def test_two_clusters_on_one_storage_are_two_stacks_that_do_not_know_each_other() -> None:
    templates = assembly("shared_storage").templates
    assert '"Research"' not in json.dumps(templates["Production"])
    assert '"Production"' not in json.dumps(templates["Research"])


def test_without_internet_nothing_leads_out() -> None:
    kinds = {resource["Type"] for _, _, resource in resources("isolated")}
    assert not kinds & {"AWS::EC2::NatGateway", "AWS::EC2::InternetGateway", "AWS::EC2::EIP"}


@pytest.mark.parametrize("name", APPS)
def test_an_example_begins_with_what_it_shows(name: str) -> None:
    path = ROOT / "app.py" if name == "app" else ROOT / "examples" / name / "app.py"
    assert path.read_text().startswith('"""')
