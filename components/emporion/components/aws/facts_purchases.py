"""What of AWS is paid for by the hour or month, as neutral facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from emporion.components.aws.facts_common import common
from emporion.components.aws.facts_machines import GROUP, INSTANCE, public_ip, template_of
from emporion.market.fact_source import Payer
from emporion.market.fact_values import amount, either, first, of, quantity, times
from emporion.market.facts import MACHINE, Purchase
from emporion.market.resources import UNKNOWN, Others, Resource, Value, at

__all__ = ["PURCHASES"]

RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
EIP = "aws:ec2/eip:Eip"
INCLUDED_IOPS, INCLUDED_MBPS = Decimal(3000), Decimal(125)
"""Of a gp3 volume, in its price (data/chain.csv has the same)."""
LUSTRE = {("SCRATCH_2", None): "fsx_scratch2", ("PERSISTENT_2", 125): "fsx_persistent2_125"}
"""Deployment and MB/s per TiB -> the variant of the price book."""


def _machines(
    resource: Resource,
    others: Others,
    count: Value,
    spot: Value,
    *,
    ceiling: Value = None,
) -> Iterator[Purchase]:
    """Yield machines made from a resource with its template: they themselves, their disks, their addresses."""
    template = template_of(resource, others)
    layers = [resource.inputs] + ([template.inputs] if template is not None else [])
    mix = resource.get("mixedInstancesPolicy")
    kind = first(
        at(mix, "launchTemplate", "overrides", 0, "instanceType"), *(at(layer, "instanceType") for layer in layers)
    )
    foreign = template is None and (resource.get("launchTemplate") is not None or mix is not None)
    if not _is_reserved(layers):
        yield Purchase(
            **common(resource),
            item=MACHINE,
            variant=UNKNOWN if kind is None else kind,
            quantity=count,
            spot=UNKNOWN if foreign and kind is None else spot,
            max_usd_per_hour=ceiling,
        )
    blocks = [at(layer, "rootBlockDevice") for layer in layers]
    for layer in layers:
        blocks += [at(one, "ebs") for one in at(layer, "blockDeviceMappings") or []]
        blocks += list(at(layer, "ebsBlockDevices") or [])
    found = [block for block in blocks if block is not None]
    for block in found or [None]:  # without one it is as large as its image says
        yield from _disk(resource, block, count, says="disk", size="volumeSize", kind="volumeType")
    if public_ip(resource, others) is True:
        yield _one(resource, "network", "ipv4_hour", "any_public_ipv4", count, says="public address")


def _is_reserved(layers: list[Mapping[str, Value]]) -> bool:
    """Return whether the machine runs in a reservation, which is paid for whether it runs or not."""
    path = ("capacityReservationSpecification", "capacityReservationTarget", "capacityReservationId")
    return any(at(layer, *path) is not None for layer in layers)


def _one(resource: Resource, part: str, item: str, variant: Value, count: Value, *, says: str = "") -> Purchase:
    return Purchase(**common(resource), part=part, item=item, variant=variant, quantity=count, says=says)


def _beyond(asked: Value, included: Decimal) -> Value:
    return of(asked, lambda value: max(Decimal(str(value)) - included, Decimal(0)))


def _disk(resource: Resource, block: Value, count: Value, *, says: str, size: str, kind: str) -> Iterator[Purchase]:
    variant = either(at(block, kind), "gp2")
    yield _one(resource, "storage", "block_disk_gb_month", variant, times(count, quantity(at(block, size))), says=says)
    for name, item, included in (
        ("iops", "block_disk_iops_month", INCLUDED_IOPS),
        ("throughput", "block_disk_mbps_month", INCLUDED_MBPS),
    ):
        asked = at(block, name)
        if asked is not None and variant in {"gp3", "io1", "io2"}:
            extra = _beyond(asked, included) if variant == "gp3" else asked
            yield _one(resource, "storage", item, variant, times(count, quantity(extra)), says=f"{says} {name}".strip())


def _instance(resource: Resource, others: Others) -> Iterator[Purchase]:
    template = template_of(resource, others)
    options = first(resource.get("instanceMarketOptions"), template.get("instanceMarketOptions") if template else None)
    spot = UNKNOWN if options is UNKNOWN else at(options, "marketType") == "spot"
    ceiling = amount(at(options, "spotOptions", "maxPrice"))
    yield from _machines(resource, others, Decimal(1), spot, ceiling=ceiling)


def _request(resource: Resource, others: Others) -> Iterator[Purchase]:
    yield from _machines(resource, others, Decimal(1), True, ceiling=amount(resource.get("spotPrice")))  # noqa: FBT003


def _group(resource: Resource, others: Others) -> Iterator[Purchase]:
    """Yield what a group runs when nothing is lost: its desired size, of a mix the on-demand base apart."""
    size = first(resource.get("desiredCapacity"), resource.get("minSize"))
    count = UNKNOWN if size in (None, UNKNOWN) else Decimal(str(size))
    mix = resource.get("mixedInstancesPolicy")
    if mix is None:
        template = template_of(resource, others)
        options = template.get("instanceMarketOptions") if template is not None else UNKNOWN
        spot = UNKNOWN if options is UNKNOWN else at(options, "marketType") == "spot"
        ceiling = amount(at(options, "spotOptions", "maxPrice"))
        yield from _machines(resource, others, count, spot, ceiling=ceiling)
        return
    spread = at(mix, "instancesDistribution")
    base = either(at(spread, "onDemandBaseCapacity"), 0)
    percent = either(at(spread, "onDemandPercentageAboveBaseCapacity"), 100)
    if UNKNOWN in (count, base, percent):
        yield from _machines(resource, others, UNKNOWN, UNKNOWN)
        return
    first_ones = min(count, Decimal(str(base)))
    # EC2 rounds the share above the base up to whole on-demand machines.
    above = -((first_ones - count) * Decimal(str(percent)) // 100)
    regular = first_ones + above
    if regular:
        yield from _machines(resource, others, regular, False)  # noqa: FBT003
    if count > regular:
        ceiling = amount(None if at(spread, "spotMaxPrice") == "" else at(spread, "spotMaxPrice"))
        yield from _machines(resource, others, count - regular, True, ceiling=ceiling)  # noqa: FBT003


def _reservation(resource: Resource, _others: Others) -> Iterator[Purchase]:
    yield Purchase(
        **common(resource),
        item=MACHINE,
        variant=resource.get("instanceType"),
        quantity=of(resource.get("instanceCount"), lambda count: Decimal(str(count))),
        spot=False,
        max_usd_per_hour=None,
    )


def _volume(resource: Resource, _others: Others) -> Iterator[Purchase]:
    yield from _disk(resource, resource.inputs, Decimal(1), says="", size="size", kind="type")


def _nat(resource: Resource, _others: Others) -> Iterator[Purchase]:
    yield _one(resource, "network", "nat_hour", "nat_gateway", Decimal(1))
    yield _one(resource, "network", "nat_gb", "nat_gateway", UNKNOWN, says="data")


def _address(resource: Resource, _others: Others) -> Iterator[Purchase]:
    yield _one(resource, "network", "ipv4_hour", "any_public_ipv4", Decimal(1))


def _balancer(resource: Resource, _others: Others) -> Iterator[Purchase]:
    yield _one(
        resource, "network", "load_balancer_hour", either(resource.get("loadBalancerType"), "application"), Decimal(1)
    )


def _endpoint(resource: Resource, _others: Others) -> Iterator[Purchase]:
    """Yield an interface endpoint: it is paid for in each zone. One of a gateway is free."""
    if resource.get("vpcEndpointType") == "Interface":
        zones = resource.get("subnetIds")
        count = UNKNOWN if zones is UNKNOWN else Decimal(len(zones or [None]))
        yield _one(resource, "network", "vpc_endpoint_hour", "interface", count)
        yield _one(resource, "network", "vpc_endpoint_gb", "interface_first_1pb", UNKNOWN, says="data")


def _bucket(resource: Resource, _others: Others) -> Iterator[Purchase]:
    yield _one(resource, "storage", "object_gb_month", "hot", UNKNOWN, says="content")


def _lustre(resource: Resource, _others: Others) -> Iterator[Purchase]:
    deployment, speed = resource.get("deploymentType"), resource.get("perUnitStorageThroughput")
    variant = UNKNOWN if UNKNOWN in (deployment, speed) else LUSTRE.get((deployment, speed), f"{deployment} {speed}")
    gib = resource.get("storageCapacity")
    gb = of(gib, lambda size: Decimal(str(size)) * (1 << 30) / 10**9) if gib is not None else UNKNOWN
    yield _one(resource, "storage", "lustre_gb_month", variant, gb)


PURCHASES: Mapping[str, Payer] = {
    INSTANCE: _instance,
    GROUP: _group,
    "aws:ec2/spotInstanceRequest:SpotInstanceRequest": _request,
    RESERVATION: _reservation,
    "aws:ebs/volume:Volume": _volume,
    "aws:ec2/natGateway:NatGateway": _nat,
    EIP: _address,
    "aws:lb/loadBalancer:LoadBalancer": _balancer,
    "aws:ec2/vpcEndpoint:VpcEndpoint": _endpoint,
    "aws:s3/bucket:Bucket": _bucket,
    "aws:s3/bucketV2:BucketV2": _bucket,
    "aws:fsx/lustreFileSystem:LustreFileSystem": _lustre,
}
