"""Where the platform gets a node's lifecycle scripts from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


class ScriptsError(RuntimeError):
    """The scripts of a node cannot be had."""


def split_uri(uri: str) -> tuple[str, str]:
    """Bucket and prefix (without slashes around it) of an S3 URI.

    Raises:
        ScriptsError: it is none.
    """
    scheme, _, rest = uri.partition("://")
    bucket, _, prefix = rest.partition("/")
    if scheme != "s3" or not bucket:
        raise ScriptsError(f'got SourceS3Uri "{uri}"; it must be s3://<bucket>/<prefix>')
    return bucket, prefix.strip("/")


def node_folder(uri: str) -> str:
    """Where the scripts of that URI lie on a node (FACTS 3)."""
    return "/tmp/" + "/".join(part for part in split_uri(uri) if part)  # noqa: S108 - the platform's own place


class ScriptStore(Protocol):
    """Gives the files under an S3 URI."""

    def fetch(self, uri: str) -> Mapping[str, bytes]:
        """Content by path below the URI.

        Raises:
            ScriptsError: there are none, or they cannot be read.
        """
        ...


@dataclass
class BucketScripts:
    """Scripts from S3.

    Args:
        client: a boto3 ``s3`` client, with the emulator's endpoint in a rehearsal.
    """

    client: Any

    def fetch(self, uri: str) -> Mapping[str, bytes]:
        """See ScriptStore. Modes are not kept: S3 has none."""
        bucket, prefix = split_uri(uri)
        start = f"{prefix}/" if prefix else ""
        found: dict[str, bytes] = {}
        try:
            for page in self.client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=start):
                for item in page.get("Contents", ()):
                    key = item["Key"]
                    if not key.endswith("/"):
                        body = self.client.get_object(Bucket=bucket, Key=key)["Body"].read()
                        found[key.removeprefix(start)] = body
        except Exception as error:  # boto3's own exceptions share no base that can be had without importing it
            raise ScriptsError(f"{uri} cannot be read: {error}") from error
        if not found:
            raise ScriptsError(f"{uri} holds no objects; upload the scripts before the cluster is created")
        return found


@dataclass
class FolderScripts:
    """Scripts from local folders, for tests.

    Args:
        folders: S3 URI -> folder.
    """

    folders: Mapping[str, Path] = field(default_factory=dict)

    def fetch(self, uri: str) -> Mapping[str, bytes]:
        """See ScriptStore."""
        folder = self.folders.get(uri)
        if folder is None:
            raise ScriptsError(f"{uri} holds no objects; there are: {', '.join(self.folders) or 'none'}")
        files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
