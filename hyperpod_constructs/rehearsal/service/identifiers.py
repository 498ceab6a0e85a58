"""Identifiers and addresses in the forms of the service, repeatable when a seed is given."""

from __future__ import annotations

import ipaddress
import random
import string
import uuid


class Identifiers:
    """Makes ids.

    Args:
        seed: The same seed gives the same ids and the same choice of victims; None (default) differs each time.
    """

    def __init__(self, seed: int | None = None) -> None:
        self.random = random.Random(seed)  # noqa: S311 - ids of a rehearsal, nothing secret

    def hexadecimal(self, length: int) -> str:
        """So many lower-case hexadecimal digits."""
        return f"{self.random.getrandbits(4 * length):0{length}x}"

    def cluster_id(self) -> str:
        """The last part of a cluster's ARN: 12 lower-case letters and digits (FACTS 5.1)."""
        return "".join(self.random.choices(string.ascii_lowercase + string.digits, k=12))

    def instance_id(self) -> str:
        """An EC2 instance id."""
        return f"i-{self.hexadecimal(17)}"

    def unique(self) -> str:
        """A UUID: event ids, operation ids, logical node ids."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))


class Addresses:
    """Hands out the addresses of the nodes of all clusters, each only once at a time.

    Args:
        network: The nodes' network; the first ten addresses are left out (routers, file systems).
    """

    def __init__(self, network: str = "10.0.0.0/16") -> None:
        self._network = ipaddress.ip_network(network)
        first = int(self._network.network_address)
        self._numbers = range(first + 11, first + self._network.num_addresses - 1)
        self._next = 0
        self._used: set[int] = set()

    def take(self) -> str:
        """The next free address. One that was given back comes last: its old node may take a while to be gone.

        Raises:
            RuntimeError: None is free.
        """
        for _ in self._numbers:
            number = self._numbers[self._next]
            self._next = (self._next + 1) % len(self._numbers)
            if number not in self._used:
                self._used.add(number)
                return str(ipaddress.ip_address(number))
        raise RuntimeError(f"no free address in {self._network}")

    def give_back(self, address: str) -> None:
        """Free an address; unknown ones are ignored."""
        self._used.discard(int(ipaddress.ip_address(address)))
