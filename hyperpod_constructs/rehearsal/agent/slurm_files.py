"""The platform's part of slurm.conf and gres.conf, merged into what is there (FACTS 6.3). Pure functions.

In Continuous mode the platform writes additively: the lines of nodes and partitions, the keys it needs where they are
missing, and nothing else; edits of others stay.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from hyperpod_constructs.rehearsal.agent.cluster import Instance, NodeType

OWNED_KEYS = ("ClusterName", "SlurmctldHost", "NodeName", "PartitionName", "TaskPlugin", "SchedulerParameters")
_ONCE = ("ClusterName", "SlurmctldHost", "TaskPlugin", "SchedulerParameters")
_MANY = ("NodeName", "PartitionName")
_LINE = re.compile(r"\s*(?P<key>[A-Za-z]+)\s*=\s*(?P<value>\S*)")

SLURM_CONF = "/opt/slurm/etc/slurm.conf"
GRES_CONF = "/opt/slurm/etc/gres.conf"

# What is real on a node of the bed, whatever instance type it plays; larger ones are believed (config_overrides).
NODE_CPUS = 2
NODE_MEMORY_MB = 2000

# Everything in the image's slurm.conf that is not the platform's. What the image sets beyond this is not known; what a
# script needs (ReturnToService, accounting, prolog) it must therefore set itself.
IMAGE_SLURM_CONF = """\
# slurm.conf of the rehearsal's image
AuthType=auth/munge
SlurmUser=slurm
SlurmctldParameters=enable_configless
SlurmdParameters=config_overrides
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldLogFile=/var/log/slurm/slurmctld.log
SlurmdLogFile=/var/log/slurm/slurmd.log
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ProctrackType=proctrack/linuxproc
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
GresTypes=gpu
"""

_GPUS = {
    **dict.fromkeys(
        ("ml.p4d.24xlarge", "ml.p4de.24xlarge", "ml.p5.48xlarge", "ml.p5e.48xlarge", "ml.p5en.48xlarge"), 8
    ),
    **dict.fromkeys(("ml.p6-b200.48xlarge", "ml.p6-b300.48xlarge"), 8),
    "ml.p5.4xlarge": 1,
    "ml.p6e-gb200.36xlarge": 4,
    **{f"ml.{family}.{size}xlarge": 1 for family in ("g4dn", "g5", "g6", "g6e") for size in ("", "2", "4", "8", "16")},
    **{f"ml.{family}.12xlarge": 4 for family in ("g4dn", "g5", "g6", "g6e")},
    **{f"ml.{family}.24xlarge": 4 for family in ("g5", "g6", "g6e")},
    **{f"ml.{family}.48xlarge": 8 for family in ("g5", "g6", "g6e")},
}


def gpu_count(instance_type: str) -> int:
    """How many GPUs Slurm counts on a node of that type; 0 for types without and for types not known here."""
    return _GPUS.get(instance_type, 0)


def node_line(instance: Instance) -> str:
    """The NodeName line of an instance."""
    gpus = gpu_count(instance.instance_type)
    words = [
        f"NodeName={instance.host_name}",
        f"NodeAddr={instance.address}",
        f"CPUs={NODE_CPUS}",
        f"RealMemory={NODE_MEMORY_MB}",
        *([f"Gres=gpu:{gpus}"] if gpus else []),
        "State=UNKNOWN" if instance.real else 'State=DOWN Reason="simulated by the rehearsal"',
    ]
    return " ".join(words)


def partition_lines(instances: Sequence[Instance]) -> list[str]:
    """The PartitionName lines: one for each partition of compute nodes, and ``dev`` with all nodes."""
    nodes: dict[str, list[str]] = {}
    for instance in instances:
        if instance.node_type is NodeType.COMPUTE and instance.partition:
            nodes.setdefault(instance.partition, []).append(instance.host_name)
    own = [
        f"PartitionName={name} Nodes={','.join(members)} Default=NO MaxTime=INFINITE State=UP"
        for name, members in sorted(nodes.items())
        if name != "dev"
    ]
    return ["PartitionName=dev Nodes=ALL Default=YES MaxTime=INFINITE State=UP", *own]


def owned_lines(
    cluster_name: str, controller: Instance, instances: Sequence[Instance], *, login_is_a_node: bool = True
) -> list[str]:
    """Every line of slurm.conf that is the platform's.

    Args:
        cluster_name: ClusterName.
        controller: the machine slurmctld runs on; it is no node.
        instances: those that slurm.conf knows of by now.
        login_is_a_node: whether login nodes have a NodeName line and so belong to ``dev``; sources of 2026 disagree
            (FACTS 6.2), with True the harder case for scripts.
    """
    kinds = {NodeType.COMPUTE, *([NodeType.LOGIN] if login_is_a_node else [])}
    members = sorted((one for one in instances if one.node_type in kinds), key=lambda one: (one.group, one.number))
    return [
        f"ClusterName={cluster_name}",
        f"SlurmctldHost={controller.host_name}({controller.address})",
        "TaskPlugin=task/none",
        "SchedulerParameters=permit_job_expansion",
        *(node_line(one) for one in members),
        # Slurm refuses a partition without nodes.
        *(partition_lines(members) if members else []),
    ]


def gres_lines(instances: Iterable[Instance]) -> list[str]:
    """The lines of gres.conf. Slurm does not count a GPU without a device file, so stand-ins for these are needed."""
    counted = sorted((one.host_name, gpu_count(one.instance_type)) for one in instances)
    return [f"NodeName={name} Name=gpu File={_device_files(count)}" for name, count in counted if count]


def _device_files(count: int) -> str:
    return "/dev/nvidia0" if count == 1 else f"/dev/nvidia[0-{count - 1}]"


def gpu_stand_ins(instance: Instance) -> str:
    """Text of a tmpfiles.d file that makes an instance's GPU device files, each another /dev/null, at every boot."""
    return "".join(
        f"c /dev/nvidia{number} 0666 root root - 1:3\n" for number in range(gpu_count(instance.instance_type))
    )


