"""The command `python -m hyperpod_constructs.rehearsal.service`: its options and its life."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import logging
import os
import signal
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .aws_clients import client, object_lister
from .capacity import Capacity
from .fsx import FsxService
from .http_server import LOOPBACK, HttpServer
from .hyperpod import LATEST_IMAGE_RELEASE, HyperPodService
from .launcher import CompositeLauncher, Launcher, SimulatedLauncher
from .logs import CloudWatchLogSink, LogSink, MemoryLogSink
from .settings import Assumptions, Timings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DESCRIPTION = "A stand-in for the SageMaker HyperPod API and the FSx calls around it, on the loopback address."


def parser() -> argparse.ArgumentParser:
    """The options."""
    found = argparse.ArgumentParser(prog="python -m hyperpod_constructs.rehearsal.service", description=DESCRIPTION)
    add = found.add_argument
    add("--port", type=int, default=0, help="the port; 0, the default, for any free one")
    add("--bind", default=LOOPBACK, help=f"the address; only {LOOPBACK} is allowed")
    add("--ready-file", type=Path, help="a file that gets the URL once the service answers")
    add(
        "--capacity", action="append", default=[], metavar="GROUP=COUNT[@SECONDS,...]", help="which instances there are"
    )
    add("--aws-endpoint", metavar="URL", help="the emulated AWS, for log groups and script objects")
    add("--region", default="us-east-1", help="the region of everything")
    add("--account", default="123456789012", help="the account of everything")
    add("--pace", choices=("fast", "documented"), default="fast", help="how long transitions take")
    add("--timing", action="append", default=[], metavar="NAME=SECONDS", help="one duration")
    add("--assume", action="append", default=[], metavar="NAME=true|false", help="the answer to an open question")
    add("--node-network", default="10.0.0.0/16", help="the network of the nodes' addresses")
    add("--latest-image-release", default=LATEST_IMAGE_RELEASE, help="the release of groups that pin none")
    add("--seed", type=int, help="makes ids repeatable")
    add("--launcher", metavar="MODULE:FUNCTION", help="makes real nodes: a function of the --launcher-option texts")
    add("--launcher-option", action="append", default=[], metavar="NAME=VALUE", help="for the launcher's function")
    add("--real-nodes", action="append", default=[], metavar="[GROUP=]COUNT", help="only the first nodes are real")
    add("--real-nodes-at-most", type=int, metavar="COUNT", help="of all groups together")
    add("--verbose", action="store_true", help="log every request")
    return found


def pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """`NAME=VALUE` texts as a dictionary.

    Raises:
        ValueError: A text has no `=`.
    """
    found = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not name or not sign:
            raise ValueError(f"{option} must be NAME=VALUE, got {text!r}")
        found[name] = value
    return found


def timings(pace: str, texts: Iterable[str]) -> Timings:
    """The durations.

    Raises:
        ValueError: A name is unknown or a number is none.
    """
    base = Timings.documented() if pace == "documented" else Timings()
    changes: dict[str, Any] = {}
    for name, value in pairs(texts, "--timing").items():
        if name not in Timings.__dataclass_fields__:
            raise ValueError(f"--timing {name} is unknown, there are: {', '.join(Timings.__dataclass_fields__)}")
        try:
            changes[name] = int(value) if name.endswith("_tries") else float(value)
        except ValueError:
            raise ValueError(f"--timing {name} must be a number, got {value!r}") from None
    return replace(base, **changes)


def assumptions(texts: Iterable[str]) -> Assumptions:
    """The answers to open questions.

    Raises:
        ValueError: A name is unknown or a value is neither true nor false.
    """
    given = pairs(texts, "--assume")
    known = Assumptions.__dataclass_fields__
    wrong = [f"{name}={value}" for name, value in given.items() if name not in known or value not in ("true", "false")]
    if wrong:
        raise ValueError(f"--assume {', '.join(wrong)}: give true or false to one of {', '.join(known)}")
    return Assumptions(**{name: value == "true" for name, value in given.items()})


def real_nodes(texts: Sequence[str]) -> int | dict[str, int] | None:
    """How many nodes of which group are real; None for all.

    Raises:
        ValueError: A count is none.
    """
    if not texts:
        return None
    counts = [text.rpartition("=") for text in texts]
    wrong = [text for text, (_, _, count) in zip(texts, counts, strict=True) if not count.isdecimal()]
    if wrong or (len(texts) > 1 and any(not group for group, _, _ in counts)):
        raise ValueError(f"--real-nodes must be COUNT once, or GROUP=COUNT for each group, got {' '.join(texts)!r}")
    if not counts[0][0]:
        return int(counts[0][2])
    return {group: int(count) for group, _, count in counts}


def launcher(options: argparse.Namespace, durations: Timings) -> Launcher:
    """The launcher that the options ask for.

    Raises:
        ValueError: The function cannot be found.
    """
    simulated = SimulatedLauncher(durations)
    if not options.launcher:
        return simulated
    module, _, name = options.launcher.partition(":")
    try:
        make = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"--launcher {options.launcher} cannot be found: {error}") from error
    real: Launcher = make(pairs(options.launcher_option, "--launcher-option"))
    count = real_nodes(options.real_nodes)
    if count is None:
        return real
    return CompositeLauncher(real, simulated, count, options.real_nodes_at_most)


def services(options: argparse.Namespace) -> tuple[HyperPodService, FsxService]:
    """The two services that the options describe.

    Raises:
        ValueError: An option is wrong.
    """
    durations = timings(options.pace, options.timing)
    place = {"region": options.region, "account": options.account}
    sink: LogSink = MemoryLogSink()
    lister = None
    if options.aws_endpoint:
        aws = partial(client, endpoint=options.aws_endpoint, **place)
        sink = CloudWatchLogSink(partial(aws, "logs"))
        lister = object_lister(partial(aws, "s3"))
    hyperpod = HyperPodService(
        capacity=Capacity.parse(options.capacity),
        launcher=launcher(options, durations),
        log_sink=sink,
        timings=durations,
        assumptions=assumptions(options.assume),
        object_lister=lister,
        node_network=options.node_network,
        latest_image_release=options.latest_image_release,
        seed=options.seed,
        **place,
    )
    return hyperpod, FsxService(seed=options.seed, **place)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM, SIGINT or a shutdown request; the exit code is 1 with one sentence if it cannot start."""
    options = parser().parse_args(arguments)
    logging.basicConfig(
        level=logging.DEBUG if options.verbose else logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s %(message)s",
    )
    for noisy in ("botocore", "boto3", "urllib3"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    try:
        hyperpod, fsx = services(options)
        server = HttpServer(hyperpod, fsx, options.port, options.bind)
    except ValueError as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"port {options.port} of {options.bind} cannot be used: {error.strerror}")
    return _serve(server, hyperpod, options.ready_file)


def _refuse(reason: str) -> int:
    sys.stderr.write(f"the HyperPod service cannot start: {reason}\n")
    return 1


def _serve(server: HttpServer, hyperpod: HyperPodService, ready_file: Path | None) -> int:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stopped.set())
    with server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        if ready_file:
            _write(ready_file, server.url)
        server.stopped.wait()
    for part in (hyperpod.context.launcher, hyperpod.log_sink):
        close = getattr(part, "close", None)
        if close:
            with contextlib.suppress(Exception):  # the end must not fail
                close()
    return 0


def _write(path: Path, text: str) -> None:
    """Whole or not at all: whoever waits for the file must not read half of it."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(f"{text}\n")
    part.replace(path)
