"""The client in the process is one of boto3's in everything that a caller can notice."""

import datetime
import json
import subprocess
import sys
from typing import Any

import botocore.model
import pytest
from botocore.exceptions import ClientError, ParamValidationError

from hyperpod_constructs.rehearsal.service import HyperPodService, LocalClient
from hyperpod_constructs.rehearsal.service.model import service_model
from tests.rehearsal.service.support import NAME, Bed, request


def test_errors_are_of_the_models_own_classes_and_name_the_operation(bed: Bed) -> None:
    with pytest.raises(bed.client.exceptions.ResourceNotFound) as caught:
        bed.describe()
    assert isinstance(caught.value, ClientError)
    assert caught.value.operation_name == "DescribeCluster"
    assert caught.value.response["Error"]["Code"] == "ResourceNotFound"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_an_error_that_the_model_does_not_know_is_a_plain_client_error(bed: Bed) -> None:
    bed.service.faults.add("*", "unavailable")
    with pytest.raises(ClientError) as caught:
        bed.describe()
    assert type(caught.value) is ClientError
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503


def test_times_are_datetimes_with_a_zone_and_nulls_are_left_out(up: Bed) -> None:
    created = up.describe()["CreationTime"]
    assert created == datetime.datetime.fromtimestamp(1_800_000_000, tz=datetime.UTC)
    event = up.client.list_cluster_events(ClusterName=NAME, ResourceType="Cluster")["Events"][0]
    assert "InstanceId" not in event


def test_an_answer_carries_its_metadata(bed: Bed) -> None:
    assert bed.client.list_clusters()["ResponseMetadata"]["HTTPStatusCode"] == 200


def test_a_method_that_boto3_lacks_is_no_attribute(bed: Bed) -> None:
    with pytest.raises(AttributeError, match="create_clusters"):
        bed.client.create_clusters()


def test_paginators_walk_through_all_pages(bed: Bed) -> None:
    for number in range(7):
        bed.create(ClusterName=f"c{number}")
    pages = bed.client.get_paginator("list_clusters").paginate(PaginationConfig={"PageSize": 3})
    assert [len(page["ClusterSummaries"]) for page in pages] == [3, 3, 1]


def test_a_time_without_a_zone_is_taken_as_utc(up: Bed) -> None:
    moment = datetime.datetime(2027, 1, 15, 8, 0, 0)  # noqa: DTZ001 - what a careless caller sends
    answer = up.client.list_cluster_events(ClusterName=NAME, EventTimeAfter=moment)
    assert answer["Events"]


def older_model(*missing: str) -> Any:
    """The model of an SDK that does not know some members of CreateCluster yet."""
    description = json.loads(json.dumps(service_model("sagemaker")._service_description))
    for name in missing:
        del description["shapes"]["CreateClusterRequest"]["members"][name]
    return botocore.model.ServiceModel(description, "sagemaker")


def test_an_older_sdk_refuses_what_it_does_not_know() -> None:
    client = LocalClient(HyperPodService(), older_model("NodeProvisioningMode"))
    with pytest.raises(ParamValidationError, match="NodeProvisioningMode"):
        client.create_cluster(**request())


def test_importing_the_service_does_not_load_the_cdk() -> None:
    code = "import sys, hyperpod_constructs.rehearsal.service; print('aws_cdk' in sys.modules, 'jsii' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "False"]


def test_the_names_that_others_rely_on_are_there() -> None:
    import hyperpod_constructs.rehearsal.service as service

    assert set(service.__all__) >= {
        "HyperPodService",
        "LocalClient",
        "ManualClock",
        "Launcher",
        "NodeRequest",
        "NodeReport",
    }
    assert all(hasattr(service, name) for name in service.__all__)
