"""The bucket that nodes read their scripts from."""

from typing import Self

from aws_cdk import Aws, RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from hyperpod_constructs.acknowledgements import acknowledge
from hyperpod_constructs.errors import Problem, SpecError
from hyperpod_constructs.helper_logs import AUTO_DELETE_OBJECTS, give_log_group

NAME_PREFIX = "sagemaker-"
"""What the managed policy of the nodes' role can read (FACTS 3)."""


class ScriptsBucket(Construct):
    """A bucket named ``sagemaker-hyperpod-<suffix>-<account>-<region>``: encrypted, TLS only, versioned, not public.

    Its content is reproducible, so it is emptied and deleted with the stack. Each cluster has a prefix of its own in
    it, and nothing of another's is pruned.

    Args:
        scope: parent construct.
        id: construct id.
        bucket: an existing bucket instead; see :meth:`from_bucket`. By default a new one.
        kms_key: key of the new bucket, which nodes then get a grant for; S3's own keys by default.
        access_logs_bucket: where S3 logs each access of the new bucket; nowhere by default.

    Attributes:
        bucket: the bucket.
        nodes_may_read: whether the nodes' managed policy covers the bucket without a further grant.

    Raises:
        SpecError: options of a new bucket together with an existing one.

    Example:
        >>> from aws_cdk import App, Stack
        >>> ScriptsBucket(Stack(App(), "Storage"), "Scripts").nodes_may_read
        True
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        bucket: s3.IBucket | None = None,
        kms_key: kms.IKey | None = None,
        access_logs_bucket: s3.IBucket | None = None,
    ) -> None:
        _check(bucket, kms_key=kms_key, access_logs_bucket=access_logs_bucket)
        super().__init__(scope, id)
        self.nodes_may_read = bucket is None and kms_key is None
        self.bucket: s3.IBucket = bucket or self._create_bucket(kms_key, access_logs_bucket)

    @classmethod
    def from_bucket(cls, scope: Construct, id: str, bucket: s3.IBucket) -> Self:
        """Use an existing bucket; nodes' roles get a grant to read the cluster's prefix of it.

        Args:
            scope: parent construct.
            id: construct id.
            bucket: the bucket, in the cluster's account (FACTS 1.2).
        """
        return cls(scope, id, bucket=bucket)

    def _create_bucket(self, kms_key: kms.IKey | None, access_logs_bucket: s3.IBucket | None) -> s3.Bucket:
        bucket = s3.Bucket(
            self,
            "Bucket",
            # At most 10 + 9 + 9 + 13 + 14 = 55 of 63 characters. The suffix is a hash of the construct's path: stable,
            # and different for every stack.
            bucket_name=f"{NAME_PREFIX}hyperpod-{self.node.addr[-8:]}-{Aws.ACCOUNT_ID}-{Aws.REGION}",
            encryption=s3.BucketEncryption.S3_MANAGED if kms_key is None else s3.BucketEncryption.KMS,
            encryption_key=kms_key,
            bucket_key_enabled=kms_key is not None or None,
            enforce_ssl=True,
            versioned=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            server_access_logs_bucket=access_logs_bucket,
            server_access_logs_prefix=f"{self.node.addr[-8:]}/" if access_logs_bucket is not None else None,
            removal_policy=RemovalPolicy.DESTROY,
            auto_delete_objects=True,
        )
        give_log_group(self, AUTO_DELETE_OBJECTS)
        if access_logs_bucket is None:
            acknowledge(
                bucket, ("S1", "holds scripts that anybody can make again; give access_logs_bucket to log reads")
            )
        return bucket


def _check(bucket: s3.IBucket | None, **options: object) -> None:
    given = [name for name, value in options.items() if value is not None and bucket is not None]
    if given:
        message = "given together with bucket, allowed: one of them; an existing bucket has its own settings"
        raise SpecError([Problem(path=name, message=message) for name in given], subject="scripts bucket")
