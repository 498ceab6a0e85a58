"""Fetching what a deployment explicitly asks for: pinned by checksum, retried, never trusted before it is checked."""

import hashlib
import urllib.request
from collections.abc import Callable
from pathlib import Path

from nodelib.errors import StepError
from nodelib.node_config import Package
from nodelib.step import Context

CACHE = "/var/cache/hyperpod-constructs"
TRIES = 5
FIRST_PAUSE_SECONDS = 2.0

Fetch = Callable[[str, Path], None]


def fetch_package(context: Context, package: Package, fetch: Fetch | None = None) -> Path:
    """The package's file on this node, with the right checksum.

    Raises:
        StepError: it could not be fetched, or is not what was pinned.
    """
    context.files.folder(CACHE, mode=0o700)
    target = context.files.path(f"{CACHE}/{package.sha256}-{package.url.rpartition('/')[2]}")
    if target.is_file() and _digest(target) == package.sha256:
        return target
    _retry(context, package, target, fetch or (_fetch_s3(context) if package.url.startswith("s3:") else _fetch_https))
    if _digest(target) != package.sha256:
        found = _digest(target)
        target.unlink()
        raise StepError(f"{package.url}: SHA-256 is {found}, {package.sha256} is pinned; it was not used")
    context.did(f"fetched {package.name}")
    return target


def _retry(context: Context, package: Package, target: Path, fetch: Fetch) -> None:
    pause = FIRST_PAUSE_SECONDS
    for attempt in range(1, TRIES + 1):
        try:
            fetch(package.url, target)
        except (OSError, StepError) as error:
            if attempt == TRIES:
                raise StepError(f"{package.url}: not fetched in {TRIES} tries: {error}") from error
            context.clock.sleep(pause)
            pause *= 2
        else:
            return


def _fetch_https(url: str, target: Path) -> None:
    request = urllib.request.Request(url)  # noqa: S310 - the schema and the rules allow https and s3 only
    with urllib.request.urlopen(request, timeout=60) as response, target.open("wb") as stream:  # noqa: S310
        while block := response.read(1 << 20):
            stream.write(block)


def _fetch_s3(context: Context) -> Fetch:
    def fetch(url: str, target: Path) -> None:
        context.runner.run(["aws", "s3", "cp", "--only-show-errors", url, str(target)], timeout_seconds=300)

    return fetch


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
