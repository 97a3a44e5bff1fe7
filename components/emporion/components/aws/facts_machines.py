"""EC2 machines, their templates and groups as neutral facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from emporion.components.aws.facts_common import common
from emporion.components.aws.instance_types import instance_types
from emporion.market.fact_source import Reader
from emporion.market.fact_values import amount, either, first, of, secrets_in_script, text, truth, whole
from emporion.market.facts import Disk, Fact, Node, Spot
from emporion.market.resources import UNKNOWN, Others, Resource, Value, at

__all__ = ["GROUP", "INSTANCE", "INTERFACE", "MACHINES", "TEMPLATE", "gpus", "is_fast", "public_ip", "template_of"]

INSTANCE = "aws:ec2/instance:Instance"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INTERFACE = "aws:ec2/networkInterface:NetworkInterface"
GROUP = "aws:autoscaling/group:Group"
SUBNET = "aws:ec2/subnet:Subnet"
GPU_FAMILIES = ("g", "p")
"""First letters of the families with GPUs (docs.aws.amazon.com/ec2/latest/instancetypes, naming)."""
CHECKPOINT_TAG = "emporion:checkpoint"
TTL_TAG = "emporion:ttl"
OVERRIDES = (
    "associatePublicIpAddress", "iamInstanceProfile", "instanceMarketOptions", "instanceType", "metadataOptions",
    "networkInterfaces", "subnetId", "tenancy", "userData", "userDataBase64",
)  # fmt: skip
"""What an instance may say otherwise than its template."""
DEFAULT_HOPS = 1
"""Of the metadata service, when nothing is set (EC2 API, InstanceMetadataOptionsRequest)."""


def gpus(instance_type: Value) -> Value:
    """Return the GPUs of one machine of a type."""
    if not isinstance(instance_type, str):
        return UNKNOWN
    row = instance_types().get(instance_type)
    if row is not None:
        return row.gpus
    return UNKNOWN if instance_type.startswith(GPU_FAMILIES) else 0


def is_fast(interface_type: object) -> Value:
    """Return whether an interface is an EFA one."""
    return UNKNOWN if interface_type is UNKNOWN else str(interface_type or "").startswith("efa")


def template_of(resource: Resource, others: Others | None) -> Resource | None:
    """Return the launch template in the stack from which a machine or group is made."""
    name = "mixedInstancesPolicy" if resource.get("mixedInstancesPolicy") is not None else "launchTemplate"
    if others is None:
        return None
    return next(iter(others.behind(resource, name, TEMPLATE)), None)


class Launch:
    """What one machine is launched with: its own settings, and below them its template's."""

    def __init__(self, resource: Resource, others: Others | None) -> None:
        self.resource = resource
        self.others = others
        self.template = template_of(resource, others)
        self._foreign = resource.get("launchTemplate") is not None and self.template is None

    def get(self, *path: str) -> Value:
        """Return a setting; unknown when a template decides that is not in the stack (or not looked at yet)."""
        own = self.resource.get(*path)
        if own is None and self.template is not None:
            return self.template.get(*path)
        return UNKNOWN if own is None and self._foreign else own

    def is_set(self, name: str) -> Value:
        """Return whether something is set, though its value may not be known before it is made."""
        own = self.resource.get(name)
        if own is None and self.template is not None:
            own = self.template.get(name)
        return UNKNOWN if own is None and self._foreign else own is not None

    def interfaces(self) -> Sequence[Value]:
        """Return the interfaces that it is launched with."""
        if self.template is not None and not self.resource.each("networkInterfaces"):
            return self.template.each("networkInterfaces")
        return (UNKNOWN,) if self._foreign else self.resource.each("networkInterfaces")


def _instance(resource: Resource, others: Others | None) -> Iterator[Fact]:
    launch = Launch(resource, others)
    # One that changes nothing of its template is judged with it, not once more for each machine.
    if launch.template is None or any(resource.get(name) is not None for name in OVERRIDES):
        yield _node(launch)
    if launch.template is None:
        yield from _disks(resource, launch)
    yield from _spot(resource, count=1)


def _template(resource: Resource, others: Others | None) -> Iterator[Fact]:
    launch = Launch(resource, others)
    yield _node(launch)
    yield from _disks(resource, launch)
    yield from _spot(resource, count=_launched(resource, others))


