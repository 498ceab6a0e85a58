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


def _python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


ROWS = (
    Row("import of the core", _python("-c", "from hyperpod_constructs import ClusterSpec, validate")),
    Row("import aws_cdk", _python("-c", "import aws_cdk.aws_ec2")),
    Row(
        "import of the constructs",
        _python("-c", "from hyperpod_constructs import SlurmCluster"),
        against="import aws_cdk",
    ),
    Row("empty stack", _python(str(CASES / "empty_stack.py"))),
    Row("the same resources as bare L1s", _python(str(CASES / "bare_l1.py")), against="empty stack"),
    Row("app.py", _python("app.py"), against="the same resources as bare L1s"),
    Row("empty stack, built-in check on", _python(str(CASES / "empty_stack.py")), validation=True),
    Row("app.py, built-in check on", _python("app.py"), validation=True, against="empty stack, built-in check on"),
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
        "BENCH_TEMPLATE": str(folder / "template.json"),
        "BENCH_RESOURCES": " ".join(json.loads((folder / "template.json").read_text())["Resources"]),
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


def _template_of_app(folder: Path) -> None:
    """What the bare L1s are made of: the resources of app.py's own template."""
    environment = {**os.environ, "CDK_OUTDIR": str(folder / "cdk.app"), "CDK_VALIDATION": "false"}
    subprocess.run(_python("app.py"), cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    (template,) = (folder / "cdk.app").glob("*.template.json")
    content = json.loads(template.read_text())
    # A nested include may not have these; they make no resource.
    for section in ("Parameters", "Rules"):
        content.pop(section, None)
    (folder / "template.json").write_text(json.dumps(content))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"counted runs of each case (default {RUNS})")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    arguments = parser.parse_args()
    rows = [row for row in ROWS if arguments.only in row.name]
    results: dict[str, list[Figures]] = {row.name: [] for row in rows}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _template_of_app(folder)
        for run in range(arguments.runs + 1):
            for row in rows:
                figures = run_in_child(lambda row=row: measure(row, folder))  # type: ignore[misc]
                if run:
                    results[row.name].append(figures)
                sys.stderr.write(f"\r{run + 1}/{arguments.runs + 1} {row.name:40.40}")
    sys.stderr.write("\r" + " " * 60 + "\r")
    print_table(rows, results)


def print_table(rows: Sequence[Row], results: dict[str, list[Figures]]) -> None:
    """Medians, and the median of the ratios run by run.

    Args:
        rows: the cases, in order.
        results: their figures, run by run.
    """
    lines = [f"{'case':<36}{'CPU s':>8}{'wall s':>8}{'peak MiB':>10}   ratio of CPU, run by run"]
    for row in rows:
        mine = results[row.name]
        cpu, wall, peak = (
            statistics.median(getattr(item, field) for item in mine)
            for field in ("cpu_seconds", "wall_seconds", "peak_mib")
        )
        line = f"{row.name:<36}{cpu:>8.2f}{wall:>8.2f}{peak:>10.0f}"
        if row.against in results:
            pairs = zip(mine, results[row.against], strict=True)
            ratio = statistics.median(a.cpu_seconds / b.cpu_seconds for a, b in pairs)
            line += f"   {ratio:.2f} x {row.against}"
        lines.append(line)
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
