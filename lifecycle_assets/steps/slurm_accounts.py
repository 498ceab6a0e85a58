"""Slurm accounts and associations of the cluster's users, in whatever database the cluster has."""

from nodelib.errors import DeferredError
from nodelib.slurm_conf import SlurmConf
from nodelib.slurm_control import database_answers
from nodelib.step import Context, Step
from nodelib.user_database import accounts as linux_accounts

from steps.home_directories import IMAGE_USER


def run(context: Context) -> None:
    """List what is there, add what is missing.

    Raises:
        StepError: slurmdbd refused something.
        DeferredError: slurmdbd does not answer yet (the image starts it, perhaps after this script).
    """
    if context.config.accounting.kind == "none":
        context.note("no accounting database was asked for")
        return
    if not database_answers(context):
        raise DeferredError("slurmdbd does not answer yet")
    cluster = SlurmConf(context.files).get("ClusterName") or context.config.cluster_name
    wanted = _wanted(context)
    present = _associations(context, cluster)
    for account in sorted({account for account, _ in wanted} - {account for account, _ in present}):
        _sacctmgr(context, "add", "account", account, f"cluster={cluster}", "Description=hyperpod-constructs")
        context.did(f"added account {account}")
    for account in sorted({account for account, _ in wanted}):
        users = sorted(user for name, user in wanted - present if name == account)
        if users:
            _sacctmgr(context, "add", "user", ",".join(users), f"account={account}", f"cluster={cluster}")
            context.did(f"added {', '.join(users)} to account {account}")


def _wanted(context: Context) -> set[tuple[str, str]]:
    wanted = {(user.account.lower(), user.name) for user in context.config.users}
    if IMAGE_USER in linux_accounts(context):
        wanted.add(("default", IMAGE_USER))
    return wanted


def _associations(context: Context, cluster: str) -> set[tuple[str, str]]:
    command = ["sacctmgr", "-n", "-P", "show", "associations", f"cluster={cluster}", "format=account,user"]
    rows = (line.split("|") for line in context.runner.run(command).stdout.splitlines())
    return {(row[0], row[1]) for row in rows if len(row) == 2}


def _sacctmgr(context: Context, *arguments: str) -> None:
    context.runner.run(["sacctmgr", "-i", *arguments], timeout_seconds=60)


REGISTER_ACCOUNTS = Step(
    name="register_accounts",
    summary="Slurm accounts and associations for the users",
    run=run,
    node_types=("controller",),
    timeout_seconds=240,
)
