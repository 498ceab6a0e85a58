"""The bed's launcher from the texts of a command line.

``python -m hyperpod_constructs.rehearsal.service --launcher hyperpod_constructs.rehearsal.agent.from_options:launcher
--launcher-option bed=SOCKET --launcher-option aws-endpoint=URL``
"""

from collections.abc import Mapping
from pathlib import Path

from hyperpod_constructs.rehearsal.agent.launcher import BedLauncher
from hyperpod_constructs.rehearsal.agent.scripts import BucketScripts
from hyperpod_constructs.rehearsal.agent.story import Story, When
from hyperpod_constructs.rehearsal.nodes.client import BedClient
from hyperpod_constructs.rehearsal.service.aws_clients import client

REQUIRED = ("bed", "aws-endpoint")
OPTIONAL = ("region", "account", "slurm-conf-delay", "node-lines-delay", "image-setup", "script-timeout")


def launcher(options: Mapping[str, str]) -> BedLauncher:
    """A launcher that makes nodes on a running bed, with scripts from the emulated S3.

    Args:
        options: ``bed``, path of the bed's control socket, and ``aws-endpoint``, the emulated AWS; optional: ``region``
            (us-east-1), ``account`` (123456789012), and the story of all clusters: ``slurm-conf-delay``,
            ``node-lines-delay`` and ``script-timeout`` in seconds, ``image-setup`` (before, during, after).

    Raises:
        ValueError: an option is missing, unknown or malformed.
    """
    missing = [name for name in REQUIRED if name not in options]
    unknown = sorted(set(options) - {*REQUIRED, *OPTIONAL})
    if missing or unknown:
        raise ValueError(
            f"launcher options: missing {', '.join(missing) or 'none'}, unknown {', '.join(unknown) or 'none'}; "
            f"allowed: {', '.join((*REQUIRED, *OPTIONAL))}"
        )
    bed = BedClient(Path(options["bed"]))
    bed.call("ping")  # says at once when there is no bed
    region, account = options.get("region", "us-east-1"), options.get("account", "123456789012")
    scripts = BucketScripts(client("s3", options["aws-endpoint"], region, account))
    return BedLauncher(bed, scripts, default_story=story(options))


def story(options: Mapping[str, str]) -> Story:
    """The story that the options tell.

    Raises:
        ValueError: a number or a word is malformed.
    """
    default = Story()
    return Story(
        slurm_conf_delay_seconds=float(options.get("slurm-conf-delay", default.slurm_conf_delay_seconds)),
        node_lines_delay_seconds=float(options.get("node-lines-delay", default.node_lines_delay_seconds)),
        script_timeout_seconds=float(options.get("script-timeout", default.script_timeout_seconds)),
        image_setup=When(options.get("image-setup", default.image_setup)),
    )
