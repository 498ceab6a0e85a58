"""The older form: what the service's pages on it show, made from the same specification."""

import json
from typing import Any

import pytest

from hyperpod_constructs.classic import PARAMETERS_FILE, REQUEST_FILE, classic_form, classic_problems
from hyperpod_constructs.lifecycle_options import LifecycleScripts
from hyperpod_constructs.options import LifecycleStyle
from tests.core.full_specs import FULL, full_bindings
from tests.core.model import problems_of
from tests.core.support import LUSTRE, OPEN_ZFS, ROLE, SCRIPTS, a_cluster, bindings_for, check_golden


def _documented() -> tuple[dict[str, Any], dict[str, Any]]:
    form = classic_form(a_cluster(), bindings_for(a_cluster()))
    return form.create_cluster, form.provisioning_parameters


def test_the_parameters_say_what_each_group_is_to_slurm() -> None:
    assert _documented()[1] == {
        "version": "1.0.0",
        "workload_manager": "slurm",
        "controller_group": "controller-group",
        "login_group": "login-group",
        "worker_groups": [{"instance_group_name": "worker-gpu-a", "partition_name": "gpu-training"}],
        "fsx_dns_name": LUSTRE.dns_name,
        "fsx_mountname": LUSTRE.mount_name,
    }


def test_the_request_knows_neither_an_orchestrator_nor_a_provisioning_mode() -> None:
    request, _ = _documented()
    assert set(request) == {"ClusterName", "InstanceGroups", "VpcConfig", "NodeRecovery"}
    assert request["InstanceGroups"][2] == {
        "InstanceGroupName": "worker-gpu-a",
        "InstanceType": "ml.p5.48xlarge",
        "InstanceCount": 16,
        "LifeCycleConfig": {"SourceS3Uri": SCRIPTS, "OnCreate": "on_create.sh"},
        "ExecutionRole": ROLE,
        "ThreadsPerCore": 2,
    }
    assert problems_of(request) == []


def test_a_cluster_without_login_group_and_file_system_names_neither() -> None:
    spec = a_cluster(login=None)
    parameters = classic_form(spec, bindings_for(spec, mounts=())).provisioning_parameters
    assert not {"login_group", "fsx_dns_name", "fsx_mountname"} & set(parameters)


def test_an_open_zfs_file_system_at_home_is_named() -> None:
    form = classic_form(a_cluster(), bindings_for(a_cluster(), mounts=(LUSTRE, OPEN_ZFS)))
    assert form.provisioning_parameters["fsx_openzfs_dns_name"] == OPEN_ZFS.dns_name
    assert form.left_out == ()


def test_every_group_is_set_up_by_scripts_whatever_its_style() -> None:
    spec = a_cluster(lifecycle=LifecycleScripts(style=LifecycleStyle.IMAGE_ONLY))
    form = classic_form(spec, bindings_for(spec))
    assert {group["LifeCycleConfig"]["OnCreate"] for group in form.create_cluster["InstanceGroups"]} == {"on_create.sh"}
    assert {group["style"] for group in form.node_config["groups"].values()} == {"on_create"}


def test_what_the_older_form_cannot_say_is_told() -> None:
    form = classic_form(FULL, full_bindings())
    told = {sentence.partition(":")[0] for sentence in form.left_out}
    assert told == {
        "controller.lifecycle_style",
        "login.min_instance_count",
        "compute[0].min_instance_count",
        "compute[0].lifecycle_style",
        "compute[0].volume_kms_key",
        "accounting",
    }
    assert problems_of(form.create_cluster) == []


def test_golden_files_of_the_older_form() -> None:
    for path, text in classic_form(a_cluster(), bindings_for(a_cluster())).files().items():
        check_golden(f"classic/{path}", text)


def test_files_that_agree_have_no_problem() -> None:
    assert classic_problems(*_documented()) == []
    assert classic_problems(*(json.loads(json.dumps(part)) for part in _documented())) == []


@pytest.mark.parametrize(
    ("file", "change", "path", "says"),
    [
        (1, {"controller_group": "controller"}, "controller_group", "a group of create_cluster.json"),
        (1, {"controller_group": None}, "controller_group", "missing"),
        (1, {"worker_groups": []}, "worker-gpu-a", "nothing to Slurm"),
        (1, {"worker_groups": "x"}, "worker-gpu-a", "nothing to Slurm"),
        (1, {"login_group": "controller-group"}, "login_group", "name it once"),
        (1, {"version": "2"}, "version", '"1.0.0"'),
        (1, {"workload_manager": "pbs"}, "workload_manager", '"slurm"'),
        (1, {"fsx_mountname": ""}, "fsx_mountname", "both or neither"),
        (0, {"VpcConfig": None}, "VpcConfig", "in a VPC of yours"),
        (0, {"Orchestrator": {"Slurm": {}}}, "Orchestrator", "refuses both together"),
        (0, {"InstanceGroups": None}, "InstanceGroups", "missing"),
    ],
)
def test_files_that_do_not_agree_are_refused(file: int, change: dict[str, Any], path: str, says: str) -> None:
    files = list(_documented())
    files[file] = files[file] | change
    found = [problem for problem in classic_problems(*files) if problem.path.endswith(path) and says in problem.message]
    assert len(found) == 1
    assert found[0].path.startswith((PARAMETERS_FILE, REQUEST_FILE))


def test_a_group_named_twice_is_refused() -> None:
    request, parameters = _documented()
    request["InstanceGroups"].append(request["InstanceGroups"][2])
    assert [problem.path for problem in classic_problems(request, parameters)] == [
        "create_cluster.json: InstanceGroups[3].InstanceGroupName"
    ]


@pytest.mark.parametrize("odd", [None, [], "text", 5])
def test_something_else_than_json_objects_is_refused_in_words(odd: object) -> None:
    assert len(classic_problems(odd, {})) == 1
    assert len(classic_problems({}, odd)) == 1
