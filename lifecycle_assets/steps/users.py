"""Users of the cluster: the same ids on every node, groups, sudo."""

from nodelib.errors import StepError
from nodelib.node_config import User
from nodelib.shared import home_base
from nodelib.step import Context, Step
from nodelib.user_database import derived_gid, ensure_group, ensure_primary_group, ensure_user

SUDOERS = "/etc/sudoers.d"
SUDOERS_PREFIX = "90-hyperpod-constructs-"


def run(context: Context) -> None:
    """Add the groups and users that are missing and set who may use sudo.

    Raises:
        StepError: a name or an id is taken by something else.
    """
    base = home_base(context)
    for user in context.config.users:
        ensure_primary_group(context, user)
        for name in user.groups:
            ensure_group(context, name, derived_gid(name))
        ensure_user(context, user, f"{base}/{user.name}")
    _set_sudo(context, [user for user in context.config.users if user.sudo])


def _set_sudo(context: Context, users: list[User]) -> None:
    wanted = {f"{SUDOERS_PREFIX}{user.name}": user for user in users}
    folder = context.files.path(SUDOERS)
    for present in sorted(folder.glob(f"{SUDOERS_PREFIX}*")):
        if present.name not in wanted:
            context.files.remove(f"{SUDOERS}/{present.name}")
    for name, user in wanted.items():
        if any(letter in user.name for letter in ". ~"):
            raise StepError(f"user {user.name}: sudo does not read files with such a name")
        context.files.write(f"{SUDOERS}/{name}", f"{user.name} ALL=(ALL) NOPASSWD:ALL\n", mode=0o440)


CREATE_USERS = Step(
    name="create_users",
    summary="Add users and groups with fixed ids, set who may use sudo",
    run=run,
    timeout_seconds=300,
)
