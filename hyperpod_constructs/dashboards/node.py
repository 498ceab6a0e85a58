"""Nodes, by the names of the Prometheus node exporter."""

from hyperpod_constructs.dashboards.panels import Dashboard, Panel, Query, lines, number

_ON = '{cluster="$cluster"}'
_DISKS = '{cluster="$cluster", fstype!~"tmpfs|ramfs|devtmpfs|overlay|squashfs|lustre|nfs.*"}'

DASHBOARD = Dashboard(
    name="node",
    title="HyperPod: nodes",
    about="Processor, memory and local disks of each node.",
    panels=(
        number("Nodes that report", f"count(node_boot_time_seconds{_ON})", "Node exporters that answer.", width=6),
        number(
            "CPU in use",
            '100 * (1 - avg(rate(node_cpu_seconds_total{cluster="$cluster", mode="idle"}[$__rate_interval])))',
            "Mean of all nodes.",
            unit="percent",
            width=6,
        ),
        number(
            "Memory in use",
            f"100 * (1 - sum(node_memory_MemAvailable_bytes{_ON}) / sum(node_memory_MemTotal_bytes{_ON}))",
            "Of all nodes together.",
            unit="percent",
            width=6,
        ),
        number(
            "Fullest local disk",
            f"max(100 * (1 - node_filesystem_avail_bytes{_DISKS} / node_filesystem_size_bytes{_DISKS}))",
            "A full root disk ends slurmd.",
            unit="percent",
            width=6,
        ),
        lines(
            "CPU by node",
            '100 * (1 - avg by (instance) (rate(node_cpu_seconds_total{cluster="$cluster", mode="idle"}'
            "[$__rate_interval])))",
            "{{instance}}",
            "Share of all CPUs that is not idle.",
            unit="percent",
        ),
        lines(
            "Load for each CPU",
            f"max by (instance) (node_load5{_ON}) / "
            'count by (instance) (node_cpu_seconds_total{cluster="$cluster", mode="idle"})',
            "{{instance}}",
            "Above 1 something waits; far above with an idle CPU it waits for a file system.",
        ),
        lines(
            "Memory by node",
            f"100 * (1 - max by (instance) (node_memory_MemAvailable_bytes{_ON})"
            f" / max by (instance) (node_memory_MemTotal_bytes{_ON}))",
            "{{instance}}",
            "Near 100 the kernel ends processes.",
            unit="percent",
        ),
        lines(
            "Local disks",
            f"max by (instance, mountpoint) (100 * (1 - node_filesystem_avail_bytes{_DISKS}"
            f" / node_filesystem_size_bytes{_DISKS}))",
            "{{instance}} {{mountpoint}}",
            "Logs and container images fill these.",
            unit="percent",
        ),
        Panel(
            title="Disk traffic",
            about="Local disks only; file systems of the cluster are network traffic.",
            queries=(
                Query(
                    expression=f"sum by (instance) (rate(node_disk_read_bytes_total{_ON}[$__rate_interval]))",
                    legend="{{instance}} read",
                ),
                Query(
                    expression=f"sum by (instance) (rate(node_disk_written_bytes_total{_ON}[$__rate_interval]))",
                    legend="{{instance}} written",
                ),
            ),
            unit="Bps",
        ),
        lines(
            "Up since",
            f"time() - max by (instance) (node_boot_time_seconds{_ON})",
            "{{instance}}",
            "A fall to zero is a reboot or a replacement.",
            unit="s",
        ),
    ),
)
