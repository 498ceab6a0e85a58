"""The HyperPod service launches its instances on the bed: what the API answers follows from what the scripts did."""

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hyperpod_constructs.rehearsal.agent import FolderScripts, Story, Style
from hyperpod_constructs.rehearsal.agent.from_options import launcher as launcher_from_options
from hyperpod_constructs.rehearsal.agent.from_options import story as story_from_options
from hyperpod_constructs.rehearsal.agent.launcher import BedLauncher, mounts_of, style_of, volumes_of
from hyperpod_constructs.rehearsal.nodes import Bed
from hyperpod_constructs.rehearsal.service import (
    CompositeLauncher,
    HyperPodService,
    LocalClient,
    MemoryLogSink,
    SimulatedLauncher,
)

from .conftest import SCRIPTS, within

ROLE = "arn:aws:iam::111122223333:role/iam-role-for-cluster"
DNS = "fs-0123456789abcdef7.fsx.us-west-2.amazonaws.com"
STORAGE = [{"FsxLustreConfig": {"DnsName": DNS, "MountName": "abcdefgh"}}]
GOOD, BROKEN = "s3://sagemaker-tests/good", "s3://sagemaker-tests/broken"

_networks = itertools.count(100)


def group(name: str, node_type: str, count: int = 1, source: str | None = GOOD, **more: Any) -> dict[str, Any]:
    slurm: dict[str, Any] = {"NodeType": node_type}
    if node_type == "Compute":
        slurm["PartitionNames"] = ["train"]
    lifecycle = {"LifeCycleConfig": {"SourceS3Uri": source, "OnCreate": "on_create.sh"}} if source else {}
    return {
        "InstanceGroupName": name,
        "InstanceType": "ml.m5.xlarge",
        "InstanceCount": count,
        "ExecutionRole": ROLE,
        "SlurmConfig": slurm,
        "InstanceStorageConfigs": STORAGE,
        **lifecycle,
        **more,
    }


