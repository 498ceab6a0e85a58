"""slurm.conf: keys set in place, the platform's own left alone."""

import pytest
from nodelib.errors import StepError
from nodelib.slurm_conf import DENIED_KEYS, PLATFORM_KEYS, SlurmConf, is_denied, quoted, value_of, with_key, with_word
from steps.slurm_settings import SET_SLURM_SETTINGS

from tests.lifecycle.support import Machine, node_config

SLURM_CONF = "/opt/slurm/etc/slurm.conf"
OWN = "/opt/slurm/etc/hyperpod_constructs.conf"
TEXT = """\
ClusterName=demo
SlurmctldHost=ip-10-77-0-10(10.77.0.10)
SlurmUser=slurm
SlurmctldParameters=enable_configless
NodeName=ip-10-77-0-20 CPUs=2 State=UNKNOWN
PartitionName=dev Nodes=ALL Default=YES
"""


def test_key_is_replaced_in_place_and_written_once() -> None:
    text = "A=1\nmaxjobcount = 5 # ours\nB=2\nMaxJobCount=6\n"
    assert with_key(text, "MaxJobCount", "7") == "A=1\nMaxJobCount=7\nB=2\n"


def test_equal_value_leaves_the_line_as_it_was() -> None:
    text = "maxjobcount = 5 # ours\n"
    assert with_key(text, "MaxJobCount", "5") == text


def test_key_can_be_removed() -> None:
    assert with_key("StoragePass=x\nA=1\n", "storagepass", None) == "A=1\n"


def test_last_of_several_values_counts_as_for_slurm() -> None:
    assert value_of("A=1\na=2\n#A=3\n", "A") == "2"


def test_word_is_added_once() -> None:
    assert with_word("a,b", "b") == "a,b"
    assert with_word(None, "a") == "a"
    assert with_word("a", "b") == "a,b"


@pytest.mark.parametrize("key", PLATFORM_KEYS)
def test_no_step_can_set_a_key_of_the_platform(machine: Machine, key: str) -> None:
    machine.put(SLURM_CONF, TEXT)
    with pytest.raises(StepError, match=f"{key} belongs to the platform"):
        SlurmConf(machine.files).set(key, "x")
    assert machine.get(SLURM_CONF) == TEXT


@pytest.mark.parametrize("key", [*DENIED_KEYS, "nodename", "ACCOUNTINGSTORAGETYPE", "AccountingStorageHost", "include"])
def test_denied_keys_are_denied_in_any_case(key: str) -> None:
    assert is_denied(key)


def test_ordinary_keys_are_allowed() -> None:
    assert not is_denied("MaxJobCount")
    assert not is_denied("PriorityType")


def test_new_key_goes_to_our_own_included_file(machine: Machine) -> None:
    machine.put(SLURM_CONF, TEXT)
    conf = SlurmConf(machine.files)
    assert conf.set("MaxJobCount", "20000")
    assert machine.get(SLURM_CONF) == TEXT + "Include hyperpod_constructs.conf\n"
    assert value_of(machine.get(OWN), "MaxJobCount") == "20000"
    assert conf.get("maxjobcount") == "20000"
    assert not conf.set("MaxJobCount", "20000")


def test_key_of_an_included_file_is_changed_there(machine: Machine) -> None:
    machine.put(SLURM_CONF, TEXT + "include accounting.conf\n")
    machine.put("/opt/slurm/etc/accounting.conf", "JobAcctGatherType=jobacct_gather/none\n")
    assert SlurmConf(machine.files).set("JobAcctGatherType", "jobacct_gather/linux")
    assert machine.get("/opt/slurm/etc/accounting.conf") == "JobAcctGatherType=jobacct_gather/linux\n"
    assert not machine.files.exists(OWN)


