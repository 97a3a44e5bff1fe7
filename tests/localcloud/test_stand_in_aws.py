"""The aws rules name only what the installed SDK and service models have."""

from __future__ import annotations

from typing import Any

import pytest

from emporion.components.aws.errors import ERRORS
from emporion.components.aws.stand_in import STAND_IN
from emporion.localcloud.plugin.schema import Schemas
from emporion.market.stand_in import EnumSource

TYPES = sorted(STAND_IN.types)
MACHINE_OUTPUTS = {
    "arn", "instanceLifecycle", "instanceState", "primaryNetworkInterfaceId", "privateDns", "publicDns", "publicIp",
}  # fmt: skip
"""Of `StandIn.machine_outputs`; another test looks at their values."""


def leaf(schema: dict[str, Any], path: str) -> Any:
    """Return the type at a dotted input path, or None."""
    fields, kind = schema["inputs"], None
    for step in path.split("."):
        if step not in fields:
            return None
        kind = fields[step][0]
        while isinstance(kind, dict) and "list" in kind:
            kind = kind["list"]
        fields = schema["objects"][kind["obj"]] if isinstance(kind, dict) and "obj" in kind else {}
    return kind


@pytest.mark.parametrize("token", TYPES)
def test_every_type_of_the_table_is_a_type_of_the_sdk(schemas: Schemas, token: str) -> None:
    assert schemas.resource(token) is not None


@pytest.mark.parametrize("token", TYPES)
def test_inputs_that_the_rules_name_are_inputs(schemas: Schemas, token: str) -> None:
    rule, schema = STAND_IN.types[token], schemas.resource(token)
    assert schema
    named = [*rule.replace, *rule.replace_if, *rule.enums, *rule.unique, *rule.on_update_unless, *rule.defaults]
    named += [reference.path for reference in rule.references]
    named += [name for name in (rule.named, rule.prefix) if name]
    assert [path for path in named if leaf(schema, path) is None and path != "tagsAll"] == []


@pytest.mark.parametrize("token", TYPES)
def test_outputs_that_the_rules_compute_are_outputs(schemas: Schemas, token: str) -> None:
    rule, schema = STAND_IN.types[token], schemas.resource(token)
    assert schema
    assert [name for name in [*rule.outputs, *rule.on_update, *rule.fills] if name not in schema["outputs"]] == []


BLANK: dict[str, set[str]] = {
    "aws:autoscaling/group:Group": {"predictedCapacity", "warmPoolSize"},
    "aws:ec2/eip:Eip": {"associationId", "carrierIp", "customerOwnedIp", "privateDns", "privateIp", "ptrRecord"},
    "aws:ec2/instance:Instance": {"outpostArn", "passwordData", "spotInstanceRequestId"},
    "aws:ec2/natGateway:NatGateway": {
        "autoProvisionZones", "autoScalingIps", "regionalNatGatewayAutoMode", "routeTableId",
    },
    "aws:ec2/networkInterface:NetworkInterface": {"macAddress", "outpostArn", "privateDnsName"},
    "aws:ec2/route:Route": {"instanceId", "instanceOwnerId"},
    "aws:ec2/subnet:Subnet": {"ipv6CidrBlockAssociationId"},
    "aws:ec2/vpc:Vpc": {"ipv6AssociationId"},
    "aws:ec2/vpcEndpoint:VpcEndpoint": {"requesterManaged"},
    "aws:s3/bucket:Bucket": {"websiteDomain", "websiteEndpoint"},
    "aws:s3/bucketObjectv2:BucketObjectv2": {
        "checksumCrc32", "checksumCrc32c", "checksumCrc64nvme", "checksumSha1", "checksumSha256",
    },
    "aws:ssm/parameter:Parameter": {"hasValueWo"},
}  # fmt: skip
"""Outputs that stay empty here: nothing of ours reads them."""


@pytest.mark.parametrize("token", [token for token in TYPES if "capacityBlock" not in token])
def test_every_other_output_that_is_always_there_is_computed(schemas: Schemas, token: str) -> None:
    rule, schema = STAND_IN.types[token], schemas.resource(token)
    assert schema
    known = {*rule.outputs, *rule.fills, *rule.defaults, *schema["inputs"], "tagsAll", "region", "namePrefix"}
    known |= MACHINE_OUTPUTS if rule.kind == "machine" else set()
    scalars = {name for name, (always, kind) in schema["outputs"].items() if always and kind in ("str", "int", "bool")}
    assert scalars - known == BLANK.get(token, set())


@pytest.mark.parametrize("token", TYPES)
def test_others_that_the_rules_name_are_in_the_table_too(schemas: Schemas, token: str) -> None:
    rule = STAND_IN.types[token]
    for user in rule.in_use:
        schema = schemas.resource(user.token)
        assert schema
        assert user.path in schema["inputs"] or user.path in schema["outputs"], user
    for other, path in rule.gone_with:
        schema = schemas.resource(other)
        assert schema
        assert path in schema["inputs"], (other, path)
    for reference in rule.references:
        for other in reference.tokens:
            assert schemas.resource(other), other


@pytest.mark.parametrize(
    ("token", "path"), [(token, path) for token in TYPES for path in sorted(STAND_IN.types[token].enums)]
)
def test_every_enum_is_in_the_service_model(schemas: Schemas, token: str, path: str) -> None:
    source = STAND_IN.types[token].enums[path]
    values = schemas.enum(source)
    assert values
    assert isinstance(source, EnumSource) or values == list(source)


def test_instance_types_of_the_table_are_in_the_service_model(schemas: Schemas) -> None:
    values = schemas.enum(EnumSource("ec2", "InstanceType"))
    assert values
    assert {"p4d.24xlarge", "p5.48xlarge", "p6-b200.48xlarge"} <= set(values)


@pytest.mark.parametrize("region", STAND_IN.regions)
def test_zone_names_do_not_follow_the_ids(region: str) -> None:
    zones = STAND_IN.zones(region)
    assert len(set(zones.values())) == len(zones)
    first = min(zone for zone in zones if "-az" in zone)
    assert zones[first] != f"{region}a"


def test_a_region_that_aws_does_not_have_has_no_zones() -> None:
    assert STAND_IN.zones("mars-north-1") == {}


def test_every_code_that_the_stand_in_answers_for_want_of_machines_is_known_to_the_error_table() -> None:
    told = {name: refusal.code for name, refusal in STAND_IN.refusals.items() if name != "not_found"}
    assert set(told.values()) <= set(ERRORS)
