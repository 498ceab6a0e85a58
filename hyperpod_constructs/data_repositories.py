"""Links between directories of a Lustre file system and S3."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_fsx as fsx
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from hyperpod_constructs.tokens import is_token

_MAXIMUM = 8  # FACTS 4.2
_CHUNK_MIB = (1, 512000)
# FSx for Lustre user guide, linked buckets: what FSx does with objects and with the bucket's notifications.
_BUCKET_ACTIONS = (
    "s3:AbortMultipartUpload",
    "s3:DeleteObject",
    "s3:PutObject",
    "s3:Get*",
    "s3:List*",
    "s3:PutBucketNotification",
)
_KEY_ACTIONS = ("kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey")
_LINKED_ROLE = "role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/AWSServiceRoleForFSxS3Access_*"


class DataEvent(StrEnum):
    """A change that is carried over."""

    NEW = "NEW"
    CHANGED = "CHANGED"
    DELETED = "DELETED"


_ALL_EVENTS = tuple(DataEvent)


@dataclass(frozen=True, kw_only=True, slots=True)
class DataRepository:
    """A directory of the file system that shows an S3 prefix.

    Attributes:
        path: directory on the file system, such as ``/datasets``; ``/`` only if it is the only link.
        bucket: the bucket. One that this app makes gets a policy for FSx; of an imported one you add it yourself.
        prefix: in the bucket, without slashes at its ends; the whole bucket by default.
        import_events: changes in S3 that show on the file system; all by default.
        export_events: changes on the file system that reach S3; all by default, none if empty.
        import_existing: whether objects that exist already show at once; they do by default.
        chunk_size_mib: most data of a file on one disk; the service's default is 1024.
    """

    path: str
    bucket: s3.IBucket
    prefix: str = ""
    import_events: Sequence[DataEvent] = _ALL_EVENTS
    export_events: Sequence[DataEvent] = _ALL_EVENTS
    import_existing: bool = True
    chunk_size_mib: int | None = None

    @property
    def id(self) -> str:
        """Construct id, from the path; part of the contract."""
        words = "".join(part[:1].upper() + part[1:] for part in self.path.split("/") if part)
        return f"DataRepository{words or 'Root'}"


def repository_problems(repositories: Sequence[DataRepository]) -> Iterator[tuple[str, str]]:
    """Everything that is wrong with some links, as pairs of path and message.

    Args:
        repositories: of one file system.
    """
    if len(repositories) > _MAXIMUM:
        yield "data_repositories", f"got {len(repositories)}, allowed: {_MAXIMUM} for one file system; merge some"
    for index, item in enumerate(repositories):
        where = f"data_repositories[{index}]"
        yield from ((f"{where}.{name}", message) for name, message in _own_problems(item, len(repositories)))
        for earlier, other in enumerate(repositories[:index]):
            if item.path != "/" and other.path != "/" and _overlap(item.path, other.path):
                yield (
                    f"{where}.path",
                    f'got "{item.path}", which overlaps "{other.path}" of data_repositories[{earlier}], allowed: '
                    "directories apart from each other",
                )
            if item.bucket is other.bucket and _overlap(f"/{item.prefix}", f"/{other.prefix}"):
                yield f"{where}.prefix", f'got "{item.prefix}", which overlaps that of data_repositories[{earlier}]'


def _own_problems(item: DataRepository, count: int) -> Iterator[tuple[str, str]]:
    if is_token(item.path) or not item.path.startswith("/") or "//" in item.path:
        yield "path", f'got "{item.path}", allowed: an absolute directory known at synth time, such as /datasets'
    elif item.path == "/" and count > 1:
        yield "path", 'got "/", allowed: only if it is the only link of the file system; give a directory'
    if item.prefix.startswith("/") or item.prefix.endswith("/"):
        yield "prefix", f'got "{item.prefix}", allowed: without slashes at its ends; use "{item.prefix.strip("/")}"'
    if item.chunk_size_mib is not None and not _CHUNK_MIB[0] <= item.chunk_size_mib <= _CHUNK_MIB[1]:
        yield "chunk_size_mib", f"got {item.chunk_size_mib}, allowed: {_CHUNK_MIB[0]} to {_CHUNK_MIB[1]}"


def _overlap(first: str, second: str) -> bool:
    one, two = f"{first.rstrip('/')}/", f"{second.rstrip('/')}/"
    return one.startswith(two) or two.startswith(one)


def link(
    scope: Construct, file_system: fsx.CfnFileSystem, item: DataRepository, removal_policy: RemovalPolicy
) -> fsx.CfnDataRepositoryAssociation:
    """Make a link, after the bucket's policy, and so delete it before policy, bucket and file system.

    Args:
        scope: the file system's construct.
        file_system: what is linked.
        item: how.
        removal_policy: that of the file system.
    """
    prefix = f"{item.prefix}/" if item.prefix else ""
    association = fsx.CfnDataRepositoryAssociation(
        scope,
        item.id,
        file_system_id=file_system.ref,
        file_system_path=item.path,
        data_repository_path=f"s3://{item.bucket.bucket_name}/{prefix}",
        batch_import_meta_data_on_create=item.import_existing,
        imported_file_chunk_size=item.chunk_size_mib,
        s3=fsx.CfnDataRepositoryAssociation.S3Property(
            auto_import_policy=fsx.CfnDataRepositoryAssociation.AutoImportPolicyProperty(
                events=[event.value for event in item.import_events]
            )
            if item.import_events
            else None,
            auto_export_policy=fsx.CfnDataRepositoryAssociation.AutoExportPolicyProperty(
                events=[event.value for event in item.export_events]
            )
            if item.export_events
            else None,
        ),
    )
    association.apply_removal_policy(removal_policy)
    result = item.bucket.add_to_resource_policy(_statement(scope, _BUCKET_ACTIONS, _bucket_arns(item)))
    if result.policy_dependable is not None:
        association.node.add_dependency(result.policy_dependable)
    key = item.bucket.encryption_key
    if isinstance(key, kms.Key):
        key.add_to_resource_policy(_statement(scope, _KEY_ACTIONS, ["*"]))
    return association


def _bucket_arns(item: DataRepository) -> list[str]:
    objects = f"{item.prefix}/*" if item.prefix else "*"
    return [item.bucket.bucket_arn, item.bucket.arn_for_objects(objects)]


def _statement(scope: Construct, actions: Sequence[str], resources: Sequence[str]) -> iam.PolicyStatement:
    """FSx uses a role of its own for each file system (FACTS 4.2), whose name ends in an id unknown before."""
    stack = Stack.of(scope)
    return iam.PolicyStatement(
        actions=list(actions),
        resources=list(resources),
        principals=[iam.AccountPrincipal(stack.account)],
        conditions={
            "ArnLike": {"aws:PrincipalArn": f"arn:{stack.partition}:iam::{stack.account}:{_LINKED_ROLE}"},
        },
    )
