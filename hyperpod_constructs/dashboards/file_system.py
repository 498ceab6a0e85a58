"""The cluster's shared file systems, as the nodes see them. FSx's own view is on the CloudWatch dashboard."""

from hyperpod_constructs.dashboards.panels import Dashboard, lines, number

_SHARED = '{cluster="$cluster", fstype=~"lustre|nfs.*"}'


def _by_mount(function: str, expression: str) -> str:
    return f"{function} by (mountpoint) ({expression})"


DASHBOARD = Dashboard(
    name="file_system",
    title="HyperPod: file systems",
    about="Is there space, and does every node see it?",
    panels=(
        number(
            "Least free space",
            f"min(100 * node_filesystem_avail_bytes{_SHARED} / node_filesystem_size_bytes{_SHARED})",
            "Of the fullest shared file system.",
            unit="percent",
            width=8,
        ),
        number(
            "Mounts",
            f"count(node_filesystem_size_bytes{_SHARED})",
            "Nodes times file systems; fewer than expected: a node lost its mount.",
            width=8,
        ),
        number(
            "Read-only mounts",
            f"sum(node_filesystem_readonly{_SHARED})",
            "A mount that turned read-only.",
            width=8,
        ),
        lines(
            "Free space",
            _by_mount("min", f"100 * node_filesystem_avail_bytes{_SHARED} / node_filesystem_size_bytes{_SHARED}"),
            "{{mountpoint}}",
            "Grow Lustre by its capacity; it cannot shrink.",
            unit="percent",
        ),
        lines(
            "Space in use",
            _by_mount("max", f"node_filesystem_size_bytes{_SHARED} - node_filesystem_avail_bytes{_SHARED}"),
            "{{mountpoint}}",
            "A steady slope tells when it will be full.",
            unit="bytes",
        ),
        lines(
            "Free files",
            _by_mount("min", f"node_filesystem_files_free{_SHARED}"),
            "{{mountpoint}}",
            "Many small files can fill a file system that has space.",
        ),
        lines(
            "Nodes with the mount",
            _by_mount("count", f"node_filesystem_size_bytes{_SHARED}"),
            "{{mountpoint}}",
            "All nodes should have it.",
        ),
    ),
)
