"""Write hyperpod_constructs/dashboards/*.json from the definitions beside them, with Grafana's own library.

python scripts/grafana_dashboards.py            # rewrite the files
python scripts/grafana_dashboards.py --check    # exit 1 if a file is not what it would write
"""

import argparse
import sys
from pathlib import Path

from grafana_foundation_sdk.builders import dashboard as grafana
from grafana_foundation_sdk.builders import prometheus, stat, timeseries
from grafana_foundation_sdk.builders.common import ReduceDataOptions, StackingConfig, VizLegendOptions
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import dashboard as models

from hyperpod_constructs.dashboards import DASHBOARDS, FOLDER
from hyperpod_constructs.dashboards.panels import Dashboard, Panel, Query, View

_SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
_NUMBER_HEIGHT, _LINES_HEIGHT = 4, 8


def rendered(definition: Dashboard) -> str:
    """The JSON of one dashboard, the same on every run."""
    builder = (
        grafana.Dashboard(definition.title)
        .uid(f"hyperpod-{definition.name.replace('_', '-')}")
        .description(definition.about)
        .tags(["hyperpod", "slurm"])
        .refresh("1m")
        .time("now-3h", "now")
        .timezone("browser")
        .readonly()
        .with_variable(_data_source())
        .with_variable(_cluster())
    )
    for panel in definition.panels:
        builder = builder.with_panel(_panel(panel))
    return JSONEncoder(sort_keys=True, indent=2).encode(builder.build()) + "\n"


def _data_source() -> grafana.DatasourceVariable:
    return grafana.DatasourceVariable("datasource").label("Data source").type("prometheus")


def _cluster() -> grafana.QueryVariable:
    return (
        grafana.QueryVariable("cluster")
        .label("Cluster")
        .datasource(_SOURCE)
        .query("label_values(up, cluster)")
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
    )


def _panel(panel: Panel) -> stat.Panel | timeseries.Panel:
    number = panel.view is View.NUMBER
    built = _number() if number else _lines(panel)
    built = (
        built.title(panel.title)
        .description(panel.about)
        .datasource(_SOURCE)
        .unit(panel.unit)
        .span(panel.width)
        .height(_NUMBER_HEIGHT if number else _LINES_HEIGHT)
    )
    for index, query in enumerate(panel.queries):
        built = built.with_target(_query(query, index))
    return built


def _number() -> stat.Panel:
    return stat.Panel().reduce_options(ReduceDataOptions().calcs(["lastNotNull"]))


def _lines(panel: Panel) -> timeseries.Panel:
    legend = VizLegendOptions().display_mode(common.LegendDisplayMode.LIST).placement(common.LegendPlacement.BOTTOM)
    legend = legend.show_legend(True)
    built = timeseries.Panel().legend(legend).line_width(1).fill_opacity(10).min(0)
    if panel.view is View.STACK:
        built = built.stacking(StackingConfig().mode(common.StackingMode.NORMAL)).fill_opacity(40)
    return built


def _query(query: Query, index: int) -> prometheus.Dataquery:
    return prometheus.Dataquery().expr(query.expression).legend_format(query.legend).ref_id(chr(ord("A") + index))


def main(arguments: list[str] | None = None) -> int:
    """Write or check every file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a file differs")
    check = parser.parse_args(arguments).check
    stale = [definition.name for definition in DASHBOARDS if not _write(definition, FOLDER, check)]
    for name in stale:
        sys.stderr.write(f"{FOLDER / name}.json is stale: run python scripts/grafana_dashboards.py\n")
    return 1 if stale else 0


def _write(definition: Dashboard, folder: Path, check: bool) -> bool:
    path, text = folder / f"{definition.name}.json", rendered(definition)
    if check:
        return path.is_file() and path.read_text(encoding="utf-8") == text
    path.write_text(text, encoding="utf-8")
    return True


if __name__ == "__main__":
    sys.exit(main())
