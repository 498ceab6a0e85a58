"""Dumps of the controller's accounting database on the shared file system.

A software update, like a replacement, erases the controller's root volume and the database on it (FACTS 11).
A history can have many gigabytes: it is streamed from file to file, never held in memory.
"""

import gzip
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nodelib import database
from nodelib.errors import StepError
from nodelib.shared import cluster_folder
from nodelib.step import Context

DUMP_NAME = "slurm_acct_db.sql.gz"
# On the root volume: says that the database here continues the history in the dump, so that the dump may be replaced.
MARKER = "/var/lib/hyperpod-constructs/accounting_history"
TIMEOUT_SECONDS = 900.0


def dump_path(context: Context) -> str:
    """Where the dump is; empty without a shared file system."""
    folder = cluster_folder(context, create=False)
    return f"{folder}/accounting/{DUMP_NAME}" if folder else ""


def restore(context: Context) -> None:
    """Fill an empty database from the dump, if there is one. To be called before slurmdbd first starts.

    Raises:
        StepError: the dump cannot be read or is refused by the database.
    """
    if context.files.exists(MARKER):
        return
    path = dump_path(context)
    if path and context.files.exists(path) and database.table_count(context) == 0:
        with _plain_file(context.files.path(path).parent) as plain:
            with gzip.open(context.files.path(path)) as source, plain.open("wb") as target:
                shutil.copyfileobj(source, target)
            statements = f"USE {database.NAME};\nSOURCE {plain};\n"
            database.query(context, statements, timeout_seconds=TIMEOUT_SECONDS)
        context.did(f"restored the accounting history from {path}")
    context.files.write(MARKER, "")


def dump(context: Context) -> None:
    """Write the dump, unless nothing changed since the last one.

    A history that was not restored is never overwritten: it stays under another name.

    Raises:
        StepError: there is no shared file system, or the database has no tables.
    """
    path = dump_path(context)
    if not path:
        raise StepError("no shared file system to dump the accounting database to")
    if database.table_count(context) == 0:
        raise StepError("the accounting database has no tables yet")
    cluster_folder(context)
    context.files.folder(path.rpartition("/")[0], mode=0o700)
    target = context.files.path(path)
    with _plain_file(target.parent) as plain:
        options = ["--single-transaction", "--skip-dump-date", f"--result-file={plain}"]
        command = [database.dump_client(context), *options, database.NAME]
        context.runner.run(command, timeout_seconds=TIMEOUT_SECONDS)
        _keep_foreign_history(context, path)
        if not target.exists() or _digest_of_dump(target) != _digest(plain):
            _compress(plain, target)
            context.files.changed.append(path)
    context.files.write(MARKER, "")


def _compress(plain: Path, target: Path) -> None:
    partial = target.with_name(f"{target.name}.partial")
    with plain.open("rb") as source, gzip.open(partial, "wb", compresslevel=6) as compressed:
        shutil.copyfileobj(source, compressed)
    partial.chmod(0o600)
    partial.replace(target)


def _digest(plain: Path) -> str:
    with plain.open("rb") as stream:
        return _sha256(iter(lambda: stream.read(1 << 20), b""))


def _digest_of_dump(target: Path) -> str:
    try:
        with gzip.open(target) as stream:
            return _sha256(iter(lambda: stream.read(1 << 20), b""))
    except (OSError, EOFError):  # cut short by a full disk, for example
        return ""


def _sha256(blocks: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


@contextmanager
def _plain_file(folder: Path) -> Iterator[Path]:
    """An uncompressed file for the database's programs, next to the dump: the root volume may be too small."""
    descriptor, name = tempfile.mkstemp(prefix=".plain-", suffix=".sql", dir=folder)
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        Path(name).unlink()


def _keep_foreign_history(context: Context, path: str) -> None:
    if context.files.exists(MARKER) or not context.files.exists(path):
        return
    old = context.files.path(path)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(old.stat().st_mtime))
    kept = f"{path.removesuffix('.sql.gz')}-{stamp}.sql.gz"
    old.replace(context.files.path(kept))
    context.note(f"the database here does not continue the history in the old dump, which is kept as {kept}")
