"""Prints what cdk-nag's NIST 800-53 and HIPAA packs, and checkov if there is one, say of every app of this repository.

The packs are reports. Checkov's findings are held against docs/findings.md: one that is not there ends with status 1.
Checkov is looked for as a command; to have one of its own: python -m venv DIR && DIR/bin/pip install checkov.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from cdk_nag import HIPAASecurityChecks, NIST80053R5Checks  # noqa: E402  the path comes first

from tests.app.findings import unexplained  # noqa: E402
from tests.app.support import APPS, assembly, builder, new_app  # noqa: E402


def say(text: str) -> None:
    """Write a line."""
    sys.stdout.write(f"{text}\n")


def pack_report(name: str) -> None:
    """Print the findings of both packs for an app, by rule."""
    for pack in (NIST80053R5Checks, HIPAASecurityChecks):
        app = new_app()
        builder(name)(app)
        rules = Counter(
            violation.rule_name.split("[")[0]
            for violation in pack().validate_scope(app).violations
            for _ in violation.violating_resources
        )
        say(f"{name}, {pack.__name__}: {sum(rules.values())} findings")
        for rule, count in rules.most_common():
            say(f"  {count:3} {rule}")


def checkov_report(command: str) -> bool:
    """Run checkov over every template and say which findings are not accepted; whether there are none."""
    found = set()
    with tempfile.TemporaryDirectory() as folder:
        kinds = {}
        for name in APPS:
            for stack, template in assembly(name).templates.items():
                path = Path(folder) / f"{name}-{stack}.json"
                path.write_text(json.dumps(template))
                kinds.update({key: item["Type"] for key, item in template["Resources"].items()})
        options = ["--framework", "cloudformation", "--quiet", "--compact", "--output", "json"]
        run = subprocess.run([command, "-d", folder, *options], capture_output=True, text=True, check=False)
    reports = json.loads(run.stdout)
    for report in reports if isinstance(reports, list) else [reports]:
        found |= {(item["check_id"], item["resource"].split(".")[0]) for item in report["results"]["failed_checks"]}
    strangers, stale = unexplained("checkov", found)
    for check, kind in sorted(strangers):
        say(f"checkov: {check} on {kind} is not in docs/findings.md")
    for row in stale:
        say(f"checkov: docs/findings.md lists {row.check} on {row.on}, which nothing needs")
    say(f"checkov: {len(found)} kinds of findings, {len(strangers)} without a reason")
    return not strangers and not stale


def main() -> int:
    """Print both reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkov", default=shutil.which("checkov"), help="the command, if it is not on PATH")
    parser.add_argument("--app", action="append", choices=APPS, help="of these apps only; repeatable")
    arguments = parser.parse_args()
    for name in arguments.app or APPS:
        pack_report(name)
    if arguments.checkov is None:
        say("checkov: not found, so not run")
        return 0
    return 0 if checkov_report(arguments.checkov) else 1


if __name__ == "__main__":
    sys.exit(main())
