"""Rules that a Prometheus evaluates, in the form of its rules file.

CloudWatch's alarms cover what the service itself publishes; these cover what only the nodes know.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class Alert:
    """One rule.

    Attributes:
        name: of the alert.
        expression: PromQL; answers when something is wrong.
        minutes: for how long before it is told.
        severity: ``critical`` ends work, ``warning`` will.
        summary: what is wrong, with the series' labels.
        what_to_do: the next step.
    """

    name: str
    expression: str
    minutes: int
    severity: str
    summary: str
    what_to_do: str


_DISKS = '{fstype!~"tmpfs|ramfs|devtmpfs|overlay|squashfs"}'

ALERTS = (
    Alert(
        name="SlurmControllerDown",
        expression='max by (cluster) (hyperpod_slurm_up) == 0 or max by (cluster) (up{job="slurm"}) == 0',
        minutes=5,
        severity="critical",
        summary="slurmctld of {{ $labels.cluster }} does not answer",
        what_to_do="on the controller: systemctl status slurmctld, /var/log/slurm/slurmctld.log",
    ),
    Alert(
        name="SlurmMetricsStale",
        expression='time() - max by (cluster) (node_textfile_mtime_seconds{file=~".*slurm.prom"}) > 600',
        minutes=5,
        severity="warning",
        summary="metrics of the Slurm queue of {{ $labels.cluster }} are old",
        what_to_do="on the controller: systemctl status hyperpod-constructs-slurm-metrics.timer",
    ),
    Alert(
        name="ExporterDown",
        expression='up{job=~"node|dcgm|efa"} == 0',
        minutes=10,
        severity="warning",
        summary="{{ $labels.job }} exporter on {{ $labels.instance }} does not answer",
        what_to_do="on the node: systemctl status of the agent's unit; the node itself may be gone",
    ),
    Alert(
        name="SlurmNodesDown",
        expression="sum by (cluster, partition) (slurm_partition_nodes_down) > 0",
        minutes=10,
        severity="critical",
        summary="{{ $value }} nodes of partition {{ $labels.partition }} are down",
        what_to_do="sinfo -R says why; hyperpod-slurm replace exchanges a broken node",
    ),
    Alert(
        name="SlurmNodesDrained",
        expression="sum by (cluster, partition) (slurm_partition_nodes_drained) > 0",
        minutes=60,
        severity="warning",
        summary="{{ $value }} nodes of partition {{ $labels.partition }} are drained and billed",
        what_to_do="sinfo -R says why; scontrol update node=... state=resume brings them back",
    ),
    Alert(
        name="QueueStuck",
        expression=(
            "sum by (cluster, partition) (slurm_partition_jobs_pending) > 0"
            " and sum by (cluster, partition) (slurm_partition_jobs_running) == 0"
            " and sum by (cluster, partition) (slurm_partition_nodes_idle) > 0"
        ),
        minutes=15,
        severity="warning",
        summary="jobs of partition {{ $labels.partition }} wait although nodes are idle",
        what_to_do="squeue -t PD -o '%i %r' says why; scontrol show config for limits",
    ),
    Alert(
        name="AccountingBehind",
        expression="max by (cluster) (slurm_slurmdbd_queue_size) > 1000",
        minutes=10,
        severity="warning",
        summary="{{ $value }} accounting records of {{ $labels.cluster }} wait for slurmdbd",
        what_to_do="on the controller: systemctl status slurmdbd mariadb; records are lost when the queue is full",
    ),
    Alert(
        name="GpuXidError",
        expression="max by (cluster, instance, gpu) (DCGM_FI_DEV_XID_ERRORS) > 0",
        minutes=1,
        severity="warning",
        summary="GPU {{ $labels.gpu }} of {{ $labels.instance }} had XID error {{ $value }}",
        what_to_do="NVIDIA's XID list says whether the job or the GPU is at fault",
    ),
    Alert(
        name="GpuMemoryBroken",
        expression="max by (cluster, instance, gpu) (DCGM_FI_DEV_ROW_REMAP_FAILURE) > 0",
        minutes=1,
        severity="critical",
        summary="GPU {{ $labels.gpu }} of {{ $labels.instance }} cannot remap broken memory rows",
        what_to_do="replace the node: hyperpod-slurm replace",
    ),
    Alert(
        name="GpuHot",
        expression="max by (cluster, instance) (DCGM_FI_DEV_GPU_TEMP) > 88",
        minutes=10,
        severity="warning",
        summary="a GPU of {{ $labels.instance }} has {{ $value }} degrees and slows down",
        what_to_do="replace the node if its peers are cool under the same job",
    ),
    Alert(
        name="EfaDrops",
        expression="sum by (cluster, instance) (rate(node_amazonefa_rx_drops[5m])) > 1",
        minutes=10,
        severity="warning",
        summary="EFA of {{ $labels.instance }} drops {{ $value }} packets a second",
        what_to_do="replace the node if its peers drop none under the same job",
    ),
    Alert(
        name="FileSystemFull",
        expression=(
            f"min by (cluster, instance, mountpoint) "
            f"(100 * node_filesystem_avail_bytes{_DISKS} / node_filesystem_size_bytes{_DISKS}) < 10"
        ),
        minutes=10,
        severity="warning",
        summary="{{ $labels.mountpoint }} of {{ $labels.instance }} has {{ $value }} % free",
        what_to_do="a full root disk ends slurmd, a full shared one every job",
    ),
    Alert(
        name="MemoryShort",
        expression="100 * node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes < 5",
        minutes=10,
        severity="warning",
        summary="{{ $labels.instance }} has {{ $value }} % of its memory free",
        what_to_do="the kernel will end processes; see which job asks for too little",
    ),
)


def alert_rules() -> dict[str, Any]:
    """The rules as a Prometheus rules file, ready for JSON or YAML."""
    rules = [
        {
            "alert": f"HyperPod{alert.name}",
            "expr": alert.expression,
            "for": f"{alert.minutes}m",
            "labels": {"severity": alert.severity},
            "annotations": {"summary": alert.summary, "what_to_do": alert.what_to_do},
        }
        for alert in ALERTS
    ]
    return {"groups": [{"name": "hyperpod", "rules": rules}]}
