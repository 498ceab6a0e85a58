#!/usr/bin/env python3
"""STAND-IN for the AWS CLI of the image: the two commands that node scripts use, answered from a folder.

It has the real one's arguments, and knows nothing of credentials, signatures or networks.
"""

import shutil
import sys
from pathlib import Path

FOLDER = Path("/run/aws-stand-in")


def main(arguments: list[str]) -> int:
    """Answer ``secretsmanager get-secret-value`` and ``s3 cp`` from S3."""
    if arguments[:2] == ["secretsmanager", "get-secret-value"]:
        name = arguments[arguments.index("--secret-id") + 1].rpartition(":")[2]
        sys.stdout.write((FOLDER / "secrets" / name).read_text())
        return 0
    if arguments[:2] == ["s3", "cp"]:
        source, target = [word for word in arguments[2:] if not word.startswith("--")]
        shutil.copyfile(FOLDER / "s3" / source.removeprefix("s3://"), target)
        return 0
    sys.stderr.write(f"the stand-in has no: {' '.join(arguments)}\n")
    return 252


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
