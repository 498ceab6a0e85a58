"""Who made a cluster: two tags that CreateCluster sets and nobody changes. Pure."""

from collections.abc import Mapping

from .events import Owner
from .properties import LOGICAL_ID_TAG, STACK_ID_TAG


def owner_tags(owner: Owner) -> dict[str, str]:
    """The two tags."""
    return {STACK_ID_TAG: owner.stack_id, LOGICAL_ID_TAG: owner.logical_id}


def owns(owner: Owner, tags: Mapping[str, str]) -> bool:
    """Whether both tags are there and equal; one alone is not enough."""
    return all(tags.get(key) == value for key, value in owner_tags(owner).items())


def taken_text(name: str, owner: Owner, tags: Mapping[str, str]) -> str:
    """Why a name cannot be used, and what to do, by who has it."""
    stack, logical_id = tags.get(STACK_ID_TAG), tags.get(LOGICAL_ID_TAG)
    if stack is None:
        return (
            f"a cluster named {name} exists and was not made by this library: it is left alone. Choose another "
            "cluster_name, or delete that cluster first"
        )
    if stack != owner.stack_id:
        return (
            f"a cluster named {name} exists and belongs to the stack {stack}: it is left alone. Choose another "
            "cluster_name"
        )
    return (
        f"the cluster {name} exists and belongs to this stack under the logical id {logical_id}, now it is "
        f"{owner.logical_id}: the live cluster is left alone. The construct was moved or renamed: put it back, or keep "
        f"the old id with resource.node.default_child.override_logical_id({logical_id!r}), or choose another name"
    )


def foreign_text(name: str, owner: Owner, action: str) -> str:
    """Why a cluster is not touched although CloudFormation asks."""
    tags = ", ".join(f"{key}={value}" for key, value in owner_tags(owner).items())
    return (
        f"the cluster {name} is not {action}: its owner tags are not those of this resource, so it may be somebody "
        f"else's. If it is yours, put the tags back ({tags}) with `aws sagemaker add-tags` and try again; if not, "
        "remove the resource from the stack and keep it (delete-stack --retain-resources)"
    )
