"""What the service asks of the emulated AWS around it: objects in S3, log groups in CloudWatch Logs."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LOG = logging.getLogger(__name__)


def client(service: str, endpoint: str, region: str, account: str) -> Any:
    """A boto3 client for an emulated account, with short time limits."""
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id=account,
        aws_secret_access_key="rehearsal",  # noqa: S106 - no secret: the emulator takes any
        config=Config(
            connect_timeout=2, read_timeout=5, retries={"total_max_attempts": 2}, s3={"addressing_style": "path"}
        ),
    )


def object_lister(make_client: Callable[[], Any]) -> Callable[[str], Iterable[str]]:
    """Lists the keys under an S3 URI; a bucket that cannot be read counts as empty, with a warning."""

    def keys_under(uri: str) -> list[str]:
        bucket, _, prefix = uri.partition("://")[2].partition("/")
        try:
            pages = make_client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
            return [item["Key"] for page in pages for item in page.get("Contents", ())]
        except (BotoCoreError, ClientError) as error:
            _LOG.warning("objects under %s cannot be listed: %s", uri, error)
            return []

    return keys_under
