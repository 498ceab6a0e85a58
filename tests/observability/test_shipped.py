"""What ships: dashboards as generated, and functions that run without this library."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hyperpod_constructs import AssetError, assets
from hyperpod_constructs.dashboards import DASHBOARDS, export, load
from hyperpod_constructs.dashboards.panels import View

REPOSITORY = Path(__file__).parents[2]


def test_the_dashboards_are_what_grafanas_library_makes_of_the_definitions() -> None:
    pytest.importorskip("grafana_foundation_sdk")
    script = REPOSITORY / "scripts" / "grafana_dashboards.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PYTHONPATH": str(REPOSITORY)},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.name)
def test_a_plain_grafana_can_load_each(dashboard: object) -> None:
    document = load(getattr(dashboard, "name"))  # noqa: B009
    assert document["uid"].startswith("hyperpod-")
    assert len(document["uid"]) <= 40, "Grafana's limit"
    assert document.get("id") is None, "an id would overwrite another dashboard of the same Grafana"
    assert [variable["name"] for variable in document["templating"]["list"]] == ["datasource", "cluster"]
    for panel in document["panels"]:
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}, "no data source of ours"
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24


def test_every_panel_says_what_it_means() -> None:
    for dashboard in DASHBOARDS:
        titles = [panel.title for panel in dashboard.panels]
        assert len(titles) == len(set(titles))
        for panel in dashboard.panels:
            assert panel.about.endswith((".", ")")), (dashboard.name, panel.title)
            assert panel.view is not View.NUMBER or len(panel.queries) == 1


def test_every_expression_is_of_the_chosen_cluster() -> None:
    for dashboard in DASHBOARDS:
        for panel, query in dashboard.queries:
            selectors = query.expression.count("{")
            assert query.expression.count('cluster="$cluster"') == selectors > 0, (dashboard.name, panel.title)


def test_exporting_writes_every_dashboard_and_the_rules(tmp_path: Path) -> None:
    files = export(tmp_path / "new")
    assert {file.name for file in files} == {f"{d.name}.json" for d in DASHBOARDS} | {"alert_rules.json"}
    assert all(json.loads(file.read_text(encoding="utf-8")) for file in files)


def test_a_dashboard_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(AssetError, match=r"no dashboard 'tpu'.*slurm, gpu"):
        load("tpu")


def test_the_functions_run_from_the_asset_alone(tmp_path: Path) -> None:
    check = """
import sys
from notify import index
event = {"detail-type": "other", "detail": {}}
try:
    index.tell(event, aws=object())
except ValueError as error:
    assert "not a HyperPod event" in str(error)
loaded = {name.partition(".")[0] for name in sys.modules}
assert not loaded & {"aws_cdk", "jsii", "hyperpod_constructs", "cluster"}, loaded
assert index.Aws({}, {}).environment == {}
from notify import aws
assert aws.client("sagemaker", "us-east-1").describe_cluster_event
"""
    done = subprocess.run(
        [sys.executable, "-c", check],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
        env={
            "PYTHONPATH": str(assets.handlers()),
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
        },
    )
    assert done.returncode == 0, done.stderr


def test_the_definitions_need_nothing_but_the_standard_library() -> None:
    check = """
import sys
import hyperpod_constructs.dashboards, hyperpod_constructs.observability_rules, hyperpod_constructs.metrics
loaded = {name.partition(".")[0] for name in sys.modules}
assert not loaded & {"aws_cdk", "jsii", "boto3", "grafana_foundation_sdk"}, loaded
"""
    done = subprocess.run(
        [sys.executable, "-c", check],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"PYTHONPATH": str(REPOSITORY)},
    )
    assert done.returncode == 0, done.stderr
