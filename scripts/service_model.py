"""Write the service model that the handler ships: SageMaker's, cut down to the operations that the handler calls.

The Lambda runtime's SDK may be older than the API (botocore 1.34.22 knows neither ``SlurmConfig`` nor
``NodeProvisioningMode``), so the handler brings its own description of the operations it uses. It is made from the
installed botocore and holds shapes only, no prose; the same botocore gives the same bytes.

    python scripts/service_model.py            write it
    python scripts/service_model.py --check    exit 1 when the file is not what the installed botocore gives
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import botocore
import botocore.loaders

OPERATIONS = (
    "AddTags",
    "CreateCluster",
    "DeleteCluster",
    "DeleteTags",
    "DescribeCluster",
    "DescribeClusterEvent",
    "ListClusterEvents",
    "ListClusterNodes",
    "ListTags",
    "UpdateCluster",
    "UpdateClusterSoftware",
)
HANDLER = Path(__file__).resolve().parent.parent / "hyperpod_constructs" / "handlers" / "cluster"
TARGET = HANDLER / "service_model" / "sagemaker" / "2017-07-24" / "service-2.json"
ORIGIN = HANDLER / "service_model" / "origin.json"


def trimmed_model(model: Mapping[str, Any]) -> dict[str, Any]:
    """The same model with only our operations, the shapes they reach, and no documentation."""
    operations = {name: model["operations"][name] for name in OPERATIONS}
    shapes = model["shapes"]
    reached = sorted(_reached_shapes(operations, shapes))
    return {
        "metadata": model["metadata"],
        "operations": _without_prose(operations),
        "shapes": {name: _without_prose(shapes[name]) for name in reached},
        "version": model["version"],
    }


def _reached_shapes(operations: Mapping[str, Any], shapes: Mapping[str, Any]) -> set[str]:
    waiting = list(_references(operations))
    reached: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(_references(shapes[name]))
    return reached


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, Mapping):
        if isinstance(node.get("shape"), str):
            yield node["shape"]
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def _without_prose(node: Any) -> Any:
    if isinstance(node, Mapping):
        # A member may itself be called "documentation"; only the prose is a text.
        return {
            key: _without_prose(value)
            for key, value in node.items()
            if not (key == "documentation" and isinstance(value, str))
        }
    if isinstance(node, list):
        return [_without_prose(value) for value in node]
    return node


def rendered() -> dict[Path, str]:
    """The files and their text, as the installed botocore gives them."""
    model = botocore.loaders.create_loader().load_service_model("sagemaker", "service-2")
    origin = {"made_by": "scripts/service_model.py", "minimum_botocore": botocore.__version__}
    return {
        TARGET: json.dumps(trimmed_model(model), sort_keys=True, separators=(",", ":")) + "\n",
        ORIGIN: json.dumps(origin, sort_keys=True, indent=2) + "\n",
    }


def main(arguments: list[str] | None = None) -> int:
    """Write or check the files; the exit code is 1 when a check finds a difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, say whether the files are up to date")
    options = parser.parse_args(arguments)
    files = rendered()
    stale = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if options.check:
        for path in stale:
            sys.stderr.write(f"{path}: not what botocore {botocore.__version__} gives; run scripts/service_model.py\n")
        return 1 if stale else 0
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files[path], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
