"""Sets a HyperPod node up: finds out which node this is, then runs the steps for it.

Exit codes: 0 all required steps succeeded; 1 a required step failed; 2 the configuration or the node's identity is
not usable; 3 wrong arguments; 4 (with --deferred) a step still waits for Slurm. The last line printed names the cause.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from nodelib.engine import RERUN_SUMMARY_FILE, SUMMARY_FILE, Engine, StepResult
from nodelib.errors import ConfigError
from nodelib.identity import resource_config_path, wait_for_identity
from nodelib.node_config import NodeConfig, load_node_config
from nodelib.node_files import NodeFiles
from nodelib.runner import ProcessRunner
from nodelib.step import BOTH_STYLES, Context, Step
from nodelib.units import DEFERRED_UNIT, ensure_retry
from nodelib.waiting import SystemClock
from steps import all_steps

SUCCEEDED, STEP_FAILED, CONFIGURATION_UNUSABLE, WRONG_ARGUMENTS, STILL_WAITING = 0, 1, 2, 3, 4
SCRIPTS = Path(__file__).resolve().parent
# Observed: the platform's file can lag by 40 s on workers (field report L-04).
IDENTITY_TIMEOUT_SECONDS = 180.0


def log(line: str) -> None:
    """Print one line with the time; the entry script sends it to the provisioning log too."""
    print(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} lifecycle: {line}", flush=True)  # noqa: T201


def main(arguments: Sequence[str] | None = None) -> int:
    """Run; return the exit code."""
    options = _parser().parse_args(arguments)
    os.umask(0o022)
    try:
        context = _context(options)
        steps = choose_steps(context, options.only)
    except ConfigError as error:
        log(f"FAILED: {error}")
        return CONFIGURATION_UNUSABLE
    results = Engine(context, log, RERUN_SUMMARY_FILE if options.only else SUMMARY_FILE).run(steps)
    code = _conclude(results)
    return _see_to_deferred(context, results, again=options.deferred) if code == SUCCEEDED else code


def _see_to_deferred(context: Context, results: Sequence[StepResult], *, again: bool) -> int:
    """Steps that wait for Slurm are run again in the background, until the unit that does so can be put away."""
    waiting = [result.step for result in results if result.outcome == "deferred"]
    if again:
        if not waiting:
            context.runner.run(["systemctl", "disable", DEFERRED_UNIT])
        return STILL_WAITING if waiting else SUCCEEDED
    if waiting:
        ensure_retry(context, waiting)
    return SUCCEEDED


def choose_steps(context: Context, only: Sequence[str]) -> list[Step]:
    """The steps for this node, or those of them that were asked for by name, in the set's order.

    Raises:
        ConfigError: a name is none of this node's steps.
    """
    steps = [
        step for step in all_steps(context.config) if step.applies(context.config, context.node_type, context.style)
    ]
    names = [step.name for step in steps]
    unknown = [name for name in only if name not in names]
    if unknown:
        raise ConfigError(f"no such step on this node: {', '.join(unknown)}; there are: {', '.join(names)}")
    return [step for step in steps if (step.name in only if only else not step.on_demand)]


def _context(options: argparse.Namespace) -> Context:
    root, clock = Path(options.root), SystemClock()
    config: NodeConfig = load_node_config(Path(options.config))
    identity = wait_for_identity(
        config,
        root,
        clock,
        timeout_seconds=options.identity_timeout_seconds,
        resource_config=resource_config_path(root),
    )
    return Context(
        config=config,
        identity=identity,
        style=options.style or identity.group.style,
        files=NodeFiles(root),
        runner=ProcessRunner(),
        clock=clock,
        scripts=SCRIPTS,
    )


def _conclude(results: Sequence[StepResult]) -> int:
    last = results[-1] if results else None
    if last is not None and last.outcome == "failed":
        log(f"FAILED: step {last.step}: {last.remarks[-1] if last.remarks else 'no cause given'}")
        return STEP_FAILED
    seconds = sum(result.seconds for result in results)
    deferred = [result.step for result in results if result.outcome == "deferred"]
    waiting = f"; waiting for Slurm in the background: {', '.join(deferred)}" if deferred else ""
    passed_over = [result.step for result in results if result.outcome == "passed_over"]
    ending = f"; optional steps failed: {', '.join(passed_over)}" if passed_over else ""
    log(f"SUCCEEDED: {len(results)} steps in {seconds:.1f} s{ending}{waiting}")
    return SUCCEEDED


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        log(f"FAILED: {message}")
        sys.exit(WRONG_ARGUMENTS)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--style", choices=BOTH_STYLES, help="by default as node_config.json says for the group")
    parser.add_argument("--only", metavar="STEP", nargs="+", default=[], help="run only these steps")
    parser.add_argument("--deferred", action="store_true", help="for the unit that runs deferred steps again")
    parser.add_argument("--config", default=str(SCRIPTS / "node_config.json"))
    parser.add_argument("--root", default=os.environ.get("HYPERPOD_NODE_ROOT") or "/", help="for tests")
    parser.add_argument("--identity-timeout-seconds", type=float, default=IDENTITY_TIMEOUT_SECONDS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
