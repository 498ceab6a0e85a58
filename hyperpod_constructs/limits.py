"""The services' numbers and patterns, each with its source, read on 2026-11-30. Standard library only.

"model" is botocore 1.44.8's service model of SageMaker, against which a test holds every line here that comes from it.
"""

import re
import unicodedata
from dataclasses import dataclass

_HYPHENATED_PATTERN = r"[a-zA-Z0-9](-*[a-zA-Z0-9])*"
_HYPHENATED = "letters, digits and inner hyphens"


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A kind of name: what it must match, how long it may be, and how to say so.

    Attributes:
        pattern: regular expression that the whole name must match.
        minimum: least length in characters.
        maximum: greatest length in characters.
        words: the pattern in words.
        source: where the rule comes from.
        shape: the model's shape that this equals; empty if the rule is not the model's.
    """

    pattern: str
    minimum: int = 1
    maximum: int
    words: str
    source: str
    shape: str = ""

    def accepts(self, value: str) -> bool:
        """Whether the service would take the name."""
        if not self.minimum <= len(value) <= self.maximum:
            return False
        # The services' digits and letters are ASCII; Python's \d would take those of every script.
        return re.fullmatch(self.pattern, value, re.ASCII) is not None


CLUSTER_NAME = Name(
    pattern=_HYPHENATED_PATTERN,
    maximum=63,
    words=f"{_HYPHENATED}, 1 to 63 characters",
    source="model ClusterName; FACTS 5.1; field report V-01",
    shape="ClusterName",
)
GROUP_NAME = Name(
    pattern=_HYPHENATED_PATTERN,
    maximum=63,
    words=f"{_HYPHENATED}, 1 to 63 characters",
    source="model ClusterInstanceGroupName; FACTS 5.1; field report V-08",
    shape="ClusterInstanceGroupName",
)
PARTITION = Name(
    pattern=_HYPHENATED_PATTERN,
    maximum=1024,
    words=_HYPHENATED,
    source="model ClusterPartitionName; FACTS 5.1; field report V-05",
    shape="ClusterPartitionName",
)
INSTANCE_TYPE = Name(
    # Wider than the model's list, which grows: what EC2's naming scheme can name.
    pattern=r"ml\.[a-z]+-?\d[a-z0-9-]*\.(nano|micro|small|medium|large|\d*xlarge|metal(-\d+xl)?)",
    maximum=64,
    words="ml.<family>.<size>, such as ml.p5.48xlarge",
    source="model ClusterInstanceType; EC2 user guide, instance type names; FACTS 10",
)
MOUNT_PATH = Name(
    pattern=r"/[a-zA-Z0-9._/-]+",
    maximum=1024,
    words="an absolute path of letters, digits, . _ / -",
    source="model ClusterFsxMountPath; FACTS 4.4",
    shape="ClusterFsxMountPath",
)
LUSTRE_MOUNT_NAME = Name(
    pattern=r"[A-Za-z0-9_-]{1,8}",
    maximum=8,
    words="letters, digits, _ and -, 1 to 8 characters",
    source="model ClusterMountName; FACTS 4.4",
    shape="ClusterMountName",
)
FILE_SYSTEM_DNS_NAME = Name(
    pattern=r"(fs|fc)i?-[0-9a-f]{8,}\..{4,253}",
    minimum=16,
    maximum=275,
    words="the DNS name of an FSx file system, such as fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
    source="model ClusterDnsName; FACTS 4.4",
    shape="ClusterDnsName",
)
IMAGE_ID = Name(
    pattern=r"ami-[0-9a-fA-F]{8,17}|default",
    minimum=7,
    maximum=21,
    words="ami-<8 to 17 hexadecimal digits>, or default",
    source="model ImageId; FACTS 5.1",
    shape="ImageId",
)
IMAGE_RELEASE_VERSION = Name(
    pattern=r"[0-9]+\.[0-9]+\.[0-9]+",
    maximum=64,
    words="x.y.z of numbers, such as 2.1.0",
    source="model ImageReleaseVersion; FACTS 5.1",
    shape="ImageReleaseVersion",
)
ROLE_ARN = Name(
    pattern=r"arn:aws[a-z\-]*:iam::\d{12}:role/?[a-zA-Z_0-9+=,.@\-_/]+",
    minimum=20,
    maximum=2048,
    words="the ARN of an IAM role, arn:aws:iam::<account>:role/<name>",
    source="model RoleArn; FACTS 1.1",
    shape="RoleArn",
)
KMS_KEY_ID = Name(
    pattern=r"[a-zA-Z0-9:/_-]*",
    maximum=2048,
    words="the id or ARN of a KMS key",
    source="model KmsKeyId",
    shape="KmsKeyId",
)
SUBNET_ID = Name(
    pattern=r"[-0-9a-zA-Z]+",
    maximum=32,
    words="the id of a subnet, subnet-...",
    source="model SubnetId",
    shape="SubnetId",
)
SECURITY_GROUP_ID = Name(
    pattern=r"[-0-9a-zA-Z]+",
    maximum=32,
    words="the id of a security group, sg-...",
    source="model SecurityGroupId",
    shape="SecurityGroupId",
)
S3_URI = Name(
    pattern=r"(https|s3)://([^/]+)/?(.*)",
    maximum=1024,
    words="s3://<bucket>/<prefix>, at most 1024 characters",
    source="model S3Uri; FACTS 3",
    shape="S3Uri",
)
TRAINING_PLAN_ARN = Name(
    pattern=r"arn:aws[a-z\-]*:sagemaker:[a-z0-9\-]*:[0-9]{12}:training-plan/.*",
    minimum=50,
    maximum=2048,
    words="the ARN of a training plan, arn:aws:sagemaker:<region>:<account>:training-plan/<name>",
    source="model TrainingPlanArn; FACTS 10; field report N-11",
    shape="TrainingPlanArn",
)
SECRET_ARN = Name(
    pattern=r"arn:aws[a-z\-]*:secretsmanager:[a-z0-9\-]*:[0-9]{12}:secret:.+",
    minimum=20,
    maximum=2048,
    words="the ARN of a secret, arn:aws:secretsmanager:<region>:<account>:secret:<name>",
    source="model ClusterAccountingDatabaseSecretArn; FACTS 5.1; field report V-19",
    shape="ClusterAccountingDatabaseSecretArn",
)
DATABASE_NAME = Name(
    pattern=r"[a-zA-Z0-9$_]+",
    maximum=64,
    words="letters, digits, $ and _, 1 to 64 characters",
    source="model ClusterAccountingDatabaseName; FACTS 5.1; field report V-19",
    shape="ClusterAccountingDatabaseName",
)
DATABASE_ENDPOINT = Name(
    pattern=r"([a-zA-Z0-9]([a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])?)(\.[a-zA-Z0-9]([a-zA-Z0-9\-]{0,61}[a-zA-Z0-9])?)*",
    maximum=255,
    words="a host name, without a port",
    source="model ClusterAccountingDatabaseEndpoint; FACTS 5.1; field report V-19",
    shape="ClusterAccountingDatabaseEndpoint",
)
ALARM_NAME = Name(
    pattern=r"(?!\s*$).+",
    maximum=255,
    words="1 to 255 characters on one line",
    source="model AlarmName",
    shape="AlarmName",
)
SCHEDULE_EXPRESSION = Name(
    pattern=r"cron\([^\s()]+( [^\s()]+){5}\)",
    maximum=256,
    words="cron(...) with six fields: minute hour day-of-month month day-of-week year",
    source="model CronScheduleExpression; FACTS 5.1",
)
PATCH_DATE = Name(
    pattern=r"20\d\d-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?)?",
    maximum=25,
    words="YYYY-MM-DD, or YYYY-MM-DDThh:mmZ",
    source="model ClusterPatchSchedule; FACTS 5.4",
)
AVAILABILITY_ZONE = Name(
    pattern=r"[a-z]{2}(-[a-z]+)+-\d+[a-z]|[a-z]{3,4}\d+-az\d+",
    maximum=64,
    words="the name or id of an Availability Zone, such as us-east-1a or use1-az4",
    source="EC2 user guide, AZ ids; field report N-10",
)
USER_NAME = Name(
    pattern=r"[a-z_][a-z0-9_-]*",
    maximum=32,
    words="lower case letters, digits, _ and -, 1 to 32 characters, a letter or _ first",
    source="useradd(8)",
)
SLURM_ACCOUNT = Name(
    pattern=r"[a-z0-9_][a-z0-9_.-]*",
    maximum=64,
    words="lower case letters, digits, _ . and -, 1 to 64 characters",
    source="sacctmgr(1): accounts are kept in lower case",
)

SLURM_KEY = Name(
    pattern=r"[A-Za-z][A-Za-z0-9]*",
    maximum=64,
    words="a key of slurm.conf, letters and digits, such as PriorityWeightQOS",
    source="slurm.conf(5)",
)
STEP_NAME = Name(
    pattern=r"[A-Za-z0-9][A-Za-z0-9._-]*",
    maximum=128,
    words="letters, digits, . _ and -, 1 to 128 characters",
    source="it is a line of the log and part of a file's name",
)
AGENT_NAME = Name(
    pattern=r"[a-z0-9][a-z0-9_-]*",
    maximum=64,
    words="lower case letters, digits, _ and -, 1 to 64 characters, as the name of a systemd unit",
    source="lifecycle_assets/node_config.schema.json",
)
FILE_URL = Name(
    pattern=r"(https|s3)://[^\s/]+/\S+",
    maximum=2048,
    words="https://... or s3://..., which the nodes can reach",
    source="lifecycle_assets/node_config.schema.json",
)
SHA256 = Name(
    pattern=r"[0-9a-f]{64}",
    minimum=64,
    maximum=64,
    words="64 hexadecimal digits, in lower case",
    source="lifecycle_assets/node_config.schema.json",
)

TAG_KEY_MAXIMUM = 128  # model TagKey
TAG_VALUE_MAXIMUM = 256  # model TagValue
TAGS_MAXIMUM = 50  # model TagList
TAG_WORDS = "letters, digits, spaces and _ . : / = + - @"
OWN_TAGS_MAXIMUM = 4
"""Tags of a cluster that the custom resource needs: two that say who owns it, two that it remembers by."""

INSTANCE_COUNT_MAXIMUM = 6758  # model ClusterInstanceCount
GROUPS_MAXIMUM = 100  # model ClusterInstanceGroupSpecifications
GROUPS_DOCUMENTED = 20  # FACTS 12: the Slurm guide says 20, the model 100
PARTITION_COMFORTABLE = 63  # what every other name of the cluster may have; Slurm's tables are narrower still
INSTANCE_TYPES_MAXIMUM = 20  # model ClusterInstanceTypes
EBS_VOLUME_GIB = (1, 16384)  # model ClusterEbsVolumeSizeInGB
DEEP_HEALTH_CHECKS_MAXIMUM = 3  # model OnStartDeepHealthChecks
SUBNETS_MAXIMUM = 16  # model Subnets
SECURITY_GROUPS_MAXIMUM = 5  # model VpcSecurityGroupIds
STORAGE_CONFIGS_MAXIMUM = 4  # model ClusterInstanceStorageConfigs
ROLLBACK_ALARMS_MAXIMUM = 10  # model AutoRollbackAlarms
WAIT_INTERVAL_SECONDS = (0, 3600)  # model WaitTimeIntervalInSeconds
IDLE_WAIT_WINDOW_SECONDS = (3600, 2160000)  # model IdleWaitWindowInSecondsValue
MEMORY_PERCENTAGE = (0, 100)  # model ClusterInstanceMemoryAllocationPercentage
DATABASE_PORTS = (1, 65535)  # model ClusterAccountingDatabasePort
USER_IDS = (2000, 60000)  # field report L-20: clear of ubuntu (1000), slurm and munge; useradd's upper bound
CLOUDFORMATION_WAIT_MINUTES = 60  # a custom resource's ServiceTimeout is at most 3600 s (STYLE, fact 3)
MINIMUM_ROLLBACK_MINUTES = 180  # FACTS 5.1: a minimum that is not met for three hours is given up by the service
INSTANCE_STRESS_MINUTES = (45, 90)  # FACTS 6.4: what the InstanceStress check takes
LAST_IMAGE_WITHOUT_DATABASE = (2, 1, 0)  # FACTS 5.1 and 6.1: external accounting needs an image after 2026-08-30

BACKUP_MINUTES = (1, 1440)  # lifecycle_assets/node_config.schema.json; a dump a day is the least that helps
STEP_SECONDS = (1, 3600)  # field report L-22: nothing waits without an end


def is_tag_text(value: str) -> bool:
    """Whether a tag may hold the text: the model's letters, separators and numbers of every script, and _.:/=+-@."""
    return all(char in "_.:/=+-@" or unicodedata.category(char)[0] in "LNZ" for char in value)
