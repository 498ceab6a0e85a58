"""What the two functions must be allowed: plain data that the constructs turn into policies. Needs no SDK.

The tests run every story with clients that deny what is not in this table.
"""

READS = ("sagemaker:DescribeClusterEvent",)
"""Of both: the failure text. On all clusters of the account, because the functions exist before the cluster does, and
its ARN ends in an id that exists only after creation."""

GUARD_READS = ("sagemaker:DescribeCluster",)
"""Of the guard: counts for the estimate and the command. On all clusters, for the same reason."""

PRICES = ("pricing:GetProducts",)
"""Of the guard: the price list, which has no resources to name."""

RECORDS = ("dynamodb:GetItem", "dynamodb:PutItem")
"""Of both, on their table."""
