"""What is known about causes: a text that the service says, and what to do about it."""

NO_CAPACITY = "no capacity of this type in that zone now: the subnet must lie in the zone of the reservation or plan"
QUOTA = "a quota: Service Quotas, SageMaker, '<instance type> for cluster usage' and 'instances per cluster'"
PERMISSION = "IAM: a permission is missing; the text names the action"

HINTS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("efa", "security group"), "EFA needs the security group to allow all traffic from and to itself, in and out"),
    (("insufficient capacity",), NO_CAPACITY),
    (("insufficientinstancecapacity",), NO_CAPACITY),
    (("availability zone",), "the subnet must lie in the zone of the reservation, training plan or instance type"),
    (
        ("unable to retrieve subnets",),
        "the role was not known everywhere yet, or lacks ec2:DescribeSubnets: deploy again; check the execution role",
    ),
    (("assume",), "IAM: the execution role must trust sagemaker.amazonaws.com; a new role needs a minute to be known"),
    (("not authorized",), PERMISSION),
    (("accessdenied",), PERMISSION),
    (("limitexceeded",), QUOTA),
    (("service limit",), QUOTA),
    (("quota",), QUOTA),
    (("provisioning_parameters.json",), "remove provisioning_parameters.json from the folder under SourceS3Uri"),
    (("lifecycle script",), "the lifecycle script of a node ended with an error: the end of its log says where"),
)


def hint_for(text: str) -> str:
    """The first hint whose words all stand in the text, "" when none does."""
    lowered = text.lower()
    return next((hint for words, hint in HINTS if all(word in lowered for word in words)), "")
