"""The MariaDB on the controller: SQL through standard input, never on a command line."""

from pathlib import Path

from nodelib.errors import StepError
from nodelib.step import Context

NAME = "slurm_acct_db"
UNIT = "mariadb"
_FOLDERS = ("/usr/bin", "/usr/local/bin")


def client(context: Context) -> str:
    """Name of the client program: ``mariadb``, or ``mysql`` on older releases."""
    return _program(context, "mariadb", "mysql")


def dump_client(context: Context) -> str:
    """Name of the program that writes dumps."""
    return _program(context, "mariadb-dump", "mysqldump")


def query(context: Context, statements: str, *, timeout_seconds: float = 60) -> str:
    """Run SQL as the database's root, over its socket; rows come back with tabs, without a header.

    Raises:
        StepError: the database refused it.
    """
    command = [client(context), "--batch", "--skip-column-names"]
    return context.runner.run(command, stdin=statements, timeout_seconds=timeout_seconds).stdout


def ensure_database(context: Context, account: str) -> None:
    """Have the accounting database, and an account that its Linux namesake enters without a password."""
    user = f"'{account}'@'localhost'"
    query(
        context,
        f"CREATE DATABASE IF NOT EXISTS {NAME};"
        f"CREATE USER IF NOT EXISTS {user} IDENTIFIED VIA unix_socket;"
        # An account from elsewhere may have a password, which the configuration would no longer know.
        f"ALTER USER {user} IDENTIFIED VIA unix_socket;"
        f"GRANT ALL ON {NAME}.* TO {user};",
    )


def table_count(context: Context) -> int:
    """How many tables the accounting database has; 0 on a fresh controller."""
    rows = query(context, f"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{NAME}';")  # noqa: S608
    return int(rows.strip() or 0)


def _program(context: Context, *names: str) -> str:
    for name in names:
        if any(context.files.exists(str(Path(folder) / name)) for folder in _FOLDERS):
            return name
    raise StepError(f"none of the programs {', '.join(names)} is on the image: accounting on the controller needs them")