def key_of(line: str) -> str:
    """The key of a line of slurm.conf in its usual spelling, or an empty text for comments and the like."""
    match = _LINE.match(line)
    written = match["key"].lower() if match else ""
    return next((key for key in OWNED_KEYS if key.lower() == written), written)


def _identity(line: str) -> tuple[str, str]:
    match = _LINE.match(line)
    return (key_of(line), match["value"]) if match and key_of(line) in _MANY else (key_of(line), "")


def merged(existing: str, wanted: Sequence[str], previous: Sequence[str] = ()) -> str:
    """slurm.conf with the platform's lines in it.

    Args:
        existing: the file as it is; empty when there is none.
        wanted: the platform's lines now.
        previous: the platform's lines at its last merge: what of these is not wanted any longer is removed.

    Node and partition lines are replaced in place, single keys are added only where they are missing, and everything
    else stays as it is, in its order.
    """
    by_identity = {_identity(line): line for line in wanted}
    obsolete = {_identity(line) for line in previous} - set(by_identity)
    kept: list[str] = []
    seen: set[tuple[str, str]] = set()
    for line in existing.splitlines():
        identity = _identity(line)
        if identity in obsolete and identity[0] in _MANY:
            continue
        if identity in by_identity and identity[0] in _MANY:
            line = by_identity[identity]  # noqa: PLW2901
        seen.add(identity)
        kept.append(line)
    kept += [line for line in wanted if _identity(line) not in seen]
    return _partitions_last(kept)


def _partitions_last(lines: Sequence[str]) -> str:
    """Slurm wants a node defined before a partition names it."""
    nodes_and_rest = [line for line in lines if key_of(line) != "PartitionName"]
    return "\n".join([*nodes_and_rest, *(line for line in lines if key_of(line) == "PartitionName")]) + "\n"


def merged_gres(existing: str, wanted: Sequence[str], previous: Sequence[str] = ()) -> str:
    """gres.conf with the platform's lines in it; lines of others stay."""
    ours = {*previous, *wanted}
    rest = [line for line in existing.splitlines() if line not in ours]
    lines = [*rest, *wanted]
    return "\n".join(lines) + "\n" if lines else ""


def with_includes(text: str, read: Callable[[str], str | None]) -> str:
    """slurm.conf with the content of the files it includes, as Slurm reads it.

    Args:
        text: of slurm.conf.
        read: content of a file by the name in the Include line, None when there is no such file.
    """
    lines = []
    for line in text.splitlines():
        match = re.match(r"\s*include\s+(\S+)", line, re.IGNORECASE)
        lines.append((read(match[1]) or "").rstrip("\n") if match else line)
    return "\n".join(lines) + "\n"


def _words(line: str) -> str:
    return " ".join(line.split("#")[0].split())


def edits_of_others(text: str, written: Sequence[str]) -> list[str]:
    """In words, every platform-owned key that is not as the platform wrote it.

    Args:
        text: slurm.conf with its includes.
        written: the lines that the platform wrote last.
    """
    ours = {_identity(line): _words(line) for line in written}
    theirs: dict[tuple[str, str], list[str]] = {}
    for line in text.splitlines():
        if key_of(line) in OWNED_KEYS:
            theirs.setdefault(_identity(line), []).append(_words(line))
    problems = [
        f'{line.split("=")[0]} was removed: "{line}"' for identity, line in ours.items() if identity not in theirs
    ]
    for identity, lines in theirs.items():
        if lines != [ours.get(identity)]:
            problems.append(f'{identity[0]} was set: "{lines[-1]}" instead of "{ours.get(identity, "nothing")}"')
    return problems
