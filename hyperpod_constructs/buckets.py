"""The bucket that nodes read their scripts from."""

from typing import Self

from aws_cdk import Aws, RemovalPolicy
from aws_cdk import aws_s3 as s3
from constructs import Construct

from hyperpod_constructs.helper_logs import AUTO_DELETE_OBJECTS, give_log_group

NAME_PREFIX = "sagemaker-"
"""What the managed policy of the nodes' role can read (FACTS 3)."""


class ScriptsBucket(Construct):
    """A bucket named ``sagemaker-hyperpod-<suffix>-<account>-<region>``: encrypted, TLS only, versioned, not public.

    Its content is reproducible, so it is emptied and deleted with the stack.

    Args:
        scope: parent construct.
        id: construct id.
        bucket: an existing bucket instead; see :meth:`from_bucket`. By default a new one.

    Attributes:
        bucket: the bucket.
        nodes_may_read: whether the nodes' managed policy covers the bucket without a further grant.

    Example:
        >>> from aws_cdk import App, Stack
        >>> ScriptsBucket(Stack(App(), "Storage"), "Scripts").nodes_may_read
        True
    """

    def __init__(self, scope: Construct, id: str, *, bucket: s3.IBucket | None = None) -> None:
        super().__init__(scope, id)
        self.nodes_may_read = bucket is None
        self.bucket: s3.IBucket = bucket or self._create_bucket()

    @classmethod
    def from_bucket(cls, scope: Construct, id: str, bucket: s3.IBucket) -> Self:
        """Use an existing bucket; nodes' roles get a grant to read the cluster's prefix of it.

        Args:
            scope: parent construct.
            id: construct id.
            bucket: the bucket, in the cluster's account (FACTS 1.2).
        """
        return cls(scope, id, bucket=bucket)

    def _create_bucket(self) -> s3.Bucket:
        bucket = s3.Bucket(
            self,
            "Bucket",
            # At most 10 + 9 + 9 + 13 + 14 = 55 of 63 characters. The suffix is a hash of the construct's path: stable,
            # and different for every stack.
            bucket_name=f"{NAME_PREFIX}hyperpod-{self.node.addr[-8:]}-{Aws.ACCOUNT_ID}-{Aws.REGION}",
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            versioned=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            removal_policy=RemovalPolicy.DESTROY,
            auto_delete_objects=True,
        )
        give_log_group(self, AUTO_DELETE_OBJECTS)
        return bucket
