"""A wrong specification for every rule."""

from tests.core.bad import Bad
from tests.core.bad_bindings import BAD_BINDINGS
from tests.core.bad_clusters import BAD_CLUSTERS
from tests.core.bad_groups import BAD_GROUPS
from tests.core.bad_lifecycle import BAD_LIFECYCLE

BAD: tuple[Bad, ...] = (*BAD_CLUSTERS, *BAD_GROUPS, *BAD_BINDINGS, *BAD_LIFECYCLE)
