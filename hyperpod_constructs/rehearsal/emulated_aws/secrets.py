"""Secrets whose ``Ref`` is their ARN, as CloudFormation's is; the emulator's is the name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import seams

if TYPE_CHECKING:
    from .seams import Created, Properties

_SUFFIX_CHARACTERS = 7  # the hyphen and six random characters that end the ARN


def name_of(secret: str) -> str:
    """The name in a secret's ARN; a name is given back as it is."""
    return secret.rpartition(":")[2][:-_SUFFIX_CHARACTERS] if secret.startswith("arn:") else secret


def install() -> None:
    """Give the ARN out as the physical id, and take it back."""
    handler = seams.handlers("AWS::SecretsManager::Secret")
    create, update, delete = handler["create"], handler["update"], handler["delete"]

    def with_arn(result: Created) -> Created:
        return str(result[1].get("Arn", result[0])), result[1]

    def create_secret(logical_id: str, properties: Properties, stack: str) -> Created:
        return with_arn(create(logical_id, properties, stack))

    def update_secret(arn: str, old: Properties, new: Properties, stack: str) -> Created:
        physical_id, attributes = update(name_of(arn), old, new, stack)
        return (arn if physical_id == name_of(arn) else str(attributes.get("Arn", physical_id))), attributes

    def delete_secret(arn: str, properties: Properties) -> None:
        delete(name_of(arn), properties)

    handler.update(create=create_secret, update=update_secret, delete=delete_secret)