def _node(launch: Launch) -> Node:
    resource = launch.resource
    kind = text(launch.get("instanceType"))
    interfaces = launch.interfaces()
    fast = [UNKNOWN if one is UNKNOWN else is_fast(one.get("interfaceType")) for one in interfaces]
    tags = common(resource)["tags"]
    return Node(
        **common(resource),
        instance_type=kind,
        gpus=gpus(kind),
        public_ip=_public_ip(launch, interfaces),
        session_tokens=of(launch.get("metadataOptions", "httpTokens"), lambda value: value == "required")
        if launch.get("metadataOptions", "httpEndpoint") != "disabled"
        else True,
        metadata_hops=either(whole(launch.get("metadataOptions", "httpPutResponseHopLimit")), DEFAULT_HOPS),
        secrets=secrets_in_script(launch.get("userData"), launch.get("userDataBase64")),
        fast_network=True if True in fast else UNKNOWN if UNKNOWN in fast else _interfaces_apart(launch),
        placed_together=_placed(launch),
        role=launch.is_set("iamInstanceProfile"),
        broad_role=False,  # EC2 has no identity of its own for machines
        image=text(first(launch.get("ami"), launch.get("imageId"))),
        secure_boot=UNKNOWN,  # the image decides it
        dedicated=of(first(launch.get("tenancy"), launch.get("placement", "tenancy")), _is_dedicated),
        ends=tags
        if tags is UNKNOWN
        else TTL_TAG in tags or launch.get("instanceMarketOptions", "spotOptions", "validUntil") is not None,
    )


def _is_dedicated(tenancy: object) -> bool:
    return tenancy in {"dedicated", "host"}


def _interfaces_apart(launch: Launch) -> Value:
    """Return whether an interface that is a resource of its own makes the machine fast."""
    if launch.others is None:
        return UNKNOWN if launch.resource.references else False
    apart = launch.others.behind(launch.resource, "networkInterfaces", INTERFACE)
    return any(is_fast(one.get("interfaceType")) is True for one in apart)


def _placed(launch: Launch) -> Value:
    group = first(launch.get("placementGroup"), launch.get("placement", "groupName"))
    # A name that is not known yet is a name all the same.
    return True if group is UNKNOWN and launch.resource.references else of(group, bool)


def public_ip(resource: Resource, others: Others | None) -> Value:
    """Return whether a machine, or each one made from a template, gets a public address."""
    launch = Launch(resource, others)
    return _public_ip(launch, launch.interfaces())


def _public_ip(launch: Launch, interfaces: Sequence[Value]) -> Value:
    """Return whether it gets a public address: as it says itself, else as its subnet does."""
    said = [launch.get("associatePublicIpAddress")]
    said += [UNKNOWN if one is UNKNOWN else one.get("associatePublicIpAddress") for one in interfaces]
    known = [truth(one) for one in said if one is not None and one is not UNKNOWN]
    if True in known:
        return True
    if UNKNOWN in said:
        return UNKNOWN
    if known and len(interfaces) <= 1:
        return False
    return _by_subnet(launch, interfaces)


def _by_subnet(launch: Launch, interfaces: Sequence[Value]) -> Value:
    if launch.others is None:
        return UNKNOWN
    holders = [
        (launch.resource, "subnetId"),
        (launch.resource, "networkInterfaces"),
        (launch.resource, "vpcZoneIdentifiers"),
    ]
    if launch.template is not None:
        holders.append((launch.template, "networkInterfaces"))
    subnets = [one for holder, name in holders for one in launch.others.behind(holder, name, SUBNET)]
    if len(interfaces) > 1 and subnets:  # EC2 gives several interfaces no address of itself
        return False
    if not subnets:
        # A template without a subnet is launched by others, who name it; a machine without one lands in the default
        # network, whose subnets give addresses (docs.aws.amazon.com/vpc/latest/userguide/default-vpc.html).
        return UNKNOWN
    return any(truth(one.get("mapPublicIpOnLaunch")) is True for one in subnets)


def _disks(resource: Resource, launch: Launch) -> Iterator[Disk]:
    root = resource.get("rootBlockDevice")
    blocks = [("root", root)] if root is not None or resource.type == INSTANCE else []
    blocks += [(str(at(one, "deviceName")), one) for one in resource.each("ebsBlockDevices")]
    for one in resource.each("blockDeviceMappings"):
        if one is UNKNOWN or at(one, "ebs") is not None:
            blocks.append(("?" if one is UNKNOWN else str(one.get("deviceName")), at(one, "ebs")))
    if resource.type == TEMPLATE and not blocks:
        blocks = [("root", None)]
    for device, block in blocks:
        encrypted = (
            UNKNOWN if block is None and launch.resource.get("launchTemplate") else truth(at(block, "encrypted"))
        )
        key = at(block, "kmsKeyId")
        yield Disk(
            **common(resource),
            device=device,
            encrypted=of(encrypted, bool),
            own_key=UNKNOWN if block is UNKNOWN else key is not None,
        )


