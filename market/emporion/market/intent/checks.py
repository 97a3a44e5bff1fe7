"""Keys that contradict each other or miss one another, each a small function over the finished intent."""

from __future__ import annotations

from collections.abc import Iterator

from emporion.market.errors import UserError
from emporion.market.intent.model import FallbackRule, Intent, MarketRule, Rdma, Resources, Topology
from emporion.market.intent.read import Reading
from emporion.market.intent.stages import asks_for_nothing, resources_of, stage_problems
from emporion.market.money import money_text
from emporion.market.units import Count, format_count, shown

__all__ = ["check"]

_MAX_TAGS = 40
_MAX_TAG_KEY = 128
_MAX_TAG_VALUE = 256


def check(intent: Intent, reading: Reading) -> None:
    """Add every contradiction of the intent to the reading's problems."""
    problems = [*_asks(intent, reading), *_spot(intent), *stage_problems(intent), *_tags(intent), *_access(intent)]
    problems += _resources(intent.resources, "resources")
    for index, stage in enumerate(intent.stages):
        problems += _resources(stage.resources, f"stages[{index}].resources")
    for path, error in problems:
        reading.fail(error, path)


Problem = tuple[str, UserError]


def _contradiction(what: str, fix: str) -> UserError:
    return UserError("E-CONTRADICTION", what, fix=fix)


def _asks(intent: Intent, reading: Reading) -> Iterator[Problem]:
    if reading.problems.found:
        return  # what was asked for may be what could not be read
    if not intent.stages and asks_for_nothing(intent.resources):
        yield "resources.gpus", UserError("E-MISSING", "the intent asks for nothing", fix="write gpus: a100:4")
    for index, stage in enumerate(intent.stages):
        if asks_for_nothing(resources_of(intent, stage)):
            what = f"stage {shown(stage.name)} asks for nothing, and there are no resources of the intent to take over"
            fix = "write resources: {gpus: a100:4}, or {cpus: 16}"
            yield f"stages[{index}].resources", UserError("E-MISSING", what, fix=fix)


def _resources(resources: Resources, path: str) -> Iterator[Problem]:
    gpus, network = resources.gpus, resources.network
    if network.low_latency and network.rdma is Rdma.NO:
        yield f"{path}.network.rdma", _contradiction("network low-latency needs RDMA, rdma says no", "leave rdma out")
    if gpus is None:
        return
    if resources.nodes_min is not None and resources.nodes_min > gpus.count_max and not gpus.allow_fraction:
        nodes = format_count(Count(resources.nodes_min, resources.nodes_max or resources.nodes_min))
        count = format_count(Count(gpus.count_min, gpus.count_max))
        yield (
            f"{path}.nodes",
            _contradiction(
                f"{nodes} nodes cannot share {count} GPUs: count is of the whole cluster",
                f"write count: {resources.nodes_min} or more",
            ),
        )
    if gpus.mig and gpus.topology is Topology.NVLINK:
        yield f"{path}.gpus.topology", _contradiction("MIG slices have no NVLink", "leave topology or mig out")


def _spot(intent: Intent) -> Iterator[Problem]:
    lifecycle = intent.lifecycle
    if lifecycle.market is not MarketRule.ON_DEMAND:
        return
    if lifecycle.spot_max_price_usd_per_hour is not None:
        said = f"spot_max_price ${money_text(lifecycle.spot_max_price_usd_per_hour)} with market on_demand"
        yield "lifecycle.spot_max_price", _contradiction(said, "leave spot_max_price out, or write market: spot")
    if lifecycle.spot_auto_renew:
        said = "spot_auto_renew with market on_demand"
        yield "lifecycle.spot_auto_renew", _contradiction(said, "leave it out, or write market: spot")
    if lifecycle.spot_fallback is FallbackRule.PAUSE:
        said = "spot_fallback pause with market on_demand"
        yield "lifecycle.spot_fallback", _contradiction(said, "leave it out, or write market: spot")


def _tags(intent: Intent) -> Iterator[Problem]:
    if len(intent.tags) > _MAX_TAGS:
        yield "tags", UserError("E-VALUE", f"{len(intent.tags)} tags, {_MAX_TAGS} are allowed", fix="take some out")
    for key, value in intent.tags:
        lower = key.lower()
        if lower.startswith(("aws:", "emporion-")) or lower == "name":
            yield f"tags.{key}", UserError("E-VALUE", f"the tag {shown(key)} is reserved", fix="write another key")
        if not 1 <= len(key) <= _MAX_TAG_KEY or len(value) > _MAX_TAG_VALUE or not (key + value).isprintable():
            limits = f"{_MAX_TAG_KEY} characters in a key and {_MAX_TAG_VALUE} in a value, all printable"
            yield (
                f"tags.{key}",
                UserError("E-VALUE", f"the tag {shown(key)} cannot be written", fix=f"keep to {limits}"),
            )


def _access(intent: Intent) -> Iterator[Problem]:
    access = intent.access
    if access.capacity_block and access.reservation is None:
        what = "capacity_block without a reservation"
        yield "access.capacity_block", UserError("E-MISSING", what, fix="write access.reservation: its id")
    if access.reservation is not None and intent.lifecycle.market is MarketRule.SPOT:
        yield "access.reservation", _contradiction("a reservation is not spot", "write market: on_demand")
