"""Prints what the core and the handler of the custom resource cost for a cluster of 100 groups. Asserts nothing.

Times are CPU milliseconds of one call: the smallest and the median of several, because another process on the machine
can only add to them. Imports and memory are those of interpreters of their own.
"""

import contextlib
import io
import json
import statistics
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).parents[2]
HANDLERS = ROOT / "hyperpod_constructs" / "handlers"
CALLS = 15
PROCESSES = 5

sys.path.insert(0, str(ROOT))

from hyperpod_constructs.api_request import create_cluster_request  # noqa: E402
from hyperpod_constructs.bindings import Bindings  # noqa: E402
from hyperpod_constructs.handlers.cluster import index  # noqa: E402
from hyperpod_constructs.handlers.cluster.plan import plan  # noqa: E402
from hyperpod_constructs.rules import validate  # noqa: E402
from hyperpod_constructs.specs import ClusterSpec, ComputeGroup, ControllerGroup, LoginGroup  # noqa: E402
from tests.core.support import bindings_for  # noqa: E402
from tests.handlers.builders import NAME, Group, compute, controller, desired, login, props  # noqa: E402
from tests.handlers.pictures import observed  # noqa: E402
from tests.handlers.replay import StackReplay, World  # noqa: E402


@dataclass(frozen=True)
class Row:
    """One line of the table; ``budget`` is what the project set itself, empty where it set nothing."""

    name: str
    figure: str
    budget: str = ""


def cpu_milliseconds(call: Callable[[], object]) -> str:
    """Smallest and median CPU time of a call."""
    times = []
    for _ in range(CALLS):
        started = time.process_time()
        call()
        times.append((time.process_time() - started) * 1000)
    return f"{min(times):.1f} to {statistics.median(times):.1f} ms"


def a_spec() -> ClusterSpec:
    """A cluster of 100 groups."""
    machine = "ml.m5.xlarge"
    return ClusterSpec(
        cluster_name="hundred",
        controller=ControllerGroup(instance_type=machine),
        login=LoginGroup(instance_type=machine),
        compute=[
            ComputeGroup(name=f"group-{number:02d}", instance_type="ml.p5.48xlarge", instance_count=16)
            for number in range(98)
        ],
    )


def some_groups(count: int) -> list[Group]:
    """The handler's hundred groups, with this many instances in each compute group."""
    return [controller(), login(), *(compute(f"group-{number:02d}", count) for number in range(98))]


def core_rows() -> Iterator[Row]:
    """What synthesis costs without the CDK."""

    def checked() -> tuple[ClusterSpec, Bindings]:
        spec = a_spec()
        bindings = bindings_for(spec)
        validate(spec, bindings)
        return spec, bindings

    spec, bindings = checked()
    yield Row("build and validate 100 groups", cpu_milliseconds(checked), "50 ms")
    request = cpu_milliseconds(lambda: create_cluster_request(spec, bindings))
    yield Row("request of 100 groups", request, "10 ms")
    yield Row("import of the core", process("from hyperpod_constructs import ClusterSpec, validate"), "100 ms")


def planning_rows() -> Iterator[Row]:
    """What the planner costs: nothing changed, one group changed, all of them changed."""
    before, live = desired(some_groups(4)), observed(some_groups(4))
    one = [*some_groups(4)[:-1], some_groups(6)[-1]]
    for name, groups in (("nothing", some_groups(4)), ("one", one), ("every", some_groups(6))):
        wanted = desired(groups)
        figure = cpu_milliseconds(lambda wanted=wanted: plan(wanted, before, live))  # type: ignore[misc]
        yield Row(f"plan 100 groups, {name} changed", figure, "5 ms")


def polling_rows() -> Iterator[Row]:
    """What a poll calls and computes while all is well, for few and for many nodes."""
    for groups, count in ((2, 4), (98, 64)):
        with contextlib.redirect_stdout(io.StringIO()):
            calls, work = a_poll(groups, count)
        yield Row(f"a poll, {groups * count + 2} nodes in {groups + 2} groups: calls", calls, "1 DescribeCluster")
        yield Row(f"a poll, {groups * count + 2} nodes in {groups + 2} groups: own work", work)


def a_poll(groups: int, count: int) -> tuple[str, str]:
    """The calls of the second poll of a creation, and the CPU time that the handler itself takes for it."""
    world = World()
    chosen = [controller(), login(), *(compute(f"group-{number:02d}", count) for number in range(groups))]
    event = StackReplay(world).event("Create", props(chosen))
    merged = {**event, **index.on_event(event, None, world.services())}
    index.is_complete(merged, None, world.services())
    made = len(world.service.calls)
    index.is_complete(merged, None, world.services())
    calls = ", ".join(call.operation for call in world.service.calls[made:])
    answer = world.client.describe_cluster(ClusterName=NAME)
    services = world.services()
    services.aws.sagemaker = SimpleNamespace(describe_cluster=lambda **_: answer)
    return calls, cpu_milliseconds(lambda: index.is_complete(merged, None, services))


def process(code: str, *, given: str = "", peak: bool = False) -> str:
    """CPU time of running code in a new interpreter, the interpreter's own start not counted; or its peak memory."""
    script = (
        "import sys, time, resource; sys.path.insert(0, sys.argv[1]); started = time.process_time()\n"
        f"{code}\n"
        "print((time.process_time() - started) * 1000, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    figures = []
    for _ in range(PROCESSES):
        command = [sys.executable, "-c", script, str(HANDLERS)]
        run = subprocess.run(command, cwd=ROOT, input=given, capture_output=True, text=True, check=True, timeout=60)
        milliseconds, kibibytes = run.stdout.split()[-2:]
        figures.append((float(milliseconds), int(kibibytes) / 1024))
    if peak:
        return f"{max(mebibytes for _, mebibytes in figures):.0f} MiB"
    times = [milliseconds for milliseconds, _ in figures]
    return f"{min(times):.0f} to {statistics.median(times):.0f} ms"


def asset_size() -> str:
    """Of the folder as it is staged: what Lambda unpacks, and what is uploaded."""
    files = [path for path in sorted(HANDLERS.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            archive.write(path, path.relative_to(HANDLERS))
    size = sum(path.stat().st_size for path in files)
    return f"{len(files)} files, {size / 1024:.0f} KiB, {len(packed.getvalue()) / 1024:.0f} KiB packed"


def handler_rows() -> Iterator[Row]:
    """What a cold start of the Lambda costs."""
    client = (
        "import os\n"
        "os.environ.update(AWS_DEFAULT_REGION='us-east-1', AWS_ACCESS_KEY_ID='a', AWS_SECRET_ACCESS_KEY='b')\n"
        "from cluster import index, clients\nclients.client('sagemaker')"
    )
    work = f"{client}\nimport json\nfrom cluster.events import read_event\nread_event(json.load(sys.stdin))"
    update = StackReplay(World()).event("Update", props(some_groups(6)), props(some_groups(4)), NAME)
    peak = process(work, given=json.dumps(update), peak=True)
    yield Row("handler, cold import", process("from cluster import index"))
    yield Row("handler, cold import and its client of SageMaker", process(client))
    yield Row("handler, peak memory with an update of 100 groups", peak, "256 MiB of the function")
    yield Row("handler, asset", asset_size())


def main() -> None:
    """Print the table."""
    rows = [*core_rows(), *planning_rows(), *polling_rows(), *handler_rows()]
    width = max(len(row.name) for row in rows) + 2
    lines = [f"{'case':<{width}}{'figure':<44}budget"]
    lines += [f"{row.name:<{width}}{row.figure:<44}{row.budget}".rstrip() for row in rows]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