def _launched(template: Resource, others: Others | None) -> Value:
    """Return the most machines that are made from a template in its stack."""
    if others is None:
        return UNKNOWN
    count: int = len(others.of(template, INSTANCE, "launchTemplate"))
    for property_name in ("launchTemplate", "mixedInstancesPolicy"):
        for group in others.of(template, GROUP, property_name):
            most = whole(group.get("maxSize"))
            if most is UNKNOWN:
                return UNKNOWN
            count += int(most or 0)
    return count


def _spot(resource: Resource, *, count: Value) -> Iterator[Spot]:
    options = resource.get("instanceMarketOptions")
    if options is UNKNOWN or at(options, "marketType") in (UNKNOWN, "spot"):
        spot = at(options, "spotOptions")
        kind = at(spot, "spotInstanceType")
        ended = at(spot, "validUntil")
        yield Spot(
            **common(resource),
            renews=of(kind, lambda value: _persistent(value, ended)),
            falls_back=None,  # one market never becomes another; a mix is told by its group
            max_usd_per_hour=amount(at(spot, "maxPrice")),
            interruption=at(spot, "instanceInterruptionBehavior"),
            instance_type=text(resource.get("instanceType")),
            count=count,
            checkpoint=_checkpoint(resource),
        )


def _persistent(kind: object, ends: object) -> str | None:
    if kind != "persistent":
        return None
    return "a persistent spot request" + ("" if ends is None else " (until it expires)")


def _spot_request(resource: Resource, _others: Others | None) -> Iterator[Fact]:
    kind = either(resource.get("spotType"), "persistent")  # the API's own default for this resource
    yield Spot(
        **common(resource),
        renews=of(kind, lambda value: _persistent(value, resource.get("validUntil"))),
        falls_back=None,
        max_usd_per_hour=amount(resource.get("spotPrice")),
        interruption=resource.get("instanceInterruptionBehavior"),
        instance_type=resource.get("instanceType"),
        count=1,
        checkpoint=_checkpoint(resource),
    )
    launch = Launch(resource, None)
    yield _node(launch)
    yield from _disks(resource, launch)


def _group(resource: Resource, others: Others | None) -> Iterator[Fact]:
    """Yield what a group does with spot: it replaces lost machines by itself, and a mix falls back too."""
    template = template_of(resource, others)
    mix = resource.get("mixedInstancesPolicy")
    spread = at(mix, "instancesDistribution")
    percent = either(whole(at(spread, "onDemandPercentageAboveBaseCapacity")), 100) if mix is not None else None
    from_template = at(template.inputs, "instanceMarketOptions", "marketType") if template is not None else None
    if others is None and template is None and mix is None:
        return  # the template tells the market
    base = either(whole(at(spread, "onDemandBaseCapacity")), 0)
    if percent == 100 and from_template != "spot":  # noqa: PLR2004 - all on demand
        return
    if percent is None and from_template not in {"spot", UNKNOWN}:
        return
    yield Spot(
        **common(resource),
        renews="an Auto Scaling group that replaces what was interrupted",
        falls_back=_mixes(percent, base),
        max_usd_per_hour=amount(
            first(
                _set_price(spread),
                at(template.inputs, "instanceMarketOptions", "spotOptions", "maxPrice") if template else None,
            )
        ),
        interruption="terminate",
        instance_type=first(
            at(mix, "launchTemplate", "overrides", 0, "instanceType"),
            template.get("instanceType") if template else None,
        ),
        count=either(whole(resource.get("maxSize")), UNKNOWN),
        checkpoint=first(_checkpoint(resource), _checkpoint(template) if template else None),
    )


def _set_price(spread: Value) -> Value:
    """Return the maximum price of a mix; an empty text is none."""
    price = at(spread, "spotMaxPrice")
    return None if price == "" else price


def _mixes(percent: Value, base: Value) -> Value:
    if percent is UNKNOWN or base is UNKNOWN:
        return UNKNOWN
    if percent is None or (percent == 0 and base == 0):
        return None
    return f"a mixed-instances policy with {percent} % on demand above {base}"


def _checkpoint(resource: Resource) -> Value:
    found = common(resource)["tags"]
    return UNKNOWN if found is UNKNOWN else found.get(CHECKPOINT_TAG)


MACHINES: Mapping[str, Reader] = {
    INSTANCE: _instance,
    TEMPLATE: _template,
    GROUP: _group,
    "aws:ec2/spotInstanceRequest:SpotInstanceRequest": _spot_request,
}
