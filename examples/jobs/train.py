"""The part of a training script that resuming rests on: start at the last whole checkpoint, write each one whole.

Put your model where the marked lines are. Every task runs this; each keeps a file of its own, as ranks do with shards.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path


def load(file: Path) -> dict[str, int]:
    """The last state, or a fresh one."""
    return json.loads(file.read_text()) if file.is_file() else {"step": 0}


def save(file: Path, state: dict[str, int]) -> None:
    """Under another name first: a node that dies while it writes must not take the last good checkpoint with it."""
    partial = file.with_suffix(".partial")
    with partial.open("w") as stream:
        json.dump(state, stream)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(file)


def main() -> int:
    """Train from the last checkpoint to the last step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoints", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seconds-per-step", type=float, default=float(os.environ.get("SECONDS_PER_STEP", "1")))
    options = parser.parse_args()
    rank = os.environ.get("SLURM_PROCID", "0")
    file = options.checkpoints / f"rank-{rank}.json"
    state = load(file)
    sys.stdout.write(f"rank {rank}: starts at step {state['step']}\n")
    while state["step"] < options.steps:
        time.sleep(options.seconds_per_step)  # your forward, backward and optimizer step
        state["step"] += 1
        save(file, state)  # your own: every some hundred steps
    sys.stdout.write(f"rank {rank}: done at step {state['step']}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
