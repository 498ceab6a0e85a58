"""Where the platform gets lifecycle scripts from: exactly what lies under the URI, or one sentence."""

import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hyperpod_constructs.rehearsal.agent import BucketScripts, FolderScripts, ScriptsError
from hyperpod_constructs.rehearsal.agent.lanes import Lanes
from hyperpod_constructs.rehearsal.agent.scripts import node_folder

pytestmark = pytest.mark.fast

OBJECTS = {
    "lifecycle/abc/on_create.sh": b"#!/bin/bash\n",
    "lifecycle/abc/steps/": b"",
    "lifecycle/abc/steps/mount it.sh": b"mount",
    "lifecycle/abcd/on_create.sh": b"a neighbour's",
}


class Bucket:
    """The two calls of boto3's S3 client that are used, two objects a page."""

    def get_paginator(self, name: str) -> "Bucket":
        assert name == "list_objects_v2"
        return self

    def paginate(self, Bucket: str, Prefix: str) -> Iterator[dict[str, Any]]:  # noqa: N803 - boto3's names
        if Bucket != "sagemaker-x":
            raise RuntimeError("The specified bucket does not exist")
        keys = [key for key in OBJECTS if key.startswith(Prefix)]
        for start in range(0, max(len(keys), 1), 2):
            page = keys[start : start + 2]
            yield {"Contents": [{"Key": key} for key in page]} if page else {}

    def get_object(self, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        return {"Body": io.BytesIO(OBJECTS[Key])}


@pytest.mark.parametrize("uri", ["s3://sagemaker-x/lifecycle/abc", "s3://sagemaker-x/lifecycle/abc/"])
def test_a_prefix_holds_what_lies_below_it_and_not_its_neighbours(uri: str) -> None:
    assert BucketScripts(Bucket()).fetch(uri) == {"on_create.sh": b"#!/bin/bash\n", "steps/mount it.sh": b"mount"}


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("s3://sagemaker-x/nothing", "s3://sagemaker-x/nothing holds no objects"),
        ("s3://sagemaker-y/x", "cannot be read: The specified bucket does not exist"),
        ("https://sagemaker-x/x", "it must be s3://<bucket>/<prefix>"),
    ],
)
def test_scripts_that_cannot_be_had_are_one_sentence(uri: str, words: str) -> None:
    with pytest.raises(ScriptsError) as caught:
        BucketScripts(Bucket()).fetch(uri)
    assert words in str(caught.value)


def test_a_folder_gives_its_files_without_what_python_left(tmp_path: Path) -> None:
    for name in ("a.sh", "in/b.sh", "in/__pycache__/b.pyc"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert FolderScripts({"s3://b/p": tmp_path}).fetch("s3://b/p") == {"a.sh": b"a.sh", "in/b.sh": b"in/b.sh"}
    with pytest.raises(ScriptsError, match="s3://b/q holds no objects; there are: s3://b/p"):
        FolderScripts({"s3://b/p": tmp_path}).fetch("s3://b/q")


def test_the_folder_on_a_node_follows_from_the_uri() -> None:
    assert node_folder("s3://sagemaker-x/lifecycle/abc/") == "/tmp/sagemaker-x/lifecycle/abc"
    assert node_folder("s3://sagemaker-x") == "/tmp/sagemaker-x"


def test_work_of_one_key_keeps_its_order_and_others_do_not_wait_for_it() -> None:
    lanes, gate = Lanes(), threading.Event()
    done: list[str] = []

    def slow() -> None:
        gate.wait(10)
        done.append("a1")

    lanes.submit("a", slow)
    lanes.submit("a", lambda: done.append("a2"))
    lanes.submit("b", lambda: done.append("b")).join(5)
    assert done == ["b"]
    gate.set()
    assert lanes.join(5)
    assert done == ["b", "a1", "a2"]
