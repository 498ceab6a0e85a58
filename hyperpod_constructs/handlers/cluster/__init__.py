"""The provider of ``Custom::HyperPodCluster``.

In Lambda this package is called ``cluster``, in tests ``hyperpod_constructs.handlers.cluster``; imports inside are
relative so that the same lines work in both. It knows nothing of the constructs and nothing of the AWS CDK.

Read in this order: ``index`` (the two entry points), ``events`` (what CloudFormation asks), ``plan`` (what is to be
called, pure), ``waiting`` (whether it is done, pure), ``operations`` (the thin shell that observes and applies).
"""