def test_settings_step_sets_what_was_asked_and_what_the_scripts_need(machine: Machine) -> None:
    machine.put(SLURM_CONF, TEXT)
    context = machine.context("controller", node_config(slurm_settings={"MaxJobCount": "20000"}))
    [result] = machine.run(context, SET_SLURM_SETTINGS)
    assert result.outcome == "ok", machine.log
    conf = SlurmConf(machine.files)
    assert conf.get("MaxJobCount") == "20000"
    assert conf.get("ReturnToService") == "2"
    assert conf.get("Prolog") == "/opt/slurm/etc/scripts/prolog.sh"
    assert not machine.runner.ran("scontrol", "reconfigure"), "slurmctld does not run yet"
    assert machine.run(context, SET_SLURM_SETTINGS)[0].changed == ()


def test_settings_step_keeps_what_image_and_users_chose(machine: Machine) -> None:
    machine.put(SLURM_CONF, TEXT + "ReturnToService=1\nProlog=/opt/site/prolog\n")
    context = machine.context("controller", node_config(slurm_settings={"Epilog": "/opt/site/epilog"}))
    [result] = machine.run(context, SET_SLURM_SETTINGS)
    conf = SlurmConf(machine.files)
    assert [conf.get(key) for key in ("ReturnToService", "Prolog", "Epilog")] == [
        "1",
        "/opt/site/prolog",
        "/opt/site/epilog",
    ]
    assert "Prolog=/opt/site/prolog stays, prolog.d is not used" in result.remarks


def test_settings_step_refuses_denied_keys_before_it_changes_anything(machine: Machine) -> None:
    machine.put(SLURM_CONF, TEXT)
    context = machine.context("controller", node_config(slurm_settings={"nodename": "x", "MaxJobCount": "1"}))
    [result] = machine.run(context, SET_SLURM_SETTINGS)
    assert (result.outcome, result.changed) == ("failed", ())
    assert "nodename cannot be set" in result.remarks[0]


def test_prolog_is_not_set_where_a_group_runs_no_script_of_ours(machine: Machine) -> None:
    machine.put(SLURM_CONF, TEXT)
    document = node_config()
    document["groups"]["compute-group"]["style"] = "image_only"
    machine.run(machine.context("controller", document), SET_SLURM_SETTINGS)
    assert SlurmConf(machine.files).get("Prolog") is None


def test_running_slurmctld_is_reconfigured_and_a_busy_one_asked_again(machine: Machine) -> None:
    machine.put(SLURM_CONF, TEXT)
    machine.runner.answer("systemctl", "show", stdout="LoadState=loaded\nActiveState=active\n")
    failures = iter([1, 1, 0])
    machine.runner.answer("scontrol", "reconfigure", does=lambda _argv, _stdin: machine.result(next(failures), "busy"))
    [result] = machine.run(machine.context("controller"), SET_SLURM_SETTINGS)
    assert result.outcome == "ok", machine.log
    assert len(machine.runner.ran("scontrol", "reconfigure")) == 3


def test_slurmctld_that_refuses_every_time_fails_the_step(machine: Machine) -> None:
    machine.put(SLURM_CONF, TEXT)
    machine.runner.answer("systemctl", "show", stdout="LoadState=loaded\nActiveState=active\n")
    machine.runner.answer("scontrol", "reconfigure", returncode=1, stderr="Unable to contact slurm controller")
    [result] = machine.run(machine.context("controller"), SET_SLURM_SETTINGS)
    assert "failed 6 times: Unable to contact slurm controller" in result.remarks[-1]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", "plain"),
        ("a#1", "a\\#1"),
        ("a\\b", "a\\\\b"),
        ("it's\"so", "it's\"so"),
        ("two words#", '"two words\\#"'),
    ],
)
def test_any_password_is_written_as_slurm_reads_it_back(text: str, line: str) -> None:
    assert quoted(text, "the password") == line


@pytest.mark.parametrize("text", ['"a', 'two "words"', "a\nb"])
def test_password_that_no_line_can_hold_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(StepError, match=r"^the password has a line break, or a quotation mark"):
        quoted(text, "the password")
