"""Two things of S3 buckets that CloudFormation does and the emulator does not: tags, and the refusal to delete
objects along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import seams

if TYPE_CHECKING:
    from .seams import Created, Properties


def install() -> None:
    """CDK's auto-delete function acts only on a bucket with its tag, and S3 keeps a bucket that holds anything."""
    handler = seams.handlers("AWS::S3::Bucket")
    create, update, delete = handler["create"], handler["update"], handler["delete"]

    def tagged(result: Created, properties: Properties) -> Created:
        seams.tag_bucket(result[0], {tag["Key"]: tag["Value"] for tag in properties.get("Tags", [])})
        return result

    def create_tagged(logical_id: str, properties: Properties, stack: str) -> Created:
        return tagged(create(logical_id, properties, stack), properties)

    def update_tagged(name: str, old: Properties, new: Properties, stack: str) -> Created:
        return tagged(update(name, old, new, stack), new)

    def delete_empty(name: str, properties: Properties) -> None:
        bucket = seams.bucket(name)
        if bucket and bucket.get("objects"):
            raise ValueError(
                f"The bucket you tried to delete is not empty: {name} holds {len(bucket['objects'])} objects"
            )
        delete(name, properties)

    handler.update(create=create_tagged, update=update_tagged, delete=delete_empty)
