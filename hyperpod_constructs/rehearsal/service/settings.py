"""What of the service can be set: durations, quotas, and the answers to questions that the documents leave open."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class Timings:
    """How long each transition takes, in seconds. The defaults are fast, for rehearsals.

    The two long ones are documented and stay as they are: a minimum that is not met for three hours is rolled back
    (FACTS 5.1) and a client token is valid for eight hours (FACTS 5.4).
    """

    launch_seconds: float = 0.5
    script_seconds: float = 1.0
    termination_seconds: float = 0.5
    retry_seconds: float = 2.0
    retry_limit_seconds: float = 60.0
    failure_visible_seconds: float = 0.5
    reboot_seconds: float = 0.5
    deletion_seconds: float = 0.2
    rollback_seconds: float = 0.5
    software_update_pending_seconds: float = 0.2
    software_update_tries: int = 3
    minimum_timeout_seconds: float = 3 * 3600.0
    client_token_seconds: float = 8 * 3600.0

    def __post_init__(self) -> None:
        wrong = [
            f"{item.name}={getattr(self, item.name)!r}"
            for item in fields(self)
            if not math.isfinite(getattr(self, item.name)) or getattr(self, item.name) < 0
        ]
        if wrong:
            raise ValueError(f"timings must be finite and 0 or more, got {', '.join(wrong)}")
        if self.retry_seconds <= 0 or self.retry_limit_seconds < self.retry_seconds:
            raise ValueError(
                f"retry_seconds must be above 0 and at most retry_limit_seconds, "
                f"got {self.retry_seconds} and {self.retry_limit_seconds}"
            )

    @classmethod
    def documented(cls) -> Timings:
        """Durations as the documents report them: 10 to 15 minutes until in service, 20 to 30 for a replacement."""
        return cls(
            launch_seconds=300.0,
            script_seconds=360.0,
            termination_seconds=180.0,
            retry_seconds=60.0,
            retry_limit_seconds=600.0,
            failure_visible_seconds=120.0,
            reboot_seconds=300.0,
            deletion_seconds=60.0,
            rollback_seconds=120.0,
            software_update_pending_seconds=60.0,
        )

    def retry_delay(self, attempts: int) -> float:
        """Seconds until the next try after so many failed ones: doubled each time, up to the limit."""
        return min(self.retry_seconds * 2.0 ** min(max(attempts - 1, 0), 30), self.retry_limit_seconds)


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """The points on which the documents are silent or disagree, each with the side taken by default.

    Args:
        cluster_waits_for_minimums: The cluster stays Creating until every group has its minimum. The guide names only
            controller and login for the cluster; a group with a minimum stays Creating (FACTS 5.1).
        delete_conflicts_while_creating: Refuse DeleteCluster with a conflict while the cluster is Creating. The guide
            on continuous provisioning always allows deletion (default), a field report saw conflicts (C-10).
        continuous_by_default: A request without NodeProvisioningMode gets Continuous. Three copies of the guide
            disagree (FACTS 5.1).
        echo_defaults: DescribeCluster shows the defaults of fields that the request left out.
    """

    cluster_waits_for_minimums: bool = True
    delete_conflicts_while_creating: bool = False
    continuous_by_default: bool = False
    echo_defaults: bool = True


@dataclass(frozen=True, kw_only=True)
class Quotas:
    """Service quotas (FACTS 10); none is set by default.

    Args:
        instances_of_type: Instance type to the number of instances for cluster usage.
        instances_per_cluster: The most instances one cluster may have.
        instances_in_total: The most instances of all clusters together.
    """

    instances_of_type: Mapping[str, int] = field(default_factory=dict)
    instances_per_cluster: int | None = None
    instances_in_total: int | None = None
