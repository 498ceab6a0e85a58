"""Prints what this library costs, beside the floor measured in the same run. Asserts nothing.

Each row is a whole process, run five times after one that is not counted; A and B of a ratio run in turn, so that a
machine whose speed drifts does not tilt it. CPU seconds and peak memory are the operating system's own figures of the
process and its children (of memory: the largest single process).
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
CASES = Path(__file__).parent / "bench"
RUNS = 5


@dataclass(frozen=True)
class Figures:
    """One run of one process."""

    cpu_seconds: float
    wall_seconds: float
    peak_mib: float


@dataclass(frozen=True)
class Row:
    """A case, and the case that it is held against."""

    name: str
    command: Sequence[str]
    validation: bool = False
    against: str = ""
    app: str = "app.py"


def _python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


BARE = "{} as bare L1s"
EXAMPLES = tuple(sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("examples/*/app.py")))
ROWS = (
    Row("import of the core", _python("-c", "from hyperpod_constructs import ClusterSpec, validate")),
    Row("import aws_cdk", _python("-c", "import aws_cdk.aws_ec2")),
    Row(
        "import of the constructs",
        _python("-c", "from hyperpod_constructs import SlurmCluster"),
        against="import aws_cdk",
    ),
    Row("empty stack", _python(str(CASES / "empty_stack.py"))),
    Row(BARE.format("app.py"), _python(str(CASES / "bare_l1.py")), against="empty stack"),
    Row("app.py", _python("app.py"), against=BARE.format("app.py")),
    Row("empty stack, built-in check on", _python(str(CASES / "empty_stack.py")), validation=True),
    Row("app.py, built-in check on", _python("app.py"), validation=True, against="empty stack, built-in check on"),
)

EXAMPLE_ROWS = tuple(
    row
    for example in EXAMPLES
    for row in (
        Row(BARE.format(example), _python(str(CASES / "bare_l1.py")), app=example),
        Row(example, _python(example), against=BARE.format(example), app=example),
    )
)


def measure(row: Row, folder: Path) -> Figures:
    """Run the case once.

    Args:
        row: the case.
        folder: where it may write.
    """
    environment = {
        **os.environ,
        "CDK_OUTDIR": str(folder / "cdk.out"),
        "CDK_VALIDATION": "true" if row.validation else "false",
        "PYTHONPATH": str(ROOT),
        "CDK_CONTEXT_JSON": json.dumps(json.loads((ROOT / "cdk.json").read_text())["context"]),
        "BENCH_TEMPLATES": os.pathsep.join(map(str, _templates(folder, row.app))),
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    process = subprocess.Popen(
        row.command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, errors = process.communicate(timeout=120)
    wall = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise SystemExit(f"{row.name}: exit code {process.returncode}\n{errors.decode()[-2000:]}")
    cpu = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return Figures(cpu, wall, after.ru_maxrss / 1024)


def run_in_child(work: Callable[[], Figures]) -> Figures:
    """Measure in a process of its own, because the peak of children is never reset.

    Args:
        work: what to measure.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            figures = work()
            os.write(write, f"{figures.cpu_seconds} {figures.wall_seconds} {figures.peak_mib}".encode())
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read) as answers:
        text = answers.read()
    if os.waitpid(child, 0)[1] or not text:
        raise SystemExit("a case failed; its message is above")
    cpu, wall, peak = (float(part) for part in text.split())
    return Figures(cpu, wall, peak)


def _templates(folder: Path, app: str) -> list[Path]:
    return sorted((folder / app.replace("/", "-")).glob("*.json"))


def make_templates(folder: Path, app: str) -> str:
    """Write down what the bare L1s are made of: the resources of an app's own templates.

    Args:
        folder: where they go.
        app: the app, relative to the repository.

    Returns:
        Their size in words.
    """
    output, target = folder / "synthesized" / app, folder / app.replace("/", "-")
    context = json.dumps(json.loads((ROOT / "cdk.json").read_text())["context"])
    settings = {"CDK_OUTDIR": str(output), "CDK_VALIDATION": "false", "CDK_CONTEXT_JSON": context}
    environment = {**os.environ, **settings, "PYTHONPATH": str(ROOT)}
    subprocess.run(_python(app), cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    target.mkdir(parents=True)
    resources = size = 0
    for path in output.glob("*.template.json"):
        content = json.loads(path.read_text())
        resources += len(content["Resources"])
        size += len(json.dumps(content, separators=(",", ":")))
        # A nested include may not have these; they make no resource.
        for section in ("Parameters", "Rules", "Outputs"):
            content.pop(section, None)
        (target / path.name).write_text(json.dumps(_without_other_stacks(content)))
    return f"{app}: {resources} resources, {size} bytes"


def _without_other_stacks(value: Any) -> Any:
    """CfnInclude knows no references to outputs of other stacks: a text stands in for each."""
    if isinstance(value, dict):
        if "Fn::GetStackOutput" in value:
            return value["Fn::GetStackOutput"]["OutputName"]
        return {key: _without_other_stacks(item) for key, item in value.items()}
    return [_without_other_stacks(item) for item in value] if isinstance(value, list) else value


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"counted runs of each case (default {RUNS})")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--examples", action="store_true", help="also each example, beside its resources as bare L1s")
    arguments = parser.parse_args()
    rows = [row for row in (*ROWS, *(EXAMPLE_ROWS if arguments.examples else ())) if arguments.only in row.name]
    results: dict[str, list[Figures]] = {row.name: [] for row in rows}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = [make_templates(folder, app) for app in dict.fromkeys(row.app for row in rows)]
        for run in range(arguments.runs + 1):
            for row in rows:
                figures = run_in_child(lambda row=row: measure(row, folder))  # type: ignore[misc]
                if run:
                    results[row.name].append(figures)
                sys.stderr.write(f"\r{run + 1}/{arguments.runs + 1} {row.name:40.40}")
    sys.stderr.write("\r" + " " * 60 + "\r")
    print_table(rows, results)
    sys.stdout.write("\n" + "\n".join(sizes) + "\n")


def print_table(rows: Sequence[Row], results: dict[str, list[Figures]]) -> None:
    """Medians, and the median of the ratios run by run.

    Args:
        rows: the cases, in order.
        results: their figures, run by run.
    """
    lines = [f"{'case':<48}{'CPU s':>8}{'wall s':>8}{'peak MiB':>10}   ratio of CPU, run by run"]
    for row in rows:
        mine = results[row.name]
        cpu, wall, peak = (
            statistics.median(getattr(item, field) for item in mine)
            for field in ("cpu_seconds", "wall_seconds", "peak_mib")
        )
        line = f"{row.name:<48}{cpu:>8.2f}{wall:>8.2f}{peak:>10.0f}"
        if row.against in results:
            pairs = zip(mine, results[row.against], strict=True)
            ratio = statistics.median(a.cpu_seconds / b.cpu_seconds for a, b in pairs)
            line += f"   {ratio:.2f} x {row.against}"
        lines.append(line)
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
