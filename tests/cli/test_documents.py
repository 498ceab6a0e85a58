"""Files that are read: where things stood, and what cannot be read is said with line and column."""

import json
from pathlib import Path

import pytest

from hyperpod_constructs.cli.failures import CommandError
from hyperpod_constructs.cli.reading.documents import Document, read_document, split_path
from tests.cli.support import Command

GOOD = """\
# the documented cluster
cluster_name: my-training-cluster
controller: {name: controller-group, instance_type: ml.m5.xlarge}
login:
  name: login-group
  instance_type: ml.m5.xlarge
compute:
  - name: worker-gpu-a
    instance_type: ml.p5.48xlarge
    instance_count: 16
    partition: gpu-training
tags: {"team.name": research}
"""


def document(folder: Path, text: str, name: str = "cluster.yaml") -> Document:
    path = folder / name
    path.write_text(text)
    return read_document(path)


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("cluster_name", "2:1"),
        ("controller.instance_type", "3:38"),
        ("compute[0].instance_count", "10:5"),
        ("compute[0].min_instance_count", "8:5"),
        ('tags["team.name"]', "12:8"),
        ("users[3].name", ""),
    ],
)
def test_a_path_leads_to_its_line_or_to_what_is_around_it(tmp_path: Path, where: str, place: str) -> None:
    assert document(tmp_path, GOOD).place(where) == f"{tmp_path}/cluster.yaml" + (f":{place}" if place else "")


def test_json_has_positions_too(tmp_path: Path) -> None:
    found = document(tmp_path, json.dumps({"a": {"b": [1, 2]}}, indent=2), "a.json")
    assert found.place("a.b[1]").endswith("a.json:5:7")


def test_json_that_is_no_yaml_is_read_without_positions(tmp_path: Path) -> None:
    found = document(tmp_path, '{"a":\t{\n\t"b": 1}}', "a.json")
    assert found.value == {"a": {"b": 1}}


def test_values_become_plain(tmp_path: Path) -> None:
    value = document(tmp_path, "a: &x true\nb: *x\nc: 0x10\nd: 2026-01-02\ne: 'yes'\nf: yes\ng: 1.5\nh:\n").value
    assert value == {"a": True, "b": True, "c": 16, "d": "2026-01-02", "e": "yes", "f": "yes", "g": 1.5, "h": None}
    assert [type(one) for one in value.values()] == [bool, bool, int, str, str, str, float, type(None)]


def test_paths_split_into_keys_and_indices() -> None:
    assert split_path('a.b[2]["c.d"].e') == ("a", "b", 2, "c.d", "e")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.json", '{"a": 1,}', "a.json:1:9: not valid JSON"),
        ("a.json", '{"a": 1\n "b": 2}', "a.json:2:2: not valid JSON: Expecting ',' delimiter"),
        ("a.json", '{"a": 1, "a": 2}', 'the key "a" is given twice'),
        ("a.json", "", "a.json:1:1: not valid JSON"),
        ("a.yaml", "a: [1\nb: 2", "not valid YAML"),
        ("a.yaml", "a: 1\na: 2\n", "a.yaml:2:1: not valid YAML: found duplicate key"),
        ("a.yaml", "a: *nothing\n", "a.yaml:1:4: not valid YAML: found undefined alias"),
        ("a.yaml", "a:\n\t- b\n", "not valid YAML"),
        ("a.yaml", "a: !!python/object:os.system x\nb: [", "not valid YAML"),
        ("a.yaml", "\n".join(["x0: &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"] + [
            f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]" for n in range(1, 9)
        ]), "too many values"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_its_place(tmp_path: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(CommandError) as raised:
        document(tmp_path, text, name)
    assert says in str(raised.value)
    assert str(tmp_path / name) in str(raised.value)


def test_text_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"a: \xff\xfe")
    with pytest.raises(CommandError, match="not text in UTF-8"):
        read_document(tmp_path / "a.yaml")


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_document(tmp_path / "a.json").value == {"a": 1}


def test_a_good_file_passes(command: Command, tmp_path: Path) -> None:
    document(tmp_path, GOOD)
    answer = command("validate", "--offline", tmp_path / "cluster.yaml")
    assert (answer.code, answer.lines[-1]) == (0, "✅ Cluster Validation succeeded")


def test_every_problem_of_a_file_is_told_with_its_line(command: Command, tmp_path: Path) -> None:
    text = GOOD.replace("instance_count: 16", "instance_count: sixteen").replace("partition: gpu", "partiton: gpu")
    document(tmp_path, text.replace("my-training-cluster", "my_training_cluster"))
    answer = command("validate", "--offline", tmp_path / "cluster.yaml")
    assert answer.code == 1
    told = [line.partition("cluster.yaml:")[2] for line in answer.lines if line.startswith("✖️")]
    assert [line.split(":")[0] for line in told] == ["2", "10", "11"]
    assert 'got "my_training_cluster"' in told[0]
    assert 'did you mean "partition"?' in told[2]


def test_a_warning_does_not_fail_the_whole(command: Command, tmp_path: Path) -> None:
    document(tmp_path, GOOD.replace("partition: gpu-training", "partition: dev"))
    answer = command("validate", "--offline", tmp_path / "cluster.yaml")
    assert (answer.code, answer.lines[0][:2]) == (0, "⚠️")
    assert answer.lines[-1] == "✅ Cluster Validation succeeded, with 1 warning"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["validate"], 2, "give a cluster file"),
        (["validate", "a.yaml", "--cluster-config", "b.json"], 2, "allowed: one of them"),
        (["validate", "--provisioning-parameters", "b.json"], 2, "goes with --cluster-config"),
        (["validate", "--offline", "/no/such/file.yaml"], 1, "/no/such/file.yaml: no such file"),
        (["validate", "--offline", "/etc"], 1, "has no manifest.json"),
        (["validate", "--offline", "--", "--help"], 1, "--help: no such file"),
        (["validate", "--region", "us-eest", "README.md"], 1, "README.md"),
    ],
)
def test_wrong_arguments_end_in_one_sentence(command: Command, arguments: list[str], code: int, says: str) -> None:
    answer = command(*arguments)
    assert (answer.code, answer.out) == (code, "")
    assert says in answer.err
    assert len(answer.err.splitlines()) == 1
