"""What this library relies on about ``ml.*`` instance types. Standard library only.

The list of types is the API's enum ``ClusterInstanceType`` (FACTS 10), held against the pinned botocore by a test.
A type that is not in it may still be newer than this table: that is a warning, never an error.
"""

from difflib import get_close_matches
from functools import lru_cache

_SIZES = {
    "p4d": "24xlarge",
    "p4de": "24xlarge",
    "p5": "48xlarge 4xlarge",
    "p6e-gb200": "36xlarge",
    "trn1": "32xlarge",
    "trn1n": "32xlarge",
    "g5": "xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge",
    "c5": "large xlarge 2xlarge 4xlarge 9xlarge 12xlarge 18xlarge 24xlarge",
    "c5n": "large 2xlarge 4xlarge 9xlarge 18xlarge",
    "m5": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge",
    "t3": "medium large xlarge 2xlarge",
    "g6": "xlarge 2xlarge 4xlarge 8xlarge 16xlarge 12xlarge 24xlarge 48xlarge",
    "gr6": "4xlarge 8xlarge",
    "g6e": "xlarge 2xlarge 4xlarge 8xlarge 16xlarge 12xlarge 24xlarge 48xlarge",
    "p5e": "48xlarge",
    "p5en": "48xlarge",
    "p6-b200": "48xlarge",
    "trn2": "3xlarge 48xlarge",
    "c6i": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge",
    "m6i": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge",
    "r6i": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge",
    "i3en": "large xlarge 2xlarge 3xlarge 6xlarge 12xlarge 24xlarge",
    "m7i": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge",
    "r7i": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge",
    "r5d": "16xlarge",
    "g7e": "2xlarge 4xlarge 8xlarge 12xlarge 24xlarge 48xlarge",
    "p6-b300": "48xlarge",
    "g4dn": "xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "c6g": "medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "c7g": "medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "c8g": "medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge",
    "c6a": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge 48xlarge",
    "m6a": "large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge 48xlarge",
    "m6g": "medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "m7g": "medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge",
    "m8g": "medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge",
    "g7": "2xlarge 4xlarge 8xlarge 12xlarge 24xlarge 48xlarge",
    "c8a": "16xlarge",
    "m8a": "16xlarge",
}

INSTANCE_TYPES: frozenset[str] = frozenset(
    f"ml.{family}.{size}" for family, sizes in _SIZES.items() for size in sizes.split()
)

# Graviton and Grace have no hyper-threading; EC2's 7a and 8a families give one thread for each core (EC2 user guide,
# CPU options by instance type).
_ONE_THREAD_FAMILIES = frozenset({"c6g", "c7g", "c8g", "m6g", "m7g", "m8g", "c8a", "m8a", "p6e-gb200"})

# Elastic Fabric Adapter on every size listed above but those excepted (EC2 user guide, EFA-enabled instance types).
_EFA_FAMILIES = frozenset(
    {"p4d", "p4de", "p5", "p5e", "p5en", "p6-b200", "p6-b300", "p6e-gb200", "trn1", "trn1n", "trn2"}
)

# GPUs and Trainium: the types that carry topology, and that deep health checks are for (FACTS 6.3, 6.4).
_ACCELERATED_PREFIXES = ("p", "trn", "g")

# Subnet addresses of one instance under Slurm. Only documented numbers (FACTS 2): any other type takes at least one.
_ADDRESSES = {"ml.p5.48xlarge": 32}


def _family(instance_type: str) -> str:
    parts = instance_type.split(".")
    return parts[1] if len(parts) == 3 else ""


def is_known(instance_type: str) -> bool:
    """Whether the pinned API model lists the type."""
    return instance_type in INSTANCE_TYPES


@lru_cache(maxsize=256)
def nearest(instance_type: str) -> str:
    """The known type whose name is most like the given one, of the same family if there is one; or an empty string."""
    relatives = [name for name in INSTANCE_TYPES if _family(name) == _family(instance_type)]
    return next(iter(get_close_matches(instance_type, sorted(relatives or INSTANCE_TYPES), n=1, cutoff=0.6)), "")


def threads_per_core(instance_type: str) -> int:
    """Threads that a core of this type has: 2, or 1 where the processor or EC2 has no hyper-threading."""
    return 1 if _family(instance_type) in _ONE_THREAD_FAMILIES else 2


def uses_efa(instance_type: str) -> bool:
    """Whether jobs on this type talk over the Elastic Fabric Adapter, which cannot cross zones (FACTS 2)."""
    return _family(instance_type) in _EFA_FAMILIES and instance_type != "ml.trn2.3xlarge"


def is_accelerated(instance_type: str) -> bool:
    """Whether instances of this type have GPUs or Trainium chips."""
    return _family(instance_type).startswith(_ACCELERATED_PREFIXES)


def subnet_addresses(instance_type: str) -> int:
    """Subnet addresses that one instance takes: the documented number, or 1, the least that any instance takes."""
    return _ADDRESSES.get(instance_type, 1)
