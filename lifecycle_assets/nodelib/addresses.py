"""A machine's own IP addresses, read from the kernel's tables: no child process, no metadata service."""

import ipaddress
from pathlib import Path


def own_addresses(root: Path) -> frozenset[str]:
    """Addresses of every interface but loopback."""
    return frozenset(_ipv4(_read(root / "proc/net/fib_trie")) | _ipv6(_read(root / "proc/net/if_inet6")))


def _ipv4(fib_trie: str) -> set[str]:
    # "|-- 10.0.0.5" followed by "/32 host LOCAL" is an address of this machine.
    found: set[str] = set()
    address = ""
    for line in fib_trie.splitlines():
        words = line.split()
        if words[:1] == ["|--"]:
            address = words[-1]
        elif words[:3] == ["/32", "host", "LOCAL"] and not ipaddress.ip_address(address).is_loopback:
            found.add(address)
    return found


def _ipv6(if_inet6: str) -> set[str]:
    addresses = (ipaddress.IPv6Address(int(line.split()[0], 16)) for line in if_inet6.splitlines() if line.strip())
    return {str(address) for address in addresses if not (address.is_loopback or address.is_link_local)}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
