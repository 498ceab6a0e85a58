"""Cost by instance group.

From two metrics that the node scripts write beside the exporters: ``hyperpod_node_info`` (1, with labels for group,
type and node type) and ``hyperpod_node_hourly_price_usd`` (your price of the instance type, where you gave one). Prices
are in no API of the service.
"""

from hyperpod_constructs.dashboards.panels import Dashboard, Panel, Query, View, lines, number

_PRICE = 'hyperpod_node_hourly_price_usd{cluster="$cluster"}'

DASHBOARD = Dashboard(
    name="cost",
    title="HyperPod: cost by group",
    about="What runs, what it costs, and what of it does nothing. On-demand prices as you gave them, not the bill.",
    panels=(
        number("An hour", f"sum({_PRICE})", "All nodes that report.", unit="currencyUSD", width=6),
        number("A month like this", f"730 * sum({_PRICE})", "730 hours.", unit="currencyUSD", width=6),
        number("Nodes", 'count(hyperpod_node_info{cluster="$cluster"})', "That report.", width=6),
        number(
            "Idle GPU nodes, an hour",
            f"sum({_PRICE} * on (instance) (max by (instance) "
            '(avg_over_time(DCGM_FI_DEV_GPU_UTIL{cluster="$cluster"}[10m])) < bool 5)) or vector(0)',
            "Nodes none of whose GPUs was above 5 % in ten minutes.",
            unit="currencyUSD",
            width=6,
        ),
        Panel(
            title="Cost by group",
            about="For an hour.",
            queries=(Query(expression=f"sum by (instance_group) ({_PRICE})", legend="{{instance_group}}"),),
            unit="currencyUSD",
            view=View.STACK,
        ),
        Panel(
            title="Nodes by group",
            about="A group that stays below its target is short of capacity, or its scripts fail.",
            queries=(
                Query(
                    expression='count by (instance_group, instance_type) (hyperpod_node_info{cluster="$cluster"})',
                    legend="{{instance_group}} ({{instance_type}})",
                ),
            ),
            view=View.STACK,
        ),
        lines(
            "Cost of idle Slurm nodes",
            f'sum by (partition) (slurm_partition_nodes_idle{{cluster="$cluster"}}) * scalar(avg({_PRICE}))',
            "{{partition}}",
            "Idle nodes at the mean price of a node.",
            unit="currencyUSD",
        ),
    ),
)
