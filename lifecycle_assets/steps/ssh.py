"""SSH from every node to every other, without passwords and without switching host checks off."""

import socket

from nodelib.shared import cluster_folder, node_lock, shared_root
from nodelib.ssh import ensure_user_keys, host_line, with_host
from nodelib.step import Context, Step
from nodelib.systemd import ensure_running, unit_states
from nodelib.user_database import accounts

from steps.home_directories import IMAGE_USER

CLIENT_SETTINGS = "/etc/ssh/ssh_config.d/50-hyperpod-constructs.conf"
HOST_KEYS = ("ed25519", "ecdsa", "rsa")


def run(context: Context) -> None:
    """Give each user a key pair and publish this node's host keys.

    Raises:
        StepError: a home or its locks do not work, or sshd does not start.
    """
    known = accounts(context)
    keys = {user.name: user.ssh_public_keys for user in context.config.users}
    if IMAGE_USER in known and context.style == "on_create":  # in the other style the image does this itself
        keys.setdefault(IMAGE_USER, ())
    for name, public_keys in keys.items():
        ensure_user_keys(context, known[name], public_keys)
    _start_server(context)
    if shared_root(context):
        _publish_host_keys(context)


def _start_server(context: Context) -> None:
    states = unit_states(context, "ssh", "sshd", "ssh.socket")
    if states.pop("ssh.socket").is_running:
        return  # Ubuntu 24.04 starts the server for each connection
    unit = next((name for name, state in states.items() if state.exists), None)
    if unit is None:
        context.note("the image has no SSH server")
        return
    ensure_running(context, unit)


def _publish_host_keys(context: Context) -> None:
    """All nodes' host keys in one file that every node's client reads: a replaced node is known at once."""
    folder = cluster_folder(context)
    path = f"{folder}/ssh_known_hosts"
    host = socket.gethostname().partition(".")[0]
    texts = (context.files.read(f"/etc/ssh/ssh_host_{kind}_key.pub") for kind in HOST_KEYS)
    lines = [host_line([host, context.identity.address], text) for text in texts if text]
    text = context.files.read(path)
    if text != with_host(text, host, lines):
        with node_lock(context, f"{folder}/ssh_known_hosts.lock"):
            context.files.write(path, with_host(context.files.read(path), host, lines))
    context.files.write(CLIENT_SETTINGS, f"GlobalKnownHostsFile /etc/ssh/ssh_known_hosts {path}\n")


SET_UP_SSH = Step(
    name="set_up_ssh",
    summary="Key pairs and authorized keys on the shared homes, host keys of all nodes known to all",
    run=run,
    feature="ssh_between_nodes",
    timeout_seconds=300,
)
