#!/usr/bin/python3
"""Rehearsal stand-in for modprobe (of the Lustre modules only), lfs, lctl and lnetctl.

Enough for scripts that load the client, look at it and set parameters. What a call cannot mean here ends with exit
code 1 and says so, so that no script takes silence for success.
"""

import os
import shutil
import sys
from pathlib import Path

REAL_MODPROBE = "/usr/lib/rehearsal/modprobe"
MODULES = {"lustre", "lnet", "ksocklnd", "kefalnd", "ptlrpc", "osc", "mdc", "lov", "mgc"}
STATE = Path("/run/rehearsal-lustre")
VERSION = "2.15.6"


def modprobe(arguments: list[str]) -> int:
    names = [argument for argument in arguments if not argument.startswith("-")]
    if not names or names[0].split("=")[0] not in MODULES:
        os.execv(REAL_MODPROBE, ["modprobe", *arguments])  # noqa: S606
    STATE.mkdir(exist_ok=True)
    marker = STATE / names[0]
    if "-r" in arguments:
        marker.unlink(missing_ok=True)
    else:
        marker.touch()
    return 0


def lctl(arguments: list[str]) -> int:
    match arguments:
        case ["set_param", *settings] if settings:
            settings = [setting for setting in settings if setting != "-P"]
            (STATE / "parameters").parent.mkdir(exist_ok=True)
            with (STATE / "parameters").open("a") as file:
                file.writelines(f"{setting}\n" for setting in settings)
            sys.stdout.writelines(f"{setting}\n" for setting in settings)
            return 0
        case ["get_param", "-n", "version"] | ["version"] | ["--version"]:
            sys.stdout.write(f"{VERSION}\n")
            return 0
        case ["ping", _] | ["list_nids"]:
            return 0
    return unknown("lctl", arguments)


def lnetctl(arguments: list[str]) -> int:
    match arguments:
        case ["lnet", "configure" | "unconfigure", *_] | ["net", "add" | "del", *_]:
            return 0
        case ["net", "show", *_]:
            sys.stdout.write("net:\n    - net type: tcp\n      local NI(s):\n        - status: up\n")
            return 0
    return unknown("lnetctl", arguments)


def lfs(arguments: list[str]) -> int:
    match arguments:
        case ["df", *options] if options and not options[-1].startswith("-"):
            usage = shutil.disk_usage(options[-1])
            sizes = " ".join(str(size // 1024) for size in (usage.total, usage.used, usage.free))
            sys.stdout.write(f"filesystem_summary: {sizes} {options[-1]}\n")
            return 0
        case ["setstripe", *options] if options:
            Path(options[-1]).touch() if not Path(options[-1]).is_dir() else None
            return 0
        case ["--version"]:
            sys.stdout.write(f"lfs {VERSION}\n")
            return 0
    return unknown("lfs", arguments)


def unknown(program: str, arguments: list[str]) -> int:
    sys.stderr.write(f"{program}: rehearsal stand-in: it does not know {' '.join(arguments) or 'an empty call'}\n")
    return 1


if __name__ == "__main__":
    name = Path(sys.argv[0]).name
    sys.exit({"modprobe": modprobe, "lctl": lctl, "lnetctl": lnetctl, "lfs": lfs}[name](sys.argv[1:]))
