"""Delivers the node scripts and their configuration to S3, under a prefix that names their content."""

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aws_cdk import FileSystem, IgnoreMode, RemovalPolicy, Stack
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_deployment as s3_deployment
from constructs import Construct

from hyperpod_constructs import assets
from hyperpod_constructs.buckets import ScriptsBucket
from hyperpod_constructs.node_config import NODE_CONFIG_FILE
from hyperpod_constructs.provider_acknowledgements import acknowledge_upload

_HASH_LENGTH = 16
_MEMORY_MIB = 256  # the default of 128 MiB is killed on larger folders (field report P-10)


class ScriptsDeployment(Construct):
    """The scripts of one cluster in S3.

    The prefix ends in a hash of the files and of the configuration, deploy-time values included as references: a
    change of either is a change of ``SourceS3Uri``, so that new nodes run it (FACTS 3). Old prefixes stay, because
    nodes that the service replaces during a deployment or after a rollback still read them.

    Args:
        scope: parent construct.
        id: construct id.
        bucket: where the scripts go.
        cluster_name: first part of the prefix, so that clusters can share a bucket.
        config: what ``node_config()`` built; may hold tokens.
        user_files: what ``user_step_files()`` made ready, content by path; none by default.

    Attributes:
        bucket: where the scripts are.
        prefix: ``<cluster name>/<hash>``.
        source_s3_uri: address of the prefix, for ``LifeCycleConfig``.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        bucket: ScriptsBucket,
        cluster_name: str,
        config: dict[str, Any],
        user_files: Mapping[str, bytes] | None = None,
    ) -> None:
        super().__init__(scope, id)
        self.bucket = bucket
        self.prefix = f"{cluster_name}/{_content_hash(self, config, user_files or {})}"
        self.source_s3_uri = f"s3://{bucket.bucket.bucket_name}/{self.prefix}"
        with tempfile.TemporaryDirectory() as folder:
            self._upload(_sources(config, user_files or {}, Path(folder)))

    def _upload(self, sources: Sequence[s3_deployment.ISource]) -> None:
        upload = s3_deployment.BucketDeployment(
            self,
            "Upload",
            destination_bucket=self.bucket.bucket,
            destination_key_prefix=self.prefix,
            sources=sources,
            prune=False,
            retain_on_delete=True,
            memory_limit=_MEMORY_MIB,
            log_group=_log_group(self),
        )
        acknowledge_upload(upload.handler_role)


def _sources(config: dict[str, Any], user_files: Mapping[str, bytes], folder: Path) -> list[s3_deployment.ISource]:
    """Our scripts, the configuration, and the user's files as they were made ready.

    The CDK copies a folder when the source is bound, so the one for the user's files need not outlive that.
    """
    ours = s3_deployment.Source.asset(
        str(assets.lifecycle_assets()), exclude=list(assets.EXCLUDED), ignore_mode=IgnoreMode.GLOB
    )
    # Not escaped: of a value from another stack the CDK makes a marker that holds its quotation marks too, and
    # escaping those breaks the document. No value here (DNS and mount names, endpoints, ARNs) can hold one.
    sources = [ours, s3_deployment.Source.json_data(NODE_CONFIG_FILE, config)]
    for name, content in user_files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return [*sources, s3_deployment.Source.asset(str(folder))] if user_files else sources


def _content_hash(scope: Construct, config: dict[str, Any], user_files: Mapping[str, bytes]) -> str:
    fingerprint = FileSystem.fingerprint(
        str(assets.lifecycle_assets()), exclude=list(assets.EXCLUDED), ignore_mode=IgnoreMode.GLOB
    )
    # Resolved to references: the marker text of a token changes from run to run (STYLE, fact 8).
    references = json.dumps(Stack.of(scope).resolve(config), sort_keys=True)
    digest = hashlib.sha256(f"{fingerprint}\n{references}".encode())
    for name, content in sorted(user_files.items()):
        digest.update(f"\n{name}\n{len(content)}\n".encode() + content)
    return digest.hexdigest()[:_HASH_LENGTH]


def _log_group(scope: Construct) -> logs.ILogGroup:
    """The log group of the upload's function: one a stack, because CDK shares the function in a stack."""
    stack = Stack.of(scope)
    existing = stack.node.try_find_child("HyperPodScriptsUploadLogs")
    if existing is not None:
        return existing  # type: ignore[return-value]
    return logs.LogGroup(
        stack,
        "HyperPodScriptsUploadLogs",
        retention=logs.RetentionDays.ONE_MONTH,
        removal_policy=RemovalPolicy.DESTROY,
    )
