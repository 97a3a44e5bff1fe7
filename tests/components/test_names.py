"""Names, tags and the paths of ignore_changes."""

from __future__ import annotations

import pulumi
import pulumi_aws as aws
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emporion.components.names import Names, ignored_paths, logical_name
from emporion.market.clouds import identity
from emporion.market.errors import UserError

NAMES = Names("shop", "Dev_1", 0, ("emporion:index:GpuCluster", "emporion:index:AwsCluster"), (("team", "ml"),))


def test_the_urn_is_the_engines() -> None:
    assert NAMES.urn("aws:ec2/vpc:Vpc", "cluster-vpc") == (
        "urn:pulumi:Dev_1::shop::emporion:index:GpuCluster$emporion:index:AwsCluster$aws:ec2/vpc:Vpc::cluster-vpc"
    )


def test_the_id_is_the_identity_of_that_urn() -> None:
    urn = NAMES.urn("aws:ec2/vpc:Vpc", "cluster-vpc")
    assert NAMES.id(aws.ec2.Vpc, "cluster-vpc") == identity("shop", "Dev_1", urn, 0)


def test_another_generation_is_another_id() -> None:
    second = Names("shop", "Dev_1", 1, NAMES.parents)
    assert second.id(aws.ec2.Vpc, "cluster-vpc") != NAMES.id(aws.ec2.Vpc, "cluster-vpc")


@given(stack=st.from_regex(r"[A-Za-z0-9_.-]{1,100}", fullmatch=True), limit=st.sampled_from([63, 64, 80, 128, 255]))
def test_a_physical_name_keeps_its_id_and_its_limit(stack: str, limit: int) -> None:
    names = Names("shop", stack)
    name = names.physical(aws.s3.Bucket, "store", limit)
    assert len(name) <= limit
    assert name.endswith(names.id(aws.s3.Bucket, "store"))
    assert name.startswith("emporion-")
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert "--" not in name.removeprefix("emporion-")[:1]


def test_tags_say_what_it_is_and_the_intents_own_do_not_replace_ours() -> None:
    names = Names("shop", "dev", extra=(("team", "ml"), ("emporion-id", "mine"), ("Name", "mine")))
    assert names.tags(aws.ec2.Instance, "cluster-gpu-0-0", "gpu-0") == {
        "team": "ml",
        "Name": "dev-cluster-gpu-0-0",
        "emporion-id": names.id(aws.ec2.Instance, "cluster-gpu-0-0"),
        "emporion-stack": "shop/dev",
        "emporion-pool": "gpu-0",
    }


@pytest.mark.parametrize(
    "name", ["", "-x", "a b", "a" * 101, "Calling __str__ on an Output[T] is not supported", 7, None]
)
def test_what_is_no_plain_name_is_refused(name: object) -> None:
    with pytest.raises(UserError, match="cannot be the name of a component") as caught:
        logical_name(name)
    assert caught.value.code == "E-NAME"


def test_an_output_is_refused_as_a_name() -> None:
    # Made without a loop of its own, as a program that puts one into a name would.
    output: pulumi.Output[str] = object.__new__(pulumi.Output)
    with pytest.raises(UserError, match="an output cannot be the name"):
        logical_name(output)


@pytest.mark.parametrize(
    ("resource", "path", "spelled"),
    [
        pytest.param(
            aws.ec2.Instance, "root_block_device.volume_size", "rootBlockDevice.volumeSize", id="nested snake"
        ),
        pytest.param(aws.ec2.Instance, "rootBlockDevice.volumeSize", "rootBlockDevice.volumeSize", id="nested camel"),
        pytest.param(aws.ec2.Instance, "user_data", "userData", id="top level"),
        pytest.param(aws.ec2.Instance, "tags", "tags", id="one word"),
        pytest.param(
            aws.ec2.LaunchTemplate,
            "network_interfaces[0].network_card_index",
            "networkInterfaces[0].networkCardIndex",
            id="through a list",
        ),
        pytest.param(
            aws.ec2.LaunchTemplate, "block_device_mappings[*].ebs.iops", "blockDeviceMappings[*].ebs.iops", id="deep"
        ),
    ],
)
def test_an_ignored_path_is_spelled_as_the_engine_heeds_it(resource: type, path: str, spelled: str) -> None:
    assert ignored_paths(resource, path) == [spelled]


@pytest.mark.parametrize("path", ["root_block_device.volume_sise", "rootdevice", "tags.deep.deeper", "a b", ""])
def test_an_ignored_path_that_the_schema_does_not_have_is_refused(path: str) -> None:
    with pytest.raises(UserError, match="has no property") as caught:
        ignored_paths(aws.ec2.Instance, path)
    assert caught.value.code == "E-PATH"
