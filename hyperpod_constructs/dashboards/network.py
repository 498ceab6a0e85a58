"""EFA and the plain network, by the names of the EFA exporter and the node exporter (developer guide, same page)."""

from hyperpod_constructs.dashboards.panels import Dashboard, Panel, Query, lines, number

_ON = '{cluster="$cluster"}'
_CARDS = '{cluster="$cluster", device!~"lo|veth.*|docker.*|br-.*"}'


def _efa(metric: str, factor: str = "") -> str:
    return f"sum by (instance) (rate(node_amazonefa_{metric}{_ON}[$__rate_interval])){factor}"


DASHBOARD = Dashboard(
    name="network",
    title="HyperPod: EFA and network",
    about="Do the nodes of a job talk at full speed, and without errors?",
    panels=(
        number(
            "EFA devices",
            f"count(node_amazonefa_lifespan{_ON} or node_amazonefa_tx_bytes{_ON})",
            "That report.",
            width=6,
        ),
        number(
            "Sent over EFA",
            f"8 * sum(rate(node_amazonefa_tx_bytes{_ON}[$__rate_interval]))",
            "All nodes together.",
            unit="bps",
            width=6,
        ),
        number(
            "Dropped in an hour",
            f"sum(increase(node_amazonefa_rx_drops{_ON}[1h]))",
            "Packets that EFA devices dropped.",
            width=6,
        ),
        number(
            "RDMA errors in an hour",
            f"sum(increase(node_amazonefa_rdma_read_wr_err{_ON}[1h]))"
            f" + sum(increase(node_amazonefa_rdma_write_wr_err{_ON}[1h]))",
            "Work requests that failed.",
            width=6,
        ),
        lines("EFA sent", _efa("tx_bytes", " * 8"), "{{instance}}", "A node far below its peers is slow.", unit="bps"),
        lines("EFA received", _efa("rx_bytes", " * 8"), "{{instance}}", "As above.", unit="bps"),
        Panel(
            title="RDMA",
            about="What NCCL moves when it uses RDMA.",
            queries=(
                Query(expression=_efa("rdma_read_bytes", " * 8"), legend="{{instance}} read"),
                Query(expression=_efa("rdma_write_bytes", " * 8"), legend="{{instance}} written"),
            ),
            unit="bps",
        ),
        lines("EFA drops", _efa("rx_drops"), "{{instance}}", "Above zero for long: look at the node.", unit="pps"),
        lines(
            "Network received",
            f"sum by (instance) (rate(node_network_receive_bytes_total{_CARDS}[$__rate_interval])) * 8",
            "{{instance}}",
            "File systems and S3 come this way.",
            unit="bps",
        ),
        lines(
            "Network sent",
            f"sum by (instance) (rate(node_network_transmit_bytes_total{_CARDS}[$__rate_interval])) * 8",
            "{{instance}}",
            "File systems and S3 come this way.",
            unit="bps",
        ),
        lines(
            "TCP retransmissions",
            f"sum by (instance) (rate(node_netstat_Tcp_RetransSegs{_ON}[$__rate_interval]))",
            "{{instance}}",
            "A rise on one node is its link, on all nodes the path.",
            unit="pps",
        ),
    ),
)
