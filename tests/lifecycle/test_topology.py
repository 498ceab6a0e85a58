"""Topology files that stop Slurm are repaired; a real topology is left alone."""

import pytest
from nodelib.topology import Repair, repair
from steps.topology_guard import GUARD_TOPOLOGY

from tests.lifecycle.support import Machine, units

CONF = "ClusterName=demo\n"
PARTITION = "PartitionName=train Nodes=ip-10-0-0-1 Topology=train-tree State=UP\n"
SWITCHES = "  tree:\n    switches:\n      - switch: s1\n        nodes: n[1-2]\n"
REAL_YAML = f"- topology: train-tree\n  cluster_default: true\n{SWITCHES}"


@pytest.mark.parametrize(
    ("conf", "tree", "yaml"),
    [
        (CONF, None, None),
        (CONF + "TopologyPlugin=topology/flat\n", None, None),
        (CONF + "TopologyPlugin=topology/tree\n", "SwitchName=s0 Nodes=n[1-4]\n", None),
        (CONF + "TopologyPlugin=topology/block\n", "BlockName=b0 Nodes=n[1-4]\nBlockSizes=4\n", None),
        (CONF + PARTITION, None, REAL_YAML),
        (CONF + "TopologyPlugin=topology/tree\n", None, REAL_YAML),
    ],
)
def test_working_topology_is_left_alone(conf: str, tree: str | None, yaml: str | None) -> None:
    assert repair(conf, tree, yaml) == Repair()


@pytest.mark.parametrize("plugin", ["topology/tree", "topology/block", "Topology/Tree"])
@pytest.mark.parametrize("tree", [None, "", "# nothing yet\n"])
def test_plugin_without_a_topology_goes(plugin: str, tree: str | None) -> None:
    found = repair(CONF + f"TopologyPlugin={plugin}\n", tree, None)
    assert (found.without_plugin, found.yaml) == (True, None)


@pytest.mark.parametrize("empty", ["", "[]\n", "---\n", "# nothing\n"])
def test_empty_yaml_gets_the_topologies_that_partitions_name(empty: str) -> None:
    found = repair(CONF + PARTITION, None, empty)
    assert found.yaml is not None
    assert "- topology: train-tree\n  cluster_default: true\n  flat: true\n" in found.yaml
    assert found.reason == "topology.yaml has no topology"
    assert repair(CONF + PARTITION, None, found.yaml) == Repair()


def test_empty_yaml_without_references_gets_a_default() -> None:
    found = repair(CONF, None, "[]")
    assert "- topology: default\n" in (found.yaml or "")


def test_partial_yaml_keeps_what_it_has() -> None:
    other = PARTITION.replace("train", "infer")
    found = repair(CONF + PARTITION + other, None, REAL_YAML)
    assert (found.yaml or "").startswith(REAL_YAML)
    assert "- topology: infer-tree\n  cluster_default: false\n  flat: true\n" in (found.yaml or "")
    assert found.reason == "topology.yaml lacks infer-tree"


def test_step_repairs_now_and_before_each_start_of_slurmctld(machine: Machine) -> None:
    units(machine, "slurmctld")
    machine.put("/opt/slurm/etc/slurm.conf", CONF + "TopologyPlugin=topology/tree\n")
    context = machine.context("controller")
    [result] = machine.run(context, GUARD_TOPOLOGY)
    assert result.remarks == ("repaired: TopologyPlugin=topology/tree without a topology in topology.conf",)
    assert machine.get("/opt/slurm/etc/slurm.conf") == CONF
    drop_in = machine.get("/etc/systemd/system/slurmctld.service.d/50-hyperpod-constructs-topology.conf")
    command = "/usr/bin/python3 -B /opt/hyperpod-constructs/lifecycle_script.py --only guard_topology"
    assert f"ExecStartPre=-+{command}" in drop_in
    assert machine.run(context, GUARD_TOPOLOGY)[0].changed == ()
