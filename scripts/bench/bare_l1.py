"""The same resources as an app's as bare L1 objects: what CDK itself costs for them in Python.

Each template is read by CDK's own CfnInclude, which makes the typed L1 of every resource; asking for each gives the
round trip to Node that its constructor would be. The service modules that a hand-written app would import are imported.
"""

import json
import os
from pathlib import Path

from aws_cdk import App, Stack, aws_ec2, aws_fsx, aws_iam, aws_lambda, aws_logs, aws_s3, aws_stepfunctions
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk.cloudformation_include import CfnInclude
from aws_cdk.lambda_layer_awscli import AwsCliLayer

from hyperpod_constructs import assets

IMPORTED = (aws_ec2.CfnVPC, aws_fsx.CfnFileSystem, aws_iam.CfnRole, aws_lambda.CfnFunction)
ALSO = (aws_logs.CfnLogGroup, aws_s3.CfnBucket, aws_stepfunctions.CfnStateMachine)

app = App()
stack = Stack(app, "Bare")
# What any such app has to upload: two folders of its own, and the AWS CLI for the copy to the bucket.
s3_assets.Asset(stack, "Handlers", path=str(assets.handlers()))
s3_assets.Asset(stack, "Scripts", path=str(assets.lifecycle_assets()))
AwsCliLayer(stack, "AwsCli")
for path in map(Path, os.environ["BENCH_TEMPLATES"].split(os.pathsep)):
    template = CfnInclude(Stack(app, path.name.split(".")[0] + "Bare"), "Template", template_file=str(path))
    for name in json.loads(path.read_text())["Resources"]:
        template.get_resource(name)
app.synth()
