"""The wanted cluster as the custom resource's handler reads it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hyperpod_constructs.cli.failures import CommandError
from hyperpod_constructs.handlers.cluster.errors import MalformedEventError
from hyperpod_constructs.handlers.cluster.properties import (
    FORMAT_VERSION,
    OnTimeout,
    Properties,
    ReadyWhen,
    is_users_tag,
    read_properties,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hyperpod_constructs.cli.reading.loaded import Loaded


def desired_properties(loaded: Loaded) -> Properties:
    """The properties that a deployment of this input would have.

    Args:
        loaded: a sound cluster.

    Raises:
        CommandError: it is in the classic form, or a synthesized app's properties cannot be read.
    """
    if loaded.is_classic:
        raise CommandError(f"{loaded.source}: is in the classic form, which is not deployed; plan a cluster file")
    if loaded.properties is not None:
        return template_properties(loaded.properties, loaded.source)
    return _of_request(loaded)


def template_properties(properties: Mapping[str, Any], source: str) -> Properties:
    """The properties of a template's resource.

    Raises:
        CommandError: they cannot be read.
    """
    try:
        return read_properties({"FormatVersion": FORMAT_VERSION, **properties})
    except MalformedEventError as error:
        raise CommandError(f"{source}: {error}") from None


def _of_request(loaded: Loaded) -> Properties:
    request, spec = dict(loaded.request), loaded.spec
    groups = request.pop("InstanceGroups")
    tags = {str(tag["Key"]): str(tag["Value"]) for tag in request.pop("Tags", ())}
    return Properties(
        name=loaded.name,
        request=request,
        groups={group["InstanceGroupName"]: group for group in groups},
        tags={key: value for key, value in tags.items() if is_users_tag(key)},
        ready_when=ReadyWhen(spec.ready_when.value) if spec else ReadyWhen.IN_SERVICE,
        on_timeout=OnTimeout(spec.on_timeout.value) if spec else OnTimeout.SUCCEED,
        force_instance_counts=spec.force_instance_counts if spec else False,
        allow_group_deletion=frozenset(spec.allow_group_deletion) if spec else frozenset(),
        update_controller_software=spec.controller.update_software if spec else False,
    )
