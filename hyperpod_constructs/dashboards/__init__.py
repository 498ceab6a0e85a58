"""Grafana dashboards for a cluster, and alert rules for its Prometheus. Standard library only.

The dashboards are the JSON files in this folder. They are generated from the definitions beside them by
``scripts/grafana_dashboards.py`` with Grafana's own library, and shipped: a plain Grafana or Amazon Managed Grafana
loads them as they are, and neither the constructs nor your machine needs that library. A test holds them equal.

Example:
    >>> sorted(dashboard.name for dashboard in DASHBOARDS)
    ['cost', 'file_system', 'gpu', 'network', 'node', 'slurm']
"""

import json
from pathlib import Path
from typing import Any

from hyperpod_constructs.dashboards import cost, file_system, gpu, network, node, slurm
from hyperpod_constructs.dashboards.alerts import ALERTS, alert_rules
from hyperpod_constructs.dashboards.panels import Dashboard
from hyperpod_constructs.errors import AssetError

__all__ = ["ALERTS", "DASHBOARDS", "alert_rules", "export", "load"]

FOLDER = Path(__file__).parent

DASHBOARDS: tuple[Dashboard, ...] = (
    slurm.DASHBOARD,
    gpu.DASHBOARD,
    network.DASHBOARD,
    node.DASHBOARD,
    file_system.DASHBOARD,
    cost.DASHBOARD,
)


def load(name: str) -> dict[str, Any]:
    """A dashboard as Grafana takes it.

    Args:
        name: one of the names in ``DASHBOARDS``.

    Raises:
        AssetError: there is no such dashboard in this installation.
    """
    path = FOLDER / f"{name}.json"
    if not path.is_file():
        names = ", ".join(dashboard.name for dashboard in DASHBOARDS)
        raise AssetError(f"no dashboard {name!r} in {FOLDER}, allowed: {names}")
    dashboard: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return dashboard


def export(folder: Path) -> list[Path]:
    """Write every dashboard and the alert rules to a folder, for Grafana's file provisioning and for Prometheus.

    Args:
        folder: is made if it is not there.

    Returns:
        The files written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    documents = {dashboard.name: load(dashboard.name) for dashboard in DASHBOARDS} | {"alert_rules": alert_rules()}
    written = []
    for name, document in documents.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        written.append(path)
    return written
