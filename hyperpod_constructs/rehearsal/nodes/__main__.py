"""``python -m hyperpod_constructs.rehearsal.nodes``: look at the machine, build a tree, run a bed, work in it."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from hyperpod_constructs.rehearsal.nodes import registry
from hyperpod_constructs.rehearsal.nodes.client import BedClient
from hyperpod_constructs.rehearsal.nodes.doctor import examine
from hyperpod_constructs.rehearsal.nodes.errors import BedError
from hyperpod_constructs.rehearsal.nodes.paths import bed_dir, nodes_cache_dir
from hyperpod_constructs.rehearsal.nodes.suites import DEFAULT_SUITE, SUITES, suite_named
from hyperpod_constructs.rehearsal.nodes.tree import ensure_tree

MAXIMUM_HOLD_SECONDS = 24 * 3600.0


def say(text: str) -> None:
    """Tell the user what is going on."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201 - a command line


def parser() -> argparse.ArgumentParser:
    """The command line."""
    root = argparse.ArgumentParser(
        prog="python -m hyperpod_constructs.rehearsal.nodes",
        description="Real Slurm nodes on this machine, as root, with no network.",
    )
    commands = root.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="whether this machine can carry a bed")
    build = commands.add_parser("build", help="build the Debian trees")
    build.add_argument("suites", nargs="*", default=[DEFAULT_SUITE], metavar="SUITE", help=", ".join(SUITES))
    run = commands.add_parser("run", help="run a cluster until Ctrl-C, or until a command has ended")
    run.add_argument("--suite", default=DEFAULT_SUITE, help=f"one of {', '.join(SUITES)}; default {DEFAULT_SUITE}")
    run.add_argument("--compute", type=int, default=2, metavar="N", help="compute nodes; default 2")
    run.add_argument("--instance-type", default="ml.m5.xlarge", help="what the compute nodes play")
    run.add_argument(
        "--scripts", type=Path, metavar="FOLDER", help="lifecycle scripts; without: the image's own set-up"
    )
    run.add_argument("--on-create", metavar="FILE", help="entry script of that folder, in ON_CREATE style")
    run.add_argument("--on-init-complete", metavar="FILE", help="entry script, in ON_INIT_COMPLETE style")
    run.add_argument("--seconds", type=float, default=1800.0, help="the bed ends after this; default 1800")
    run.add_argument("--shell", metavar="TEXT", help="run this on the login node and end with its exit code")
    bench = commands.add_parser("bench", help="how long nodes take to boot and to become idle in Slurm")
    bench.add_argument("--suite", default=DEFAULT_SUITE, help=f"one of {', '.join(SUITES)}; default {DEFAULT_SUITE}")
    bench.add_argument("--repeat", type=int, default=5, metavar="N", help="nodes measured a style; default 5")
    bench.add_argument("--on-create", type=Path, metavar="FILE", help="entry script of the ON_CREATE style")
    bench.add_argument("--on-init-complete", type=Path, metavar="FILE", help="entry script of the other style")
    execute = commands.add_parser("exec", help="run a command on a node of the running bed")
    execute.add_argument("node")
    execute.add_argument("arguments", nargs=argparse.REMAINDER, metavar="COMMAND")
    execute.add_argument("--bed", help="which, when several run")
    commands.add_parser("list", help="running beds and their nodes")
    commands.add_parser("sweep", help="remove what killed beds left behind")
    return root


def the_bed(bed_id: str | None) -> BedClient:
    """The running bed of that id, or the only one.

    Raises:
        BedError: there is none, or there are several.
    """
    beds = [bed.bed_id for bed in registry.running_beds()]
    if bed_id is None and len(beds) == 1:
        bed_id = beds[0]
    if not beds:
        raise BedError("no bed is running; start one with the command run")
    if bed_id not in beds:
        wanted = f'no bed "{bed_id}"' if bed_id else "which bed is not clear"
        raise BedError(f"{wanted}; running: {', '.join(beds)}; name one with --bed, before the node")
    return BedClient(bed_dir(bed_id) / "bed.sock")


def doctor() -> int:
    findings = examine()
    for finding in findings:
        say(f"{'NO' if finding.problem else 'ok':<3} {finding.subject}: {finding.problem or finding.found}")
    return 1 if any(finding.problem for finding in findings) else 0


def build(names: Sequence[str]) -> int:
    for suite in [suite_named(name) for name in names]:
        say(str(ensure_tree(suite, nodes_cache_dir(), say=say).root))
    return 0


def execute(options: argparse.Namespace) -> int:
    arguments = [argument for argument in options.arguments if argument != "--"] or ["bash", "-l"]
    bed = the_bed(options.bed)
    streams = [stream.fileno() for stream in (sys.stdin, sys.stdout, sys.stderr)]
    return bed.execute(options.node, arguments, streams=streams, timeout_seconds=MAXIMUM_HOLD_SECONDS)


def list_beds() -> int:
    for bed in registry.running_beds():
        say(f"bed {bed.bed_id}")
        for node in BedClient(bed_dir(bed.bed_id) / "bed.sock").nodes():
            state = "cut off" if not node["connected"] else "running" if node["running"] else "down"
            say(f"  {node['name']} {state} {node['labels'].get('node_type', '')}")
    return 0


def sweep() -> int:
    swept = registry.sweep()
    say(f"swept: {', '.join(swept) or 'nothing was left'}")
    return 0


def run(options: argparse.Namespace) -> int:
    # Here, since the agent knows of nodes and not the other way round.
    from hyperpod_constructs.rehearsal.agent.demonstration import Demonstration

    demonstration = Demonstration(
        suite=options.suite,
        compute=options.compute,
        instance_type=options.instance_type,
        scripts=options.scripts,
        on_create=options.on_create,
        on_init_complete=options.on_init_complete,
        limit_seconds=options.seconds,
    )
    with demonstration.cluster(say) as (bed, login):
        if options.shell:
            streams = [stream.fileno() for stream in (sys.stdin, sys.stdout, sys.stderr)]
            return bed.execute(login, ["bash", "-c", options.shell], streams=streams, timeout_seconds=options.seconds)
        say(f"ready; python -m hyperpod_constructs.rehearsal.nodes exec {login} sinfo; Ctrl-C ends it")
        time.sleep(options.seconds)
    return 0


def bench(options: argparse.Namespace) -> int:
    from hyperpod_constructs.rehearsal.agent.bench import measure, table

    entries = {"OnCreate": options.on_create, "OnInitComplete": options.on_init_complete}
    given = {style: entry for style, entry in entries.items() if entry}
    for line in table(measure(options.suite, given, repeat=options.repeat, say=say)):
        print(line)  # noqa: T201 - the result of the command
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line; one sentence and exit code 1 when that cannot be done."""
    options = parser().parse_args(arguments)
    actions = {
        "doctor": doctor,
        "build": lambda: build(options.suites),
        "run": lambda: run(options),
        "bench": lambda: bench(options),
        "exec": lambda: execute(options),
        "list": list_beds,
        "sweep": sweep,
    }
    try:
        return actions[options.command]()
    except BedError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
