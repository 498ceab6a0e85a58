#!/usr/bin/python3
"""Rehearsal stand-in for findmnt: the real one, reading a mount table in which the stand-ins' types are right.

On a node of the bed "lustre" and "nfs4" file systems are a tmpfs with the right source. Here that is put right for
whoever asks by findmnt; /proc/self/mountinfo itself, df and stat still say tmpfs.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

REAL = "/usr/lib/rehearsal/findmnt"
# With these, findmnt does not read the kernel's table, or wants it live.
OTHER_TABLES = ("-s", "--fstab", "-m", "--mtab", "-F", "--tab-file", "-p", "--poll", "-N", "--task", "-x", "--verify")
SOURCES = {"lustre": re.compile(r"[^/@ ]+@tcp:/\S+"), "nfs4": re.compile(r"[^/@: ]+:/\S*")}


def corrected(line: str) -> str:
    """One line of mountinfo with the type that the real file system would show."""
    head, separator, tail = line.partition(" - ")
    fields = tail.split(" ")
    if separator and fields[0] == "tmpfs":
        fields[0] = next((kind for kind, form in SOURCES.items() if form.fullmatch(fields[1])), "tmpfs")
    return f"{head}{separator}{' '.join(fields)}"


def main(arguments: list[str]) -> None:
    if any(argument.split("=")[0] in OTHER_TABLES for argument in arguments):
        os.execv(REAL, ["findmnt", *arguments])  # noqa: S606
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    with tempfile.TemporaryFile("w+") as table:
        table.write("".join(f"{corrected(line)}\n" for line in lines))
        table.flush()
        os.set_inheritable(table.fileno(), True)
        os.execv(REAL, ["findmnt", "--tab-file", f"/proc/self/fd/{table.fileno()}", *arguments])  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
