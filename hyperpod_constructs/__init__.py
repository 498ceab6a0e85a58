"""AWS CDK constructs for Amazon SageMaker HyperPod clusters orchestrated by Slurm, with continuous provisioning."""

__version__ = "0.1.0"
