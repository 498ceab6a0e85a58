#!/usr/bin/python3
"""Rehearsal stand-in for mount.lustre, mount.nfs and mount.nfs4: SOURCE TARGET [-fnsv] [-o OPTIONS].

It asks the bed for the file system and attaches the detached mount it is handed (see file_systems.py).
Exit codes and the form of the messages are those of the real helpers, as far as scripts look at them.
"""

import array
import ctypes
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

BED = "/run/rehearsal/file_systems.sock"
MOVE_MOUNT, AT_FDCWD, F_EMPTY_PATH = 429, -100, 4
APPLIED_OPTIONS = {"ro", "noatime", "nodiratime", "relatime", "strictatime", "nosuid", "nodev", "noexec"}
EXIT_MOUNT_FAILED = 32


def parse(arguments: list[str]) -> tuple[list[str], list[str], bool]:
    """Positional arguments, mount options, and whether only to pretend (-f)."""
    places: list[str] = []
    options: list[str] = []
    pretend = False
    rest = iter(arguments)
    for argument in rest:
        if argument == "-o":
            options += next(rest, "").split(",")
        elif argument.startswith("-"):
            pretend = pretend or "f" in argument
        else:
            places.append(argument)
    return places, options, pretend


def ask_bed(source: str, kind: str) -> tuple[int | None, str]:
    """The detached mount, or None and why not."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bed:
        bed.connect(BED)
        bed.sendall(json.dumps({"source": source, "kind": kind}).encode())
        message, ancillary, _, _ = bed.recvmsg(512, socket.CMSG_SPACE(4))
    descriptors = array.array("i")
    for _, _, data in ancillary:
        descriptors.frombytes(data[:4])
    return (descriptors[0], "") if descriptors else (None, message.decode())


def attach(descriptor: int, target: str) -> None:
    """Attach a detached mount; raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(MOVE_MOUNT, descriptor, b"", AT_FDCWD, os.fsencode(Path(target).resolve()), F_EMPTY_PATH) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def fail(program: str, source: str, target: str, reason: str) -> int:
    if program == "mount.lustre":
        sys.stderr.write(f"mount.lustre: mount {source} at {target} failed: {reason}\n")
        if reason == os.strerror(5):
            sys.stderr.write("Is the MGS running?\n")
        return {os.strerror(2): 2, os.strerror(5): 5}.get(reason, EXIT_MOUNT_FAILED)
    sys.stderr.write(f"{program}: mounting {source} on {target} failed: {reason}\n")
    return EXIT_MOUNT_FAILED


def main(program: str, arguments: list[str]) -> int:
    places, options, pretend = parse(arguments)
    if len(places) != 2:
        sys.stderr.write(f"{program}: got {len(places)} places; usage: {program} SOURCE TARGET [-o OPTIONS]\n")
        return 1
    source, target = places
    if pretend:
        return 0
    if "remount" in options:
        kept = ",".join(["remount", "bind", *sorted(APPLIED_OPTIONS & set(options))])
        return subprocess.call(["/usr/bin/mount", "-i", "-o", kept, target])
    try:
        descriptor, reason = ask_bed(source, "lustre" if program == "mount.lustre" else "nfs")
        if descriptor is None:
            return fail(program, source, target, reason)
        attach(descriptor, target)
    except OSError as error:
        return fail(program, source, target, error.strerror or str(error))
    kept = ",".join(sorted(APPLIED_OPTIONS & set(options)))
    return subprocess.call(["/usr/bin/mount", "-i", "-o", f"remount,bind,{kept}", target]) if kept else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[0]).name, sys.argv[1:]))