@dataclass
class Account:
    """A service whose first nodes of each group are real."""

    bed: Bed
    service: HyperPodService
    client: Any
    logs: MemoryLogSink
    name: str

    def create(self, *groups: dict[str, Any]) -> None:
        self.client.create_cluster(
            ClusterName=self.name,
            NodeProvisioningMode="Continuous",
            Orchestrator={"Slurm": {}},
            InstanceGroups=list(groups),
            VpcConfig={"SecurityGroupIds": ["sg-12345678"], "Subnets": ["subnet-12345678"]},
        )

    def until(self, condition: Callable[[], bool], seconds: float = 60) -> bool:
        def look() -> bool:
            self.service.tick()
            return condition()

        return within(seconds, look)

    def describe(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.describe_cluster(ClusterName=self.name)
        return found

    def counts(self) -> dict[str, int]:
        return {one["InstanceGroupName"]: one["CurrentCount"] for one in self.describe()["InstanceGroups"]}

    def nodes(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client.list_cluster_nodes(ClusterName=self.name)["ClusterNodeSummaries"]
        return found

    def host(self, group_name: str, number: int = 0) -> str:
        """Host name of a group's node."""
        names = sorted(
            node["PrivateDnsHostname"].partition(".")[0]
            for node in self.nodes()
            if node["InstanceGroupName"] == group_name and "PrivateDnsHostname" in node
        )
        return str(names[number])

    def on(self, host: str, text: str) -> str:
        return self.bed.run(host, ["bash", "-c", text], check=True).stdout

    def log_text(self) -> str:
        return "\n".join(
            f"{stream}: {line}"
            for streams in self.logs.streams.values()
            for stream, lines in streams.items()
            for line in lines
        )


@pytest.fixture
def account(bed: Bed, tmp_path: Path) -> Iterator[Account]:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "on_create.sh").write_text("#!/bin/bash\necho step mount: cannot mount the file system >&2\nexit 5\n")
    network = next(_networks)
    real = BedLauncher(bed, FolderScripts({GOOD: SCRIPTS, BROKEN: broken}))
    logs = MemoryLogSink()
    service = HyperPodService(
        launcher=CompositeLauncher(real, SimulatedLauncher(), 2), log_sink=logs, node_network=f"10.{network}.0.0/16"
    )
    account = Account(bed, service, LocalClient(service), logs, f"cluster-{network}")
    yield account
    if service.context.clusters:
        account.client.delete_cluster(ClusterName=account.name)
        assert account.until(lambda: not service.context.clusters)
    real.close()
    prefix = f"ip-10-{network}-"
    assert within(20, lambda: not any(node["name"].startswith(prefix) for node in bed.nodes()))


@pytest.mark.nodes
def test_a_cluster_of_the_service_runs_jobs_scales_and_ends(account: Account) -> None:
    workers = group("workers", "Compute", 2)
    account.create(group("head", "Controller"), group("login", "Login"), workers)
    wanted = {"head": 1, "login": 1, "workers": 2}
    assert account.until(lambda: account.describe()["ClusterStatus"] == "InService" and account.counts() == wanted)
    login = account.host("login")
    idle = "sinfo -h -N -p train -t idle -o %N | sort -u"
    assert within(30, lambda: len(account.on(login, idle).split()) == 2)
    assert len(set(account.on(login, "srun -p train -N2 hostname").split())) == 2
    account.on(account.host("workers"), "echo shared >/fsx/written")
    assert account.on(account.host("workers", 1), "cat /fsx/written").strip() == "shared"
    assert "The lifecycle scripts succeeded" in account.log_text()
    assert "script: role=controller" in account.log_text()

    account.client.update_cluster(ClusterName=account.name, InstanceGroups=[{**workers, "InstanceCount": 3}])
    assert account.until(lambda: account.counts()["workers"] == 3)
    shown = account.on(account.host("head"), "cat /opt/slurm/etc/slurm.conf")
    assert shown.count("simulated by the rehearsal") == 1, "the third worker is beyond the limit of two real ones"
    assert account.on(login, "srun -p train -N2 hostname | wc -l").strip() == "2"

    account.client.update_cluster(ClusterName=account.name, InstanceGroups=[{**workers, "InstanceCount": 1}])
    assert account.until(lambda: account.counts()["workers"] == 1 and len(account.nodes()) == 3)
    partition = "sed -n 's/^PartitionName=train Nodes=\\([^ ]*\\).*/\\1/p' /opt/slurm/etc/slurm.conf"
    assert within(20, lambda: account.on(account.host("head"), partition).strip() == account.host("workers"))


@pytest.mark.nodes
def test_a_broken_controller_script_fails_the_cluster_with_its_last_words(account: Account) -> None:
    account.create(group("head", "Controller", source=BROKEN), group("workers", "Compute"))
    assert account.until(lambda: account.describe()["ClusterStatus"] == "Failed")
    assert "Lifecycle scripts did not run successfully" in account.describe()["FailureMessage"]
    assert "LifecycleConfig/head/" in account.log_text()
    assert "step mount: cannot mount the file system" in account.log_text()


@pytest.mark.nodes
def test_a_broken_worker_leaves_the_cluster_in_service_and_is_retried(account: Account) -> None:
    account.create(group("head", "Controller"), group("workers", "Compute", source=BROKEN))
    assert account.until(lambda: account.describe()["ClusterStatus"] == "InService")

    def tries() -> int:
        text = account.log_text()
        return sum("LifecycleConfig/workers/" in line and "step mount:" in line for line in text.splitlines())

    assert account.until(lambda: tries() >= 2), account.log_text()
    assert account.counts() == {"head": 1, "workers": 0}


@pytest.mark.nodes
def test_a_replaced_worker_is_a_fresh_machine_and_a_rebooted_one_is_not(account: Account) -> None:
    account.create(group("head", "Controller"), group("workers", "Compute"))
    assert account.until(lambda: account.counts() == {"head": 1, "workers": 1})
    host = account.host("workers")
    account.on(host, "touch /root/mark; touch /fsx/mark")

    def worker() -> dict[str, Any]:
        return next(node for node in account.nodes() if node["InstanceGroupName"] == "workers")

    first = worker()["InstanceId"]
    account.client.batch_reboot_cluster_nodes(ClusterName=account.name, NodeIds=[first])
    assert account.until(lambda: next(n["boots"] for n in account.bed.nodes() if n["name"] == host) == 2)
    assert account.until(lambda: worker()["InstanceStatus"]["Status"] == "Running")
    assert account.on(host, "ls /root/mark").strip() == "/root/mark"

    account.client.batch_replace_cluster_nodes(ClusterName=account.name, NodeIds=[first])
    assert account.until(lambda: worker().get("InstanceId") not in (first, "") and account.counts()["workers"] == 1)
    assert account.host("workers") == host
    assert account.on(host, "ls /root; ls /fsx/mark").strip() == "/fsx/mark"


@pytest.mark.nodes
def test_a_worker_is_ended_in_the_middle_of_its_script(account: Account, tmp_path: Path) -> None:
    (tmp_path / "broken/on_create.sh").write_text("#!/bin/bash\necho asleep\nsleep 500\n")
    workers = group("workers", "Compute", source=BROKEN)
    account.create(group("head", "Controller"), workers)
    assert account.until(lambda: "asleep" in account.log_text())
    started = time.monotonic()
    account.client.update_cluster(ClusterName=account.name, InstanceGroups=[{**workers, "InstanceCount": 0}])
    assert account.until(lambda: len([n for n in account.bed.nodes() if n["labels"].get("group") == "workers"]) == 0)
    assert time.monotonic() - started < 30


@pytest.mark.fast
@pytest.mark.parametrize(
    ("specification", "expected"),
    [
        ({}, Style.IMAGE_ONLY),
        ({"LifeCycleConfig": {"SourceS3Uri": GOOD, "OnCreate": "a.sh"}}, Style.ON_CREATE),
        ({"LifeCycleConfig": {"SourceS3Uri": GOOD, "OnInitComplete": "a.sh"}}, Style.ON_INIT_COMPLETE),
    ],
)
def test_the_style_follows_from_the_lifecycle_configuration(specification: dict[str, Any], expected: Style) -> None:
    assert style_of(specification) is expected


@pytest.mark.fast
def test_mounts_and_volumes_follow_from_the_storage_configuration() -> None:
    specification = {
        "InstanceStorageConfigs": [
            {"EbsVolumeConfig": {"RootVolume": True, "VolumeKmsKeyId": "k"}},
            {"EbsVolumeConfig": {"VolumeSizeInGB": 500}},
            {"FsxLustreConfig": {"DnsName": DNS, "MountName": "abcd", "MountPath": "/scratch"}},
            {"FsxOpenZfsConfig": {"DnsName": "fs-0b.fsx.us-west-2.amazonaws.com"}},
        ]
    }
    assert [(one.kind, one.source, one.path) for one in mounts_of(specification)] == [
        ("lustre", f"{DNS}@tcp:/abcd", "/scratch"),
        ("nfs", "fs-0b.fsx.us-west-2.amazonaws.com:/fsx", "/home"),
    ]
    assert volumes_of(specification, "ml.m5.xlarge") == ("/opt/sagemaker",)
    assert volumes_of({}, "ml.p5.48xlarge") == ("/opt/dlami/nvme",)


@pytest.mark.fast
def test_the_story_comes_from_the_command_lines_options() -> None:
    told = story_from_options({"slurm-conf-delay": "5", "image-setup": "during", "script-timeout": "60"})
    assert told == Story(slurm_conf_delay_seconds=5.0, image_setup="during", script_timeout_seconds=60.0)  # type: ignore[arg-type]


@pytest.mark.fast
def test_wrong_launcher_options_are_all_named() -> None:
    with pytest.raises(ValueError, match="missing bed, unknown colour; allowed: bed, aws-endpoint"):
        launcher_from_options({"aws-endpoint": "http://127.0.0.1:1", "colour": "red"})
