"""Slurm's accounting database outside the cluster."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_rds as rds
from constructs import Construct

from hyperpod_constructs.acknowledgements import acknowledge
from hyperpod_constructs.errors import Problem, SpecError
from hyperpod_constructs.network import ClusterNetwork
from hyperpod_constructs.options import Accounting

_PORT = 3306
_USER = "slurm"
_BACKUP_DAYS = (1, 35)  # RDS user guide, backup retention of Aurora
_CAPACITY_UNITS = (0.5, 256.0)  # RDS user guide, Aurora serverless v2; 0 would pause, but slurmdbd never disconnects
# Slurm accounting guide: large updates of job tables otherwise run into InnoDB's 50 seconds.
_PARAMETERS = {"innodb_lock_wait_timeout": "900"}
_SEPARATORS = "\"@/\\'`#;= "  # would end the value in slurmdbd.conf or a URL
_ACKNOWLEDGED = (
    ("SMG4", "whether the service reads a rotated password is not documented: rotate by hand, then restart slurmdbd"),
    ("RDS6", "Slurm's database daemon knows user and password only"),
    ("RDS11", "the service's default port; who may connect is the security group's business"),
    ("RDS14", "backtracking would need its own log; the backups serve"),
    ("RDS16", "the one client logs its own errors; an exported log group would outlive the stack"),
)
_UNPROTECTED = ("RDS10", "removal_policy says that it may be deleted with its stack")


class AccountingDatabase(Construct):
    """An Aurora MySQL serverless database for Slurm's accounting: history outlives the controller's root volume.

    It is encrypted, in two zones, backed up, protected against deletion, and reached by nodes only. The master
    password is generated into a secret that the controller's role may read. Kept when the stack goes, with what it
    stands on, unless ``removal_policy`` is ``DESTROY``.

    Args:
        scope: parent construct.
        id: construct id.
        network: gives the VPC, the subnets, the security group and its rule.
        least_capacity_units: of Aurora, 0.5 to 256 in halves; 0.5 by default.
        most_capacity_units: of Aurora; 4 by default.
        readers: further instances that take over when the first fails; none by default, a restart then takes minutes.
        backup_retention_days: 1 to 35 days; 14 by default.
        kms_key: key of data and secret; by default the account's keys for RDS and Secrets Manager.
        removal_policy: ``RETAIN`` by default; ``SNAPSHOT`` keeps a last snapshot only.

    Attributes:
        cluster: the database cluster.
        secret: user and password, as JSON with ``username`` and ``password``.

    Raises:
        SpecError: numbers that Aurora does not take.

    Example:
        >>> from aws_cdk import App, Stack
        >>> stack = Stack(App(), "Storage")
        >>> database = AccountingDatabase(stack, "Accounting", network=ClusterNetwork(stack, "Network"))
        >>> database.accounting().kind.value
        'External'
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        network: ClusterNetwork,
        least_capacity_units: float = 0.5,
        most_capacity_units: float = 4,
        readers: int = 0,
        backup_retention_days: int = 14,
        kms_key: kms.IKey | None = None,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
    ) -> None:
        _check(least_capacity_units, most_capacity_units, backup_retention_days)
        super().__init__(scope, id)
        group, rules = network.add_database_access()
        subnets = network.database_subnets()
        keeps = removal_policy is RemovalPolicy.RETAIN
        self.secret = rds.DatabaseSecret(
            self, "Secret", username=_USER, encryption_key=kms_key, exclude_characters=_SEPARATORS
        )
        self.secret.apply_removal_policy(RemovalPolicy.RETAIN if keeps else RemovalPolicy.DESTROY)
        engine = rds.DatabaseClusterEngine.aurora_mysql(version=rds.AuroraMysqlEngineVersion.VER_3_10_4)
        parameters = rds.ParameterGroup(
            self,
            "Parameters",
            engine=engine,
            description="Slurm accounting",
            parameters=_PARAMETERS,
            # A database that is kept needs the group that it uses.
            removal_policy=RemovalPolicy.RETAIN if keeps else RemovalPolicy.DESTROY,
        )
        self.cluster = rds.DatabaseCluster(
            self,
            "Cluster",
            engine=engine,
            parameter_group=parameters,
            vpc=network.vpc,
            vpc_subnets=ec2.SubnetSelection(subnets=subnets),
            security_groups=[group],
            port=_PORT,
            credentials=rds.Credentials.from_secret(self.secret),
            writer=rds.ClusterInstance.serverless_v2("Writer"),
            readers=[
                rds.ClusterInstance.serverless_v2(f"Reader{index + 1}", scale_with_writer=True)
                for index in range(readers)
            ],
            serverless_v2_min_capacity=least_capacity_units,
            serverless_v2_max_capacity=most_capacity_units,
            storage_encrypted=True,
            storage_encryption_key=kms_key,
            backup=rds.BackupProps(retention=Duration.days(backup_retention_days)),
            copy_tags_to_snapshot=True,
            deletion_protection=keeps,
            removal_policy=removal_policy,
        )
        self.cluster.node.add_dependency(rules)
        acknowledge(self, *_ACKNOWLEDGED, *(() if keeps else (_UNPROTECTED,)))
        if keeps:
            network.retain(group)

    def accounting(self, *, database_name: str = "") -> Accounting:
        """What ``SlurmCluster(accounting=...)`` takes. Several clusters may share one database (FACTS 5.1).

        Args:
            database_name: letters, digits, ``$`` and ``_``; ``slurm_acct_db_<cluster id>`` by default.
        """
        return Accounting.external(
            endpoint=self.cluster.cluster_endpoint.hostname,
            secret=self.secret,
            port=_PORT,
            database_name=database_name,
        )


def _check(least: float, most: float, days: int) -> None:
    problems = []
    low, high = _CAPACITY_UNITS
    if not low <= least <= most <= high or (least * 2) % 1 or (most * 2) % 1:
        message = f"got {least} and {most}, allowed: {low} to {high:g} in halves, the least first"
        problems.append(Problem(path="least_capacity_units", message=message))
    first, last = _BACKUP_DAYS
    if not first <= days <= last:
        problems.append(Problem(path="backup_retention_days", message=f"got {days}, allowed: {first} to {last}"))
    if problems:
        raise SpecError(problems, subject="accounting database")
