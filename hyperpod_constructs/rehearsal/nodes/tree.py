"""The Debian tree that all nodes of a bed share, read-only: built once and kept."""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hyperpod_constructs.rehearsal.nodes.errors import BedError, BedUnavailable
from hyperpod_constructs.rehearsal.nodes.host import Say, require_host, run_apt
from hyperpod_constructs.rehearsal.nodes.registry import running_beds
from hyperpod_constructs.rehearsal.nodes.suites import Suite

BUILD_TIMEOUT_SECONDS = 900
LOCK_TIMEOUT_SECONDS = 1200
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """A built tree and the program that boots it.

    Attributes:
        suite: code name of its Debian release.
        root: its root folder; never written to after the build.
        nspawn: the systemd-nspawn of the host's own release.
        libraries: folder for LD_LIBRARY_PATH when that program was only unpacked, else None.
    """

    suite: str
    root: Path
    nspawn: Path
    libraries: Path | None


@contextlib.contextmanager
def locked(path: Path, *, say: Say, timeout_seconds: float = LOCK_TIMEOUT_SECONDS) -> Iterator[None]:
    """Hold the lock file at that path; the kernel frees it when the holder dies.

    Raises:
        BedError: another process held it all the time.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout_seconds
    told = False
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise BedError(
                        f"{path} was held by another build for {timeout_seconds:.0f} s; end that one first"
                    ) from None
                if not told:
                    say("another run is building the same tree: waiting for it")
                    told = True
                time.sleep(0.2)
        yield


def tree_dir(suite: Suite, cache: Path) -> Path:
    """Where that suite's tree is or will be."""
    return cache / suite.name / f"tree-{suite.tree_key}"


def is_built(suite: Suite, cache: Path) -> bool:
    """Whether the tree is there: it gets its name only when complete."""
    return tree_dir(suite, cache).is_dir()


def ensure_tree(suite: Suite, cache: Path, *, say: Say) -> Tree:
    """The suite's tree, built now (about a minute, 650 MiB) unless it was before.

    Args:
        suite: what to build.
        cache: folder for all trees.
        say: is told what takes time.

    Raises:
        BedUnavailable: this machine cannot build it (no root, no Debian, no space, packages out of reach).
    """
    require_host(build=not is_built(suite, cache), folder=cache, say=say)
    if not is_built(suite, cache) or not _has_nspawn(cache / "nspawn"):
        with locked(cache / "lock", say=say):
            _remove_unfinished(cache / suite.name)
            if not is_built(suite, cache):
                _build(suite, tree_dir(suite, cache), say)
                _remove_old_trees(suite, cache)
            if not _has_nspawn(cache / "nspawn"):
                _unpack_nspawn(cache / "nspawn", say)
    nspawn, libraries = _find_nspawn(cache / "nspawn")
    return Tree(suite=suite.name, root=tree_dir(suite, cache), nspawn=nspawn, libraries=libraries)


def _remove_unfinished(folder: Path) -> None:
    for left in folder.glob("*.partial"):
        shutil.rmtree(left)


def _remove_old_trees(suite: Suite, cache: Path) -> None:
    """Trees of other package lists than today's, unless some bed may stand on one."""
    if running_beds():
        return
    for tree in (cache / suite.name).glob("tree-*"):
        if tree != tree_dir(suite, cache):
            shutil.rmtree(tree)


def _build(suite: Suite, target: Path, say: Say) -> None:
    say(f"building the Debian tree of {suite.name} (Slurm {suite.slurm_version}); once, about a minute")
    started = time.monotonic()
    partial = target.with_name(f"{target.name}.partial")
    target.parent.mkdir(parents=True, exist_ok=True)
    log = target.with_name("build.log")
    try:
        _run_mmdebstrap(suite, partial, log)
        _add_image_users(partial)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    say(f"tree of {suite.name} built in {time.monotonic() - started:.0f} s")


