"""Homes on the shared file system, the image's own user included."""

from nodelib.homes import ensure_home
from nodelib.shared import home_base, shared_root
from nodelib.step import Context, Step
from nodelib.user_database import Account, accounts, set_home

# The account that the image gives to people (FACTS 9).
IMAGE_USER = "ubuntu"
SKELETON = "/etc/skel"


def run(context: Context) -> None:
    """Make the homes of all users; give the image's user one on the shared file system too.

    Raises:
        StepError: a home cannot be made.
    """
    base = home_base(context)
    if base == "/home" and not any(mount.path == "/home" for mount in context.group.mounts):
        context.note("no shared file system for homes: they are this node's own")
    context.files.folder(base)
    known = accounts(context)
    for user in context.config.users:
        ensure_home(context, f"{base}/{user.name}", (user.uid, user.gid), SKELETON)
    image_user = known.get(IMAGE_USER)
    if image_user is not None and context.style == "on_create" and shared_root(context):
        _move_image_user(context, image_user, f"{base}/{IMAGE_USER}")


def _move_image_user(context: Context, account: Account, home: str) -> None:
    """Its old home's content is the new one's start: the keys by which people come in are in there."""
    start = account.home if account.home != home and context.files.exists(account.home) else SKELETON
    ensure_home(context, home, (account.uid, account.gid), start)
    if account.home != home:
        set_home(context, account.name, home)


SET_UP_HOMES = Step(
    name="set_up_homes",
    summary="Make home directories on the shared file system, the image's user included",
    run=run,
    feature="home_directories",
    timeout_seconds=180,
)
