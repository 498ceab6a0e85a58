"""cfn-lint over every app: each finding is in docs/findings.md, and each of its rows is still needed."""

import json
import subprocess
import sys
from pathlib import Path

from tests.app.findings import PAGE, accepted, unexplained
from tests.app.support import APPS, assembly

_CFN_LINT = "import sys; from cfnlint.runner import main; sys.exit(main())"
# The same resources as another stack's, for which another run of the checker would only cost time.
_REPEATED = {("shared_storage", "Research")}


def test_every_finding_of_cfn_lint_is_listed_with_its_reason(tmp_path: Path) -> None:
    kinds: dict[str, dict[str, str]] = {}
    for name in APPS:
        for stack, template in assembly(name).templates.items():
            if (name, stack) not in _REPEATED:
                path = tmp_path / f"{name}-{stack}.json"
                path.write_text(json.dumps(template))
                kinds[str(path)] = {key: item["Type"] for key, item in template["Resources"].items()}
    run = subprocess.run(
        [sys.executable, "-c", _CFN_LINT, "--format", "json", "--", *kinds],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.stderr == ""
    found = set()
    for item in json.loads(run.stdout):
        path = item["Location"]["Path"]
        logical_id = str(path[1]) if len(path) > 1 and path[0] == "Resources" else ""
        found.add((item["Rule"]["Id"], kinds[item["Filename"]].get(logical_id, "")))
    strangers, stale = unexplained("cfn-lint", found)
    assert strangers == set()
    assert stale == []


def test_every_row_gives_a_reason() -> None:
    rows = [*accepted("cfn-lint"), *accepted("checkov")]
    assert len(rows) == sum(line.startswith(("| cfn-lint", "| checkov")) for line in PAGE.read_text().splitlines())
    assert all(len(row.why) > 20 for row in rows)
