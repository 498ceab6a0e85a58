"""The platform's files in their documented forms, and its additive merges. Pure: no node is started."""

import json

import pytest

from hyperpod_constructs.rehearsal.agent import Deviations, Instance, Mount, NodeType, cluster_files
from hyperpod_constructs.rehearsal.agent import slurm_files as slurm
from hyperpod_constructs.rehearsal.agent.imitation import imitation_note

pytestmark = pytest.mark.fast


def instance(host: int, group: str, number: int, kind: NodeType, partition: str = "", **others: object) -> Instance:
    given = {"instance_type": "ml.m5.xlarge", **others}
    return Instance(
        instance_id=f"i-{host:017d}",
        group=group,
        number=number,
        node_type=kind,
        address=f"10.1.2.{host}",
        partition=partition,
        **given,  # type: ignore[arg-type]
    )


CONTROLLER = instance(10, "head", 1, NodeType.CONTROLLER)
LOGIN = instance(11, "door", 1, NodeType.LOGIN)
WORKERS = tuple(instance(20 + n, "p5", n, NodeType.COMPUTE, "train", instance_type="ml.p5.48xlarge") for n in (1, 2))
ALL = (CONTROLLER, LOGIN, *WORKERS)
MOUNTS = (Mount(kind="lustre", source="fs-0a.fsx.us-west-2.amazonaws.com@tcp:/abcd", path="/fsx"),)


def owned(*instances: Instance) -> list[str]:
    return slurm.owned_lines("llm", CONTROLLER, instances)


def test_resource_config_has_the_documented_form() -> None:
    shown = cluster_files("llm", ALL, mounts=MOUNTS).resource_config
    assert shown["ClusterConfig"]["ClusterName"] == "llm"
    assert shown["ClusterType"] == "Slurm"
    assert shown["SlurmConfig"] == {"PrimaryControllerIp": "10.1.2.10", "SecondaryControllerIps": []}
    assert [group["Name"] for group in shown["InstanceGroups"]] == ["head", "door", "p5"]
    assert shown["InstanceGroups"][2]["Instances"][1] == {
        "InstanceName": "p5-2",
        "AgentIpAddress": "172.16.2.22",
        "CustomerIpAddress": "10.1.2.22",
        "InstanceId": "i-00000000000000022",
    }
    json.dumps(shown)


def test_provisioning_parameters_has_the_documented_form() -> None:
    assert cluster_files("llm", ALL, mounts=MOUNTS).provisioning_parameters == {
        "version": "1.0.0",
        "workload_manager": "slurm",
        "controller_group": "head",
        "login_group": "door",
        "worker_groups": [{"instance_group_name": "p5", "partition_name": "train"}],
        "fsx_dns_name": "fs-0a.fsx.us-west-2.amazonaws.com",
        "fsx_mountname": "abcd",
    }


def test_deviations_show_what_scripts_must_live_with() -> None:
    faulty = Deviations(null_groups=("p5",), without_provisioning_parameters=True, without_newer_fields=True)
    files = cluster_files("llm", ALL, deviations=faulty)
    assert files.provisioning_parameters is None
    assert set(files.resource_config) == {"ClusterConfig", "InstanceGroups"}
    assert [group["Instances"] is None for group in files.resource_config["InstanceGroups"]] == [False, False, True]


def test_the_owned_lines_are_those_that_the_documents_name() -> None:
    assert owned(*ALL) == [
        "ClusterName=llm",
        "SlurmctldHost=ip-10-1-2-10(10.1.2.10)",
        "TaskPlugin=task/none",
        "SchedulerParameters=permit_job_expansion",
        "NodeName=ip-10-1-2-11 NodeAddr=10.1.2.11 CPUs=2 RealMemory=2000 State=UNKNOWN",
        "NodeName=ip-10-1-2-21 NodeAddr=10.1.2.21 CPUs=2 RealMemory=2000 Gres=gpu:8 State=UNKNOWN",
        "NodeName=ip-10-1-2-22 NodeAddr=10.1.2.22 CPUs=2 RealMemory=2000 Gres=gpu:8 State=UNKNOWN",
        "PartitionName=dev Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
        "PartitionName=train Nodes=ip-10-1-2-21,ip-10-1-2-22 Default=NO MaxTime=INFINITE State=UP",
    ]


def test_a_login_node_may_be_unknown_to_slurm() -> None:
    lines = slurm.owned_lines("llm", CONTROLLER, ALL, login_is_a_node=False)
    assert not any("ip-10-1-2-11" in line for line in lines)


def test_a_simulated_node_is_down_and_says_why() -> None:
    line = slurm.node_line(instance(30, "p5", 3, NodeType.COMPUTE, "train", real=False))
    assert line.endswith('State=DOWN Reason="simulated by the rehearsal"')


def test_without_nodes_there_is_no_partition_for_slurm_to_refuse() -> None:
    assert not any(line.startswith("PartitionName") for line in owned(CONTROLLER))


def test_gpus_are_counted_by_their_device_files() -> None:
    assert slurm.gres_lines(ALL) == [
        "NodeName=ip-10-1-2-21 Name=gpu File=/dev/nvidia[0-7]",
        "NodeName=ip-10-1-2-22 Name=gpu File=/dev/nvidia[0-7]",
    ]
    single = instance(40, "g5", 1, NodeType.COMPUTE, "x", instance_type="ml.g5.xlarge")
    assert slurm.gres_lines([single]) == ["NodeName=ip-10-1-2-40 Name=gpu File=/dev/nvidia0"]
    assert slurm.gpu_stand_ins(single) == "c /dev/nvidia0 0666 root root - 1:3\n"


