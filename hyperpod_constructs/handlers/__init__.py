"""Root of the Lambda asset: every package in this folder runs in Lambda, with boto3 and the standard library only."""
