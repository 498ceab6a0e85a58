"""Topology files that stop Slurm, and the smallest repair of each. Pure functions.

Since April 2026 the platform writes topology files by itself, at times empty or with a part missing (field report
Q-02): jobs are then refused, and Slurm 25.11 ends at an empty topology.yaml.
"""

import re
from dataclasses import dataclass

from nodelib.slurm_conf import pairs, value_of

_NEEDS_FILE = ("topology/tree", "topology/block")
_MARK = "# added by hyperpod-constructs: slurm.conf names this topology, the file lacked it"
_NAME = re.compile(r"^\s*-\s*topology:\s*['\"]?([^\s'\"#]+)", re.MULTILINE)
_REFERENCE = re.compile(r"\bTopology\s*=\s*(\S+)", re.IGNORECASE)
_DEFAULT = re.compile(r"^\s*cluster_default:\s*true", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class Repair:
    """What is to be changed: the new text of topology.yaml, if any; whether TopologyPlugin goes.

    Without the key Slurm has no topology, under whatever name: ``topology/flat`` is unknown to 24.11.
    """

    yaml: str | None = None
    without_plugin: bool = False
    reason: str = ""


def repair(slurm_conf: str, topology_conf: str | None, topology_yaml: str | None) -> Repair:
    """Find out what stops Slurm, if anything. A real topology is left alone.

    Args:
        slurm_conf: with the files that it includes.
        topology_conf: text of the file, ``None`` if there is none.
        topology_yaml: the same; Slurm ignores topology.conf where this exists.
    """
    wanted = referenced(slurm_conf)
    if topology_yaml is not None or wanted:
        return _repair_yaml(topology_yaml or "", wanted, exists=topology_yaml is not None)
    plugin = value_of(slurm_conf, "TopologyPlugin") or ""
    if plugin.lower() in _NEEDS_FILE and not _has_entries(topology_conf or ""):
        return Repair(without_plugin=True, reason=f"TopologyPlugin={plugin} without a topology in topology.conf")
    return Repair()


def referenced(slurm_conf: str) -> list[str]:
    """Topologies that partitions name, in order."""
    lines = [value for key, value in pairs(slurm_conf) if key.lower() == "partitionname"]
    return list(dict.fromkeys(match[1] for line in lines if (match := _REFERENCE.search(line))))


def _repair_yaml(text: str, wanted: list[str], *, exists: bool) -> Repair:
    present = _NAME.findall(text)
    missing = [name for name in wanted if name not in present]
    if not missing and present:
        return Repair()
    missing = missing or ["default"]
    kept = text.rstrip() + "\n" if present else "---\n"
    has_default = bool(_DEFAULT.search(text)) if present else False
    added = [_flat_entry(name, default=not has_default and index == 0) for index, name in enumerate(missing)]
    what = "has no topology" if exists and not present else f"lacks {', '.join(missing)}"
    return Repair(yaml=kept + "".join(added), reason=f"topology.yaml {what}")


def _flat_entry(name: str, *, default: bool) -> str:
    return f"{_MARK}\n- topology: {name}\n  cluster_default: {'true' if default else 'false'}\n  flat: true\n"


def _has_entries(topology_conf: str) -> bool:
    return any(key.lower() in ("switchname", "blockname") for key, _ in pairs(topology_conf))
