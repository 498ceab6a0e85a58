"""Slurm: queue, waits, node states, scheduler.

Names are those of Slurm's own OpenMetrics end point (25.11; Slurm documentation, metrics guide). On older images the
node scripts write the same names to the node exporter's textfile collector, from sinfo, squeue and sdiag. Waits are in
no end point, so the scripts always write those.
"""

from hyperpod_constructs.dashboards.panels import Dashboard, Panel, Query, View, lines, number

_STATES = ("idle", "alloc", "mixed", "down", "drain")


def _by_partition(metric: str) -> str:
    return f'sum by (partition) ({metric}{{cluster="$cluster"}})'


DASHBOARD = Dashboard(
    name="slurm",
    title="HyperPod: cluster and Slurm",
    about="Is there room, who waits, and does the scheduler keep up?",
    panels=(
        number("Nodes", 'sum(slurm_nodes{cluster="$cluster"})', "Nodes that Slurm knows."),
        number(
            "In use",
            'sum(slurm_nodes_alloc{cluster="$cluster"}) + sum(slurm_nodes_mixed{cluster="$cluster"})',
            "Nodes with jobs, wholly or in part.",
        ),
        number("Idle", 'sum(slurm_nodes_idle{cluster="$cluster"})', "Nodes without a job, billed all the same."),
        number("Down", 'sum(slurm_nodes_down{cluster="$cluster"})', "`sinfo -R` says why."),
        number("Running jobs", 'sum(slurm_jobs_running{cluster="$cluster"})', "Jobs that run now."),
        number("Pending jobs", 'sum(slurm_jobs_pending{cluster="$cluster"})', "`squeue -t PD` says why each waits."),
        Panel(
            title="Jobs by partition",
            about="A queue that only grows while nodes are idle is a job that asks for what no node has.",
            queries=(
                Query(expression=_by_partition("slurm_partition_jobs_running"), legend="{{partition}} running"),
                Query(expression=_by_partition("slurm_partition_jobs_pending"), legend="{{partition}} pending"),
            ),
        ),
        Panel(
            title="Wait of pending jobs",
            about="How long jobs that still wait have waited, from squeue.",
            queries=(
                Query(
                    expression='max by (partition) (hyperpod_slurm_pending_wait_seconds_max{cluster="$cluster"})',
                    legend="{{partition}} longest",
                ),
                Query(
                    expression='max by (partition) (hyperpod_slurm_pending_wait_seconds_mean{cluster="$cluster"})',
                    legend="{{partition}} mean",
                ),
            ),
            unit="s",
        ),
        Panel(
            title="Node states by partition",
            about="Drained nodes come back with `scontrol update node=... state=resume` once the reason is gone.",
            queries=tuple(
                Query(expression=_by_partition(f"slurm_partition_nodes_{state}"), legend=f"{{{{partition}}}} {state}")
                for state in _STATES
            ),
            view=View.STACK,
        ),
        lines(
            "CPUs in use",
            "100 * "
            + _by_partition("slurm_partition_nodes_cpus_alloc")
            + " / "
            + _by_partition("slurm_partition_cpus"),
            "{{partition}}",
            "Share of each partition's CPUs that jobs hold.",
            unit="percent",
        ),
        Panel(
            title="Jobs ended in an hour",
            about="Failures that rise together point at the cluster, not at the jobs.",
            queries=tuple(
                Query(expression=f'sum(increase(slurm_sdiag_jobs_{end}{{cluster="$cluster"}}[1h]))', legend=end)
                for end in ("completed", "failed", "canceled")
            ),
        ),
        Panel(
            title="Scheduling cycle",
            about="Mean time of a cycle, in microseconds. Above a second, jobs wait for the scheduler.",
            queries=(
                Query(expression='max(slurm_sched_mean_cycle{cluster="$cluster"})', legend="main"),
                Query(expression='max(slurm_bf_mean_cycle{cluster="$cluster"})', legend="backfill"),
            ),
            unit="µs",
        ),
        Panel(
            title="Load of the controller's daemons",
            about="A queue to slurmdbd that grows: the accounting database does not keep up, or is gone.",
            queries=(
                Query(expression='max(slurm_server_thread_cnt{cluster="$cluster"})', legend="slurmctld threads"),
                Query(expression='max(slurm_slurmdbd_queue_size{cluster="$cluster"})', legend="queue to slurmdbd"),
            ),
        ),
    ),
)
