"""The program: configuration in, exports out, and never the wrong world."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pulumi
import pulumi_aws as aws
import pytest
from placements import LOCAL, PLACEMENT, ZONES, build, with_pool

import emporion.components as package
from emporion.components.cluster import GpuCluster, cloud_component
from emporion.components.pinned import read_placement
from emporion.components.world import check_account, check_world
from emporion.market.errors import UserError

REAL = "123456789012"


def test_fields_are_exported_one_by_one_and_only_addresses_of_nodes_are_secret() -> None:
    built = build()
    assert built.secret == {"node_addresses"}
    assert set(built.exports) == {"world", "name", *GpuCluster.__annotations__}
    assert built.exports["cluster_address"] == "10.0.0.10"
    assert built.exports["node_count"] == 2
    assert built.exports["usd_per_hour"] == "15.1508"
    assert built.exports["fabric"] == "efa"
    assert built.exports["world"] == "local"


def test_a_stack_without_a_pin_says_how_to_make_one() -> None:
    with pytest.raises(pulumi.RunError) as caught:
        build(None, stack="prod")
    assert str(caught.value) == (
        "stack prod has no pinned placement  [E-PIN]\n"
        "  --> Pulumi.prod.yaml  emporion:placement\n"
        "  try: emporion plan INTENT --pin prod"
    )


def test_what_aws_would_refuse_ends_the_program_with_the_sentence_and_registers_nothing() -> None:
    with pytest.raises(pulumi.RunError, match="'8' is not the id of a capacity reservation"):
        build(with_pool(reservation="8"))


@pytest.mark.parametrize(
    ("world", "account", "what"),
    [
        pytest.param(
            "local", REAL, "the credentials lead to the real account 123456789012", id="local stack, real account"
        ),
        pytest.param("real", LOCAL, "the answer came from the local cloud", id="real stack, local cloud"),
        pytest.param("moon", LOCAL, "world 'moon' is neither local nor real", id="no such world"),
    ],
)
def test_a_stack_never_reaches_the_other_world(world: str, account: str, what: str) -> None:
    with pytest.raises(pulumi.RunError, match=what):
        build(PLACEMENT, world=world, account=account)


def test_a_stack_that_nobody_gave_a_world_is_local() -> None:
    assert build().exports["world"] == "local"
    provider = next(item for item in build().resources if item.typ == "pulumi:providers:aws")
    assert provider.inputs["allowedAccountIds"] == f'["{LOCAL}"]'
    assert provider.inputs["region"] == "us-east-1"


def test_a_real_stack_forbids_the_account_of_the_local_cloud() -> None:
    built = build(world="real", account=REAL)
    provider = next(item for item in built.resources if item.typ == "pulumi:providers:aws")
    assert provider.inputs["forbiddenAccountIds"] == f'["{LOCAL}"]'
    assert "allowedAccountIds" not in provider.inputs


@pytest.mark.parametrize("zones", [{}, {"use1-az6": "us-east-1d"}])
def test_a_zone_that_the_account_lacks_is_an_error_and_never_a_guess(zones: dict[str, str]) -> None:
    with pytest.raises(pulumi.RunError, match=r"this account has no zone use1-az2 in us-east-1"):
        build(zones=zones)


def test_the_map_of_zones_is_the_accounts_own() -> None:
    other = {**ZONES, "use1-az2": "us-east-1f"}
    assert {item["availabilityZone"] for item in build(zones=other).of("Subnet")} == {"us-east-1f"}


def test_another_generation_makes_other_names() -> None:
    assert build(generation="1").one("Bucket")["bucket"] != build().one("Bucket")["bucket"]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        pytest.param({}, "has schema None", id="empty"),
        pytest.param("x", "has schema 'str'", id="text"),
        pytest.param({**PLACEMENT.to_json(), "schema": "emporion.placement/9"}, "emporion.placement/9", id="newer"),
        pytest.param({**PLACEMENT.to_json(), "pools": []}, "has no node pool", id="no pool"),
        pytest.param({**PLACEMENT.to_json(), "usd_per_hour": "cheap"}, "cannot be read", id="money"),
    ],
)
def test_a_placement_that_cannot_be_read_is_one_sentence(data: object, what: str) -> None:
    with pytest.raises(UserError, match=what) as caught:
        read_placement(data, where="Pulumi.dev.yaml")
    assert caught.value.code == "E-PIN"


def test_whole_numbers_may_arrive_as_doubles() -> None:
    def doubled(value: object) -> object:
        if isinstance(value, dict):
            return {key: doubled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [doubled(item) for item in value]
        return float(value) if type(value) is int else value

    read = read_placement(doubled(PLACEMENT.to_json()))
    assert read == PLACEMENT
    assert type(read.pools[0].count) is int


def test_a_placement_that_is_an_output_is_refused_by_name() -> None:
    output: pulumi.Output[object] = object.__new__(pulumi.Output)
    with pytest.raises(UserError, match="the placement of a GpuCluster is the output of another resource"):
        read_placement(output)


def test_a_provider_without_a_component_is_told_with_a_suggestion() -> None:
    with pytest.raises(UserError, match="no component for awz: clusters can be made on aws") as caught:
        cloud_component("awz")
    assert caught.value.fix == "did you mean aws?"


def test_the_guards_pass_what_is_right() -> None:
    assert check_world("real") == "real"
    check_account(LOCAL, LOCAL, "local")
    check_account(REAL, LOCAL, "real")


def test_planning_reads_the_cloud_without_pulumi() -> None:
    script = (
        "import sys\n"
        "from emporion.market.clouds import installed_clouds\n"
        "assert installed_clouds()['aws'].default_region == 'us-east-1'\n"
        "import emporion.components\n"
        "loaded = {'pulumi', 'pulumi_aws', 'grpc', 'boto3', 'botocore', 'jinja2'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(aws.__file__).parent)


def test_a_components_class_comes_from_the_package_itself() -> None:
    assert package.GpuCluster is GpuCluster
    with pytest.raises(AttributeError, match="has no attribute 'Cluster'"):
        package.Cluster  # noqa: B018
