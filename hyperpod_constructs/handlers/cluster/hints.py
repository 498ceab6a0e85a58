"""What is known about causes: a text that the service says, and what to do about it."""

HINTS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("efa", "security group"),
        "EFA needs the security group to allow all traffic from and to itself, in and out",
    ),
    (
        ("insufficient capacity",),
        "no capacity of this type in that zone now: the subnet must lie in the zone of the reservation or plan",
    ),
    (
        ("insufficientinstancecapacity",),
        "no capacity of this type in that zone now: the subnet must lie in the zone of the reservation or plan",
    ),
    (
        ("availability zone",),
        "the subnet must lie in the Availability Zone of the reservation, training plan or instance type",
    ),
    (
        ("unable to retrieve subnets",),
        "the role was not known everywhere yet, or lacks ec2:DescribeSubnets: deploy again; check the execution role",
    ),
    (("assume",), "IAM: the execution role must trust sagemaker.amazonaws.com; a new role needs a minute to be known"),
    (("not authorized",), "IAM: a permission is missing; the text names the action"),
    (("accessdenied",), "IAM: a permission is missing; the text names the action"),
    (
        ("limit",),
        "a quota: Service Quotas, SageMaker, '<instance type> for cluster usage' and 'instances per cluster'",
    ),
    (("quota",), "a quota: Service Quotas, SageMaker, '<instance type> for cluster usage' and 'instances per cluster'"),
    (("lifecycle script",), "the lifecycle script of a node ended with an error: the end of its log says where"),
    (("provisioning_parameters.json",), "remove provisioning_parameters.json from the folder under SourceS3Uri"),
)


def hint_for(text: str) -> str:
    """The first hint whose words all stand in the text, "" when none does."""
    lowered = text.lower()
    return next((hint for words, hint in HINTS if all(word in lowered for word in words)), "")
