"""The command in this process, an account that answers as the test says, and files."""

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore import xform_name
from botocore.exceptions import ClientError
from botocore.loaders import create_loader
from botocore.model import ServiceModel
from botocore.paginate import Paginator, PaginatorModel
from botocore.validate import ParamValidator

from hyperpod_constructs.classic import classic_form
from hyperpod_constructs.cli import account
from hyperpod_constructs.cli.application import run
from tests.core.support import a_cluster, bindings_for

REGION = "us-east-1"
SUBNET, GROUP, VPC = "subnet-0123456789abcdef0", "sg-0123456789abcdef0", "vpc-0123456789abcdef0"
FILE_SYSTEM = "fs-0123456789abcdef0"


@dataclass(frozen=True)
class Answer:
    """What a command came to."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    def json(self) -> Any:
        return json.loads(self.out)


class Command:
    """``hyperpod-slurm`` in this process, without a terminal.

    Args:
        monkeypatch: undoes what is changed.
        capture: reads what is printed.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capture = monkeypatch, capture

    def __call__(self, *arguments: object) -> Answer:
        self._monkeypatch.setattr(sys, "argv", ["hyperpod-slurm", *map(str, arguments)])
        code = run()
        out, err = self._capture.readouterr()
        assert "Traceback" not in err
        return Answer(code, out, err)


@cache
def model_of(service: str) -> Any:
    return ServiceModel(create_loader().load_service_model(service, "service-2"), service)


@dataclass
class FakeClient:
    """Answers like boto3's client; requests and answers are held against botocore's model.

    Args:
        service: its name.
        answers: by operation: an answer, an exception to raise, or a function of the request.
    """

    service: str
    answers: dict[str, Any] = field(default_factory=dict)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        names = {xform_name(name): name for name in model_of(self.service).operation_names}
        self.meta = SimpleNamespace(
            method_to_api_mapping=names, region_name=REGION, service_model=model_of(self.service)
        )

    def __getattr__(self, method: str) -> Callable[..., dict[str, Any]]:
        names = self.__dict__.get("meta", SimpleNamespace(method_to_api_mapping={})).method_to_api_mapping
        if method not in names:
            raise AttributeError(method)
        return lambda **request: self._answer(names[method], request)

    def _answer(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        report = ParamValidator().validate(request, model_of(self.service).operation_model(operation).input_shape)
        assert not report.has_errors(), f"{operation}: {report.generate_report()}"
        self.calls.append((operation, request))
        answer = self.answers.get(operation, denied(operation))
        answer = answer(request) if callable(answer) else answer
        if isinstance(answer, Exception):
            raise answer
        known = model_of(self.service).operation_model(operation).output_shape.members
        assert set(answer) <= set(known), f"{operation} answers no {set(answer) - set(known)}"
        return dict(answer)

    def get_paginator(self, method: str) -> Any:
        config = PaginatorModel(create_loader().load_service_model(self.service, "paginators-1"))
        operation = self.meta.method_to_api_mapping[method]
        model = model_of(self.service).operation_model(operation)
        return Paginator(getattr(self, method), config.get_paginator(operation), model)


def client_error(code: str, message: str = "no", operation: str = "Operation", status: int = 400) -> ClientError:
    return ClientError(
        {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}, operation
    )


def denied(operation: str) -> ClientError:
    return client_error("AccessDeniedException", "User is not authorized", operation, 403)


@dataclass
class FakeAccount:
    """Clients by service name."""

    clients: dict[str, Any] = field(default_factory=dict)
    region: str = REGION
    profile: str | None = None

    def client(self, service: str) -> Any:
        if service not in self.clients:
            self.clients[service] = FakeClient(service)
        return self.clients[service]


def use_account(monkeypatch: pytest.MonkeyPatch, given: FakeAccount) -> FakeAccount:
    """Let every command meet this account."""

    def connect(profile: str | None, region: str | None) -> FakeAccount:
        given.profile, given.region = profile, region or given.region
        return given

    monkeypatch.setattr(account, "connect", connect)
    return given


def self_rule(group: str = GROUP) -> dict[str, Any]:
    return {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}


def healthy_answers() -> dict[str, dict[str, Any]]:
    """An account in which the documented cluster can be made."""
    trust = {"Statement": [{"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}}]}
    role = {"RoleName": "hyperpod-nodes", "Path": "/", "RoleId": "AROAEXAMPLEEXAMPLE12", "CreateDate": "2026-01-01"}
    arn = "arn:aws:iam::111122223333:role/hyperpod-nodes"
    policy = "AmazonSageMakerClusterInstanceRolePolicy"
    subnet = {"SubnetId": SUBNET, "VpcId": VPC, "AvailabilityZoneId": "use1-az4", "AvailabilityZone": "us-east-1a"}
    file_system = {
        "FileSystemId": FILE_SYSTEM,
        "FileSystemType": "LUSTRE",
        "FileSystemTypeVersion": "2.15",
        "Lifecycle": "AVAILABLE",
        "VpcId": VPC,
        "SubnetIds": [SUBNET],
        "DNSName": f"{FILE_SYSTEM}.fsx.us-east-1.amazonaws.com",
        "LustreConfiguration": {"MountName": "abcdefgh"},
    }
    keys = ["on_create.sh", "lifecycle_script.py", "provisioning_parameters.json"]
    return {
        "sts": {"GetCallerIdentity": {"Account": "111122223333", "Arn": "arn:aws:iam::111122223333:user/me"}},
        "ec2": {
            "DescribeSubnets": {"Subnets": [subnet | {"AvailableIpAddressCount": 4091, "MapPublicIpOnLaunch": False}]},
            "DescribeRouteTables": {
                "RouteTables": [{"Routes": [{"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": "nat-1"}]}]
            },
            "DescribeSecurityGroups": {
                "SecurityGroups": [
                    {
                        "GroupId": GROUP,
                        "VpcId": VPC,
                        "IpPermissions": [self_rule()],
                        "IpPermissionsEgress": [self_rule()],
                    }
                ]
            },
        },
        "fsx": {"DescribeFileSystems": {"FileSystems": [file_system]}},
        "iam": {
            "GetRole": {"Role": role | {"Arn": arn, "AssumeRolePolicyDocument": trust}},
            "ListAttachedRolePolicies": {
                "AttachedPolicies": [{"PolicyName": policy, "PolicyArn": f"arn:aws:iam::aws:policy/{policy}"}]
            },
        },
        "s3": {"ListObjectsV2": {"Contents": [{"Key": f"0123456789abcdef/{name}"} for name in keys]}},
    }


def account_of(answers: Mapping[str, dict[str, Any]]) -> FakeAccount:
    return FakeAccount({service: FakeClient(service, dict(given)) for service, given in answers.items()})


Pair = tuple[Any, Any]


def classic_pair() -> Pair:
    """The two files of the documented cluster."""
    form = classic_form(a_cluster(), bindings_for(a_cluster()))
    return json.loads(json.dumps(form.create_cluster)), json.loads(json.dumps(form.provisioning_parameters))


def write_pair(folder: Path, pair: Pair) -> list[str]:
    """The files in a folder; the options that name them."""
    options = []
    for option, name, content in zip(
        ("--cluster-config", "--provisioning-parameters"),
        ("create_cluster.json", "provisioning_parameters.json"),
        pair,
        strict=True,
    ):
        path = folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        options += [option, str(path)]
    return options
