"""GPUs, by the names of NVIDIA's DCGM exporter (developer guide, "Exported metrics reference")."""

from hyperpod_constructs.dashboards.panels import Dashboard, Panel, Query, lines, number

_ON = '{cluster="$cluster"}'

DASHBOARD = Dashboard(
    name="gpu",
    title="HyperPod: GPUs",
    about="Are the GPUs busy, and are they sound?",
    panels=(
        number("GPUs", f"count(DCGM_FI_DEV_GPU_UTIL{_ON})", "GPUs that report."),
        number("Busy", f"avg(DCGM_FI_DEV_GPU_UTIL{_ON})", "Mean utilisation of all.", unit="percent"),
        number(
            "Memory in use",
            f"100 * sum(DCGM_FI_DEV_FB_USED{_ON}) / (sum(DCGM_FI_DEV_FB_USED{_ON}) + sum(DCGM_FI_DEV_FB_FREE{_ON}))",
            "Of all frame buffers together.",
            unit="percent",
        ),
        number("Power", f"sum(DCGM_FI_DEV_POWER_USAGE{_ON})", "Of all GPUs together.", unit="watt"),
        number("Hottest", f"max(DCGM_FI_DEV_GPU_TEMP{_ON})", "Hottest GPU now.", unit="celsius"),
        number(
            "GPUs with an XID error",
            f"count(DCGM_FI_DEV_XID_ERRORS{_ON} > 0) or vector(0)",
            "The last error is kept until the exporter restarts; NVIDIA's XID list says what each means.",
        ),
        lines(
            "Utilisation by node",
            f"avg by (instance) (DCGM_FI_DEV_GPU_UTIL{_ON})",
            "{{instance}}",
            "One node below its peers in the same job slows all of them.",
            unit="percent",
        ),
        lines(
            "Utilisation by job",
            'avg by (hpc_job) (DCGM_FI_DEV_GPU_UTIL{cluster="$cluster", hpc_job!=""})',
            "job {{hpc_job}}",
            "Where the image maps jobs to GPUs.",
            unit="percent",
        ),
        lines(
            "Memory by node",
            f"sum by (instance) (DCGM_FI_DEV_FB_USED{_ON}) * 1048576",
            "{{instance}}",
            "Frame buffers in use.",
            unit="bytes",
        ),
        Panel(
            title="Temperature by node",
            about="Above about 85 degrees clocks are reduced.",
            queries=(
                Query(expression=f"max by (instance) (DCGM_FI_DEV_GPU_TEMP{_ON})", legend="{{instance}} GPU"),
                Query(expression=f"max by (instance) (DCGM_FI_DEV_MEMORY_TEMP{_ON})", legend="{{instance}} memory"),
            ),
            unit="celsius",
        ),
        lines(
            "Power by node",
            f"sum by (instance) (DCGM_FI_DEV_POWER_USAGE{_ON})",
            "{{instance}}",
            "Power falls before utilisation does when a job hangs in communication.",
            unit="watt",
        ),
        lines(
            "SM clock by node",
            f"min by (instance) (DCGM_FI_DEV_SM_CLOCK{_ON}) * 1000000",
            "{{instance}}",
            "The slowest GPU of each node.",
            unit="hertz",
        ),
        Panel(
            title="Memory faults",
            about="A failed row remap: replace the node.",
            queries=(
                Query(
                    expression=f"sum by (instance) (DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS{_ON})",
                    legend="{{instance}} uncorrectable rows",
                ),
                Query(
                    expression=f"sum by (instance) (DCGM_FI_DEV_ROW_REMAP_FAILURE{_ON})",
                    legend="{{instance}} failed remaps",
                ),
            ),
        ),
        lines(
            "PCIe replays",
            f"sum by (instance) (rate(DCGM_FI_DEV_PCIE_REPLAY_COUNTER{_ON}[$__rate_interval]))",
            "{{instance}}",
            "A steady rate is a bad link.",
            unit="ops",
        ),
        lines(
            "NVLink",
            f"sum by (instance) (rate(DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{_ON}[$__rate_interval]))",
            "{{instance}}",
            "Traffic between the GPUs of a node, as the counter counts it.",
        ),
    ),
)