def test_a_first_merge_keeps_the_images_keys_and_adds_ours() -> None:
    text = slurm.merged(slurm.IMAGE_SLURM_CONF, owned(*ALL))
    assert text.startswith(slurm.IMAGE_SLURM_CONF)
    assert all(line in text.splitlines() for line in owned(*ALL))


def test_merging_again_changes_nothing() -> None:
    once = slurm.merged(slurm.IMAGE_SLURM_CONF, owned(*ALL))
    assert slurm.merged(once, owned(*ALL), owned(*ALL)) == once


def test_edits_of_others_survive_a_scale_up_in_their_order() -> None:
    before = slurm.merged("A=1\n", owned(CONTROLLER, WORKERS[0])) + "Prolog=/x # ours\nInclude accounting.conf\n"
    after = slurm.merged(before, owned(CONTROLLER, *WORKERS), owned(CONTROLLER, WORKERS[0]))
    lines = after.splitlines()
    assert lines.index("A=1") < lines.index("Prolog=/x # ours") < lines.index("Include accounting.conf")
    assert "PartitionName=train Nodes=ip-10-1-2-21,ip-10-1-2-22 Default=NO MaxTime=INFINITE State=UP" in lines
    assert sum(line.startswith("PartitionName=train") for line in lines) == 1
    assert lines.index(slurm.node_line(WORKERS[1])) < lines.index(
        "PartitionName=dev Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
    ), "Slurm wants a node before the partition that names it"


def test_a_node_that_went_is_removed_and_a_strangers_node_is_not() -> None:
    before = slurm.merged("NodeName=mine CPUs=1\n", owned(*ALL))
    after = slurm.merged(before, owned(CONTROLLER, LOGIN, WORKERS[0]), owned(*ALL))
    assert "ip-10-1-2-22" not in after
    assert "NodeName=mine CPUs=1" in after


def test_a_single_key_that_is_there_is_left_as_it_is() -> None:
    assert "TaskPlugin=task/cgroup" in slurm.merged("TaskPlugin=task/cgroup\n", owned(*ALL))


def test_lines_of_others_in_gres_conf_stay() -> None:
    first = slurm.merged_gres("Name=craynic Count=1\n", ["NodeName=a Name=gpu File=/dev/nvidia0"])
    after = slurm.merged_gres(first, [], ["NodeName=a Name=gpu File=/dev/nvidia0"])
    assert after == "Name=craynic Count=1\n"
    assert slurm.merged_gres("", []) == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("TaskPlugin=task/none", "TaskPlugin=task/cgroup"), 'TaskPlugin was set: "TaskPlugin=task/cgroup"'),
        (("taskplugin=TASK", ""), ""),
        (("SchedulerParameters=permit_job_expansion\n", ""), "SchedulerParameters was removed"),
        (("Default=YES", "Default=NO"), 'PartitionName was set: "PartitionName=dev Nodes=ALL Default=NO'),
        (("CPUs=2 RealMemory=2000 Gres", "CPUs=96 RealMemory=2000 Gres"), "NodeName was set"),
    ],
)
def test_an_edit_of_a_platform_owned_key_is_found(change: tuple[str, str], words: str) -> None:
    written = owned(*ALL)
    found = slurm.edits_of_others(slurm.merged("", written).replace(*change), written)
    assert (found == []) if not words else any(edit.startswith(words) for edit in found), found


def test_a_second_spelling_of_an_owned_key_is_an_edit_too() -> None:
    written = owned(*ALL)
    found = slurm.edits_of_others(slurm.merged("", written) + "partitionname=mine Nodes=ALL\n", written)
    assert found == ['PartitionName was set: "partitionname=mine Nodes=ALL" instead of "nothing"']


def test_an_owned_key_in_an_included_file_is_an_edit() -> None:
    written = owned(*ALL)
    text = slurm.merged("", written) + "include extra.conf\n"
    full = slurm.with_includes(text, {"extra.conf": "SchedulerParameters=bf_window=1\n"}.get)
    assert any(edit.startswith("SchedulerParameters was set") for edit in slurm.edits_of_others(full, written))


def test_other_keys_and_spacing_are_nobodys_business() -> None:
    written = owned(*ALL)
    text = slurm.merged("", written).replace("NodeAddr", " NodeAddr") + "Prolog=/opt/prolog\n# TaskPlugin=task/cgroup\n"
    assert slurm.edits_of_others(text, written) == []


@pytest.mark.parametrize(
    ("instance_type", "words"),
    [
        ("ml.m5.xlarge", ""),
        ("ml.p5.48xlarge", "its 8 GPUs are stand-ins"),
        ("ml.g5.xlarge", "its 1 GPU is a stand-in"),
        ("ml.trn2.48xlarge", "the bed cannot imitate its accelerators"),
        ("ml.z9.huge", "not a type known here"),
    ],
)
def test_what_a_type_lacks_on_the_bed_is_said_in_one_sentence(instance_type: str, words: str) -> None:
    note = imitation_note(instance_type)
    assert (note == "") if not words else (words in note and "\n" not in note)