def _run_mmdebstrap(suite: Suite, target: Path, log: Path) -> None:
    command = [
        *("mmdebstrap", "--variant=apt", "--mode=root", f"--include={','.join(suite.packages)}"),
        '--aptopt=Acquire::Languages "none"',
        # The tree is thrown away and never serves anyone: an archive copy past its date is still good for it.
        '--aptopt=Acquire::Check-Valid-Until "false"',
        *(f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in ("man", "doc", "info", "locale")),
        *(suite.name, str(target), _archive_line(suite)),
    ]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": "/root"}
    environment |= {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    with log.open("w") as output:
        try:
            code = subprocess.run(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=BUILD_TIMEOUT_SECONDS,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            raise BedUnavailable(f"the tree was not built after {BUILD_TIMEOUT_SECONDS} s; see {log}") from None
    if code != 0:
        raise BedUnavailable(f"building the {suite.name} tree failed: {_last_error(log)}; all of it is in {log}")


def _last_error(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    told = [line for line in lines if line.startswith(("E:", "W:", "dpkg: error"))]
    return (told or lines or ["no output"])[-1].strip()


def _archive_line(suite: Suite) -> str:
    """One line in the form of sources.list, with the archive that this host itself uses."""
    signed_by = f" [signed-by={KEYRING}]" if KEYRING.exists() else ""
    return f"deb{signed_by} {_archive_uri()} {suite.name} main"


def _archive_uri() -> str:
    uri = debian_archive(_index_targets())
    if uri is None:
        run_apt(["update"])  # a fresh machine has no lists yet, and then apt names no archive
        uri = debian_archive(_index_targets())
    if uri is None:
        raise BedUnavailable("apt on this machine knows no Debian archive; the nodes are made of Debian packages")
    return uri


def _index_targets() -> str:
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(RELEASE)", "Created-By: Packages"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout


def debian_archive(index_targets: str) -> str | None:
    """The main archive's address among apt's index targets (``URI codename release`` a line), or None.

    Suites such as bookworm-updates and the security archive are passed over: they do not hold other releases' trees.
    """
    for line in index_targets.splitlines():
        uri, _, names = line.partition(" ")
        if re.search(r"/debian/?$", uri) and all("-" not in name for name in names.split()):
            return uri.rstrip("/")
    return None


def _add_image_users(root: Path) -> None:
    """The ubuntu account of the HyperPod image: user and group id 1000, may use sudo."""
    command = ["chroot", str(root), "useradd", "-m", "-u", "1000", "-U", "-s", "/bin/bash", "-G", "sudo", "ubuntu"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def _program(folder: Path) -> Path:
    return folder / "usr/bin/systemd-nspawn"


def _has_nspawn(folder: Path) -> bool:
    return shutil.which("systemd-nspawn") is not None or _program(folder).exists()


def _find_nspawn(folder: Path) -> tuple[Path, Path | None]:
    """systemd-nspawn of the host's release: the installed one, or the one unpacked here with its libraries."""
    installed = shutil.which("systemd-nspawn")
    if installed:
        return Path(installed), None
    libraries = next(folder.glob("usr/lib/*/systemd"), None)
    _check_nspawn(_program(folder), libraries)
    return _program(folder), libraries


def _unpack_nspawn(folder: Path, say: Say) -> None:
    """Not installed, since that would upgrade the host's systemd; not the tree's, whose libraries need its loader."""
    say("unpacking systemd-nspawn of this release (it is not installed)")
    partial = folder.with_name(f"{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        run_apt(["download", "systemd-container", "libsystemd-shared"], folder=partial)
        for package in sorted(partial.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", package, partial], check=True, capture_output=True, timeout=120)
            package.unlink()
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _check_nspawn(program: Path, libraries: Path | None) -> None:
    environment = {"PATH": "/usr/bin:/bin"} | ({"LD_LIBRARY_PATH": str(libraries)} if libraries else {})
    done = subprocess.run([program, "--version"], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BedUnavailable(f"{program} does not run here: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
