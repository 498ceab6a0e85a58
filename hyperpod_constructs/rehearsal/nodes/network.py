"""The network of a bed: one bridge in its own namespace, no way out.

Nodes stand on it as in one VPC: each with the address the service gave it, every other node in reach, everything else
refused at once ("unreachable") instead of a silence that lasts minutes.
"""

import ipaddress
import subprocess

from hyperpod_constructs.rehearsal.nodes.errors import NodeError

BRIDGE = "bridge0"
RESOLVER_ADDRESS = "169.254.169.253"  # where a VPC's own resolver answers
_PRIVATE_NETWORKS = tuple(
    ipaddress.IPv4Network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10")
)


def prefix_length(address: str) -> int:
    """How wide the network of that address is taken to be, so that nodes of all subnets of a VPC reach each other.

    Raises:
        NodeError: it is not an address of a private network.
    """
    try:
        parsed = ipaddress.IPv4Address(address)
    except ValueError:
        raise NodeError(f'got address "{address}"; a node needs an IPv4 address, 10.0.0.12 for example') from None
    for network in _PRIVATE_NETWORKS:
        if parsed in network:
            return network.prefixlen
    allowed = ", ".join(str(network) for network in _PRIVATE_NETWORKS)
    raise NodeError(f'got address "{address}"; allowed: addresses in {allowed}')


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        raise NodeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def create_bridge() -> None:
    """Make the bridge that all nodes hang on, with the resolver's address on it."""
    _ip("link", "set", "lo", "up")
    # With a fixed address: a bridge otherwise takes that of one of its ports, and when that node goes, the others
    # speak to the old one for 16 s.
    _ip("link", "add", BRIDGE, "address", "02:00:00:00:00:01", "type", "bridge")
    _ip("address", "add", f"{RESOLVER_ADDRESS}/32", "dev", BRIDGE)
    _ip("link", "set", BRIDGE, "up")
    for network in _PRIVATE_NETWORKS:  # the resolver's answers go back to the nodes
        _ip("route", "add", str(network), "dev", BRIDGE, "src", RESOLVER_ADDRESS)


def attach(name: str, link: str, address: str) -> None:
    """Make a network namespace called as the node, with one interface at that address, on the bridge.

    Args:
        name: name of the namespace.
        link: name of the interface's other end, on the bridge's side (15 characters at most).
        address: the node's IPv4 address.
    """
    width = prefix_length(address)
    _ip("netns", "add", name)
    peer = ("peer", "name", "eth0", "address", hardware_address(address), "netns", name)
    _ip("link", "add", link, "type", "veth", *peer)
    _ip("link", "set", link, "master", BRIDGE, "up")
    _ip("-n", name, "address", "add", f"{address}/{width}", "dev", "eth0")
    _ip("-n", name, "link", "set", "lo", "up")
    _ip("-n", name, "link", "set", "eth0", "up")
    _ip("-n", name, "route", "add", f"{RESOLVER_ADDRESS}/32", "dev", "eth0")
    _ip("-n", name, "route", "add", "unreachable", "default")


def hardware_address(address: str) -> str:
    """The same for every machine of that IPv4 address, so that a replaced node is reached at once by its neighbours."""
    return "02:01:" + ":".join(f"{byte:02x}" for byte in ipaddress.IPv4Address(address).packed)


def detach(name: str, link: str) -> None:
    """Remove what ``attach`` made; what is not there any longer is passed over."""
    for arguments in (("link", "delete", link), ("netns", "delete", name)):
        subprocess.run(["ip", *arguments], capture_output=True, timeout=30, check=False)


def set_connected(link: str, *, connected: bool) -> None:
    """Cut a node off the network, or connect it again."""
    _ip("link", "set", link, "up" if connected else "down")
