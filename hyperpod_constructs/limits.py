"""The services' numbers and patterns, each with its source, read on 2026-11-30. Standard library only.

"model" is botocore 1.44.8's service model of SageMaker, against which a test holds every line here that comes from it.
"""

import re
from dataclasses import dataclass

MODEL_NAME = r"[a-zA-Z0-9](-*[a-zA-Z0-9])*"


@dataclass(frozen=True, slots=True)
class Name:
    """A kind of name: what it must match, how long it may be, and how to say so.

    Attributes:
        pattern: regular expression that the whole name must match.
        maximum: greatest length in characters.
        words: the pattern in words.
        source: where the rule comes from.
    """

    pattern: str
    maximum: int
    words: str
    source: str

    def accepts(self, value: str) -> bool:
        """Whether the service would take the name."""
        return 1 <= len(value) <= self.maximum and re.fullmatch(self.pattern, value) is not None


_HYPHENATED = "letters, digits and inner hyphens"

CLUSTER_NAME = Name(MODEL_NAME, 63, f"{_HYPHENATED}, 1 to 63 characters", "model ClusterName; FACTS 5.1")
GROUP_NAME = Name(MODEL_NAME, 63, f"{_HYPHENATED}, 1 to 63 characters", "model InstanceGroupName; FACTS 5.1")
# The model allows 1024 characters; Slurm and HyperPod's own names for it do not go so far, and 63 is what every other
# name of the cluster may have.
PARTITION = Name(MODEL_NAME, 63, f"{_HYPHENATED}, 1 to 63 characters", "model ClusterPartitionName; FACTS 5.1")
INSTANCE_TYPE = Name(r"ml\.[a-z0-9-]+\.[a-z0-9]+", 64, "ml.<family>.<size>", "model ClusterInstanceType; FACTS 10")
MOUNT_PATH = Name(
    r"/[a-zA-Z0-9._/-]+", 1024, "an absolute path of letters, digits, . _ / -", "model FSxMountPath; FACTS 4.4"
)
LUSTRE_MOUNT_NAME = Name(r"[A-Za-z0-9_-]{1,8}", 8, "letters, digits, _ and -, 1 to 8 characters", "model; FACTS 4.4")
FILE_SYSTEM_DNS_NAME = Name(
    r"(fs|fc)i?-[0-9a-f]{8,}\..{4,253}", 275, "the DNS name of an FSx file system, fs-....", "model; FACTS 4.4"
)
IMAGE_ID = Name(r"ami-[0-9a-fA-F]{8,17}|default", 21, "ami-... or default", "model ImageId; FACTS 5.1")
IMAGE_RELEASE_VERSION = Name(r"[0-9]+\.[0-9]+\.[0-9]+", 64, "x.y.z", "model ImageReleaseVersion; FACTS 5.1")
ROLE_ARN = Name(
    r"arn:aws[a-z\-]*:iam::\d{12}:role/?[a-zA-Z_0-9+=,.@\-_/]+", 2048, "the ARN of an IAM role", "model RoleArn"
)
TRAINING_PLAN_ARN = Name(
    r"arn:aws[a-z\-]*:sagemaker:[a-z0-9\-]*:[0-9]{12}:training-plan/.*",
    2048,
    "the ARN of a training plan",
    "model; FACTS 10",
)
SECRET_ARN = Name(
    r"arn:aws[a-z\-]*:secretsmanager:[a-z0-9\-]*:[0-9]{12}:secret:.+", 2048, "the ARN of a secret", "model; FACTS 5.1"
)
DATABASE_NAME = Name(r"[a-zA-Z0-9$_]+", 64, "letters, digits, $ and _, 1 to 64 characters", "model; FACTS 5.1")
DATABASE_ENDPOINT = Name(
    r"([a-zA-Z0-9]([a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])?)(\.[a-zA-Z0-9]([a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])?)*",
    255,
    "a host name without a port",
    "model; FACTS 5.1",
)
USER_NAME = Name(r"[a-z_][a-z0-9_-]*", 32, "lower case letters, digits, _ and -, 1 to 32 characters", "useradd(8)")
ALARM_NAME = Name(r"(?!\s*$).+", 255, "1 to 255 characters", "model AlarmName")
AVAILABILITY_ZONE = Name(
    r"[a-z]{2}(-[a-z]+)+-\d+[a-z]|[a-z]{3,4}\d-az\d+",
    64,
    "the name or id of an Availability Zone, us-east-1a or use1-az4",
    "EC2 user guide, AZ ids",
)
# \w stands for \p{L} and \p{N}: the standard library's re has no Unicode classes.
TAG_KEY = Name(
    r"(?!aws:)[\w\s.:/=+\-@]*", 128, "1 to 128 letters, digits, spaces and . : / = + - @ _, not aws:...", "model TagKey"
)
TAG_VALUE_PATTERN = r"[\w\s.:/=+\-@]*"
TAG_VALUE_MAXIMUM = 256
TAGS_MAXIMUM = 50

INSTANCE_COUNT_MAXIMUM = 6758  # model ClusterInstanceCount
GROUPS_MAXIMUM = 100  # model InstanceGroups
GROUPS_WARNING = 20  # FACTS 12: the Slurm guide says 20, the model 100
INSTANCE_TYPES_MAXIMUM = 20  # model InstanceRequirements
EBS_VOLUME_GIB = (1, 16384)  # model VolumeSizeInGB
DEEP_HEALTH_CHECKS_MAXIMUM = 3  # model OnStartDeepHealthChecks
SUBNETS_MAXIMUM = 16  # model VpcConfig
SECURITY_GROUPS_MAXIMUM = 5  # model VpcConfig
STORAGE_CONFIGS_MAXIMUM = 4  # model InstanceStorageConfigs
ROLLBACK_ALARMS_MAXIMUM = 10  # model AutoRollbackConfiguration
WAIT_INTERVAL_SECONDS = (0, 3600)  # model WaitIntervalInSeconds
IDLE_WAIT_WINDOW_SECONDS = (3600, 2160000)  # model IdleWaitWindowInSeconds
SCHEDULE_EXPRESSION_MAXIMUM = 256  # model ScheduleExpression
USER_IDS = (2000, 60000)  # field report L-20: clear of ubuntu (1000), slurm and munge; useradd's upper bound
CLOUDFORMATION_WAIT_MINUTES = 60  # a custom resource's ServiceTimeout is at most 3600 s (STYLE, fact 3)
MINIMUM_ROLLBACK_MINUTES = 180  # FACTS 5.1: a minimum that is not met for three hours is given up by the service

# Paths that the operating system, Slurm or the platform lives in: a mount there would hide it.
SYSTEM_PATHS = frozenset(
    f"/{name}"
    for name in (
        *("bin", "boot", "dev", "etc", "lib", "lib64", "proc", "root", "run", "sbin", "sys", "tmp", "usr", "var"),
        *("opt", "opt/slurm", "opt/ml", "opt/sagemaker", "opt/dlami", "opt/aws", "opt/amazon"),
    )
)
# "dev" exists on every cluster and holds every node (FACTS 6.3). DEFAULT is slurm.conf's word for defaults.
SHARED_PARTITION = "dev"
RESERVED_PARTITIONS = ("DEFAULT",)
