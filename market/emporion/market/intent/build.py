"""Values to an `Intent`: families of GPUs expanded, defaults filled in, contradictions found."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any

from emporion.market.errors import UserError
from emporion.market.gpu_names import GpuName, without_count
from emporion.market.gpus import Gpu, all_gpus, gpu_info, meets_vram
from emporion.market.intent.model import (
    Access,
    Budget,
    Constraints,
    DataSet,
    FallbackRule,
    Gpus,
    Image,
    Intent,
    InterruptionRule,
    Lifecycle,
    MarketRule,
    Model,
    Network,
    Rdma,
    Recovery,
    Resources,
    Stage,
    Topology,
)
from emporion.market.intent.read import Reading
from emporion.market.money import Money
from emporion.market.units import MAX_COUNT, Count, Memory, format_memory, plain, shown

__all__ = ["build"]

Values = Mapping[str, Any]


def build(values: Values, reading: Reading, *, name: str, source: str | None) -> Intent:
    """Return the intent of what was read; contradictions go to the reading's problems."""
    stages = tuple(_stage(stage, reading, f"stages[{index}]") for index, stage in enumerate(values.get("stages", ())))
    lifecycle = values.get("lifecycle", {})
    return Intent(
        name=values.get("name", name),
        resources=_resources(values.get("resources", {}), reading, "resources"),
        budget=_budget(values.get("cost_control", {})),
        lifecycle=_lifecycle(lifecycle),
        checkpoint_path=values.get("checkpoint_path"),
        data=_data(values.get("data", ())),
        constraints=_constraints(values.get("constraints", {}), reading, "constraints"),
        recovery=Recovery(**values.get("recovery", {})),
        model=Model(**values.get("model", {})),
        stages=stages,
        image=Image(**values.get("image", {})),
        scheduler=values.get("scheduler", "slurm"),
        tags=tuple(sorted(values.get("tags", {}).items())),
        access=Access(**values.get("access", {})),
        source=source,
        positions=tuple((path, at.line) for path, at in reading.places.items() if at.line and not at.flag),
        flags=tuple((path, at.flag) for path, at in reading.places.items() if at.flag),
        not_acted_on=_not_acted_on(values, reading),
    )


def _not_acted_on(values: Values, reading: Reading) -> tuple[str, ...]:
    """Return the keys that this version does not act on, with those that depend on the value."""
    keys = [key for key in reading.not_acted_on if key != "recovery" or values["recovery"].get("mode", "off") != "off"]
    if values.get("resources", {}).get("storage_type", "lustre") != "lustre":
        keys.append("resources.storage_type")
    return tuple(key for key in keys if not any(key.startswith((f"{top}.", f"{top}[")) for top in keys))


def _resources(values: Values, reading: Reading, path: str) -> Resources:
    nodes: Count | None = values.get("nodes")
    gpus = _gpus(values["gpus"], reading, f"{path}.gpus", nodes) if values.get("gpus") else None
    return Resources(
        gpus=gpus,
        network=_network(values.get("network", {})),
        nodes_min=nodes.low if nodes else None,
        nodes_max=nodes.high if nodes else None,
        cpus_min=values.get("cpus"),
        memory_min=values.get("memory"),
        storage=values.get("storage"),
        storage_type=values.get("storage_type"),
    )


def _network(values: Values) -> Network:
    low_latency = values.get("low_latency", False)
    default = Rdma.PREFERRED if low_latency else Rdma.NO
    return Network(
        latency_ms=values.get("latency"),
        bandwidth_gbps=values.get("bandwidth"),
        rdma=Rdma(values.get("rdma", default)),
        low_latency=low_latency,
    )


def _gpus(values: Values, reading: Reading, path: str, nodes: Count | None) -> Gpus:
    names: tuple[GpuName, ...] = values.get("type", ())
    floor = _largest([values.get("min_vram"), *(name.vram for name in names)])
    types = _types(names, floor, reading, path)
    count = _count(values, types, reading, path, nodes)
    topology = values.get("topology")
    if topology is None:
        boards = {name.board for name in names}
        topology = {frozenset({"sxm"}): "nvlink", frozenset({"pcie"}): "pcie"}.get(frozenset(boards), "any")  # type: ignore[arg-type]
    return Gpus(
        types=types,
        asked=tuple(without_count(name.asked) for name in names),
        count_min=count.low,
        count_max=count.high,
        vendor=names[0].vendor if len(names) == 1 and not types else None,
        min_vram=floor,
        min_total_vram=values.get("min_total_vram"),
        topology=Topology(topology),
        mig=values.get("mig"),
        share=values.get("share", False),
        allow_fraction=values.get("allow_fraction", False),
    )


def _largest(sizes: list[Memory | None]) -> Memory | None:
    known = [size for size in sizes if size is not None]
    return max(known, key=lambda size: size.bytes) if known else None


def _types(names: tuple[GpuName, ...], floor: Memory | None, reading: Reading, path: str) -> tuple[str, ...]:
    """Return the ids in order of preference; a family keeps its variants that meet the floor."""
    if all(not name.ids for name in names) and len(names) <= 1:
        return ()
    types: dict[str, None] = {}
    for name in names:
        covered = [gpu_info(gpu) for gpu in name.ids] or [g for g in all_gpus() if name.vendor in (None, g.vendor)]
        fitting = [
            gpu for gpu in covered if floor is None or meets_vram(floor, gpu.vram_gb, gpu.memory_mib) is not False
        ]
        if not fitting and name.variant and floor is not None:
            reading.fail(_too_small(name, covered, floor), f"{path}.min_vram")
        types |= dict.fromkeys(gpu.id for gpu in fitting)
    if not types:  # the plan says which of the family is largest
        types = dict.fromkeys(gpu for name in names for gpu in name.ids)
    return tuple(types)


def _too_small(name: GpuName, gpus: list[Gpu], floor: Memory) -> UserError:
    largest = max(gpu.vram_gb or Decimal(0) for gpu in gpus)
    return UserError(
        "E-CONTRADICTION",
        f"{name.asked.strip()} has {plain(largest)} GB, min_vram asks for {format_memory(floor)}",
        fix="name another GPU, or leave min_vram out",
    )


def _count(values: Values, types: tuple[str, ...], reading: Reading, path: str, nodes: Count | None) -> Count:
    """Return the number of GPUs: of the key, of the names, else what the total memory needs, else 1."""
    names: tuple[GpuName, ...] = values.get("type", ())
    given: Count | None = values.get("count")
    said = {count for count in (given, *(name.count for name in names)) if count is not None}
    if len(said) > 1:
        numbers = " and ".join(str(count.low) for count in sorted(said, key=lambda count: (count.low, count.high)))
        error = UserError("E-CONTRADICTION", f"two numbers of GPUs are given: {numbers}", fix="keep one of them")
        reading.fail(error, f"{path}.count" if given else f"{path}.type")
    total: Memory | None = values.get("min_total_vram")
    sizes = [gpu.vram_gb for gpu in ([gpu_info(gpu) for gpu in types] or all_gpus()) if gpu.vram_gb is not None]
    if said:
        count = next(iter(said)) if given is None else given
        if total and types and sizes and max(sizes) * count.high < total.gb:
            have = plain(max(sizes) * count.high)
            error = UserError(
                "E-CONTRADICTION",
                f"{count.high} GPUs have at most {have} GB together, min_total_vram asks for {format_memory(total)}",
                fix="ask for more GPUs, or for less memory",
            )
            reading.fail(error, f"{path}.min_total_vram")
        return count
    if total and sizes:
        low, high = (int((total.gb / size).to_integral_value(ROUND_CEILING)) for size in (max(sizes), min(sizes)))
        return Count(min(max(low, 1), MAX_COUNT), min(max(high, 1), MAX_COUNT))
    if nodes and nodes.high > 1 and "count" not in values:
        error = UserError(
            "E-MISSING", f"{nodes.low} nodes, but not how many GPUs", fix="write count: the GPUs of the whole cluster"
        )
        reading.fail(error, f"{path}.count")
        return Count(nodes.low, nodes.high)
    return Count(1, 1)


def _budget(values: Values) -> Budget:
    usd: dict[str, Decimal] = {}
    for key in ("max_hourly", "max_daily", "max_monthly", "max_total"):
        money: Money | None = values.get(key)
        if money is not None:
            usd[f"{key}_usd_per_gpu" if money.per_gpu else f"{key}_usd"] = money.usd
    return Budget(**usd, auto_scale=values.get("auto_scale", False))


def _lifecycle(values: Values) -> Lifecycle:
    price: Money | None = values.get("spot_max_price")
    return Lifecycle(
        market=MarketRule(values.get("market", "any")),
        spot_fallback=FallbackRule(values.get("spot_fallback", "false")),
        spot_max_price_usd_per_hour=price.usd if price else None,
        spot_auto_renew=values.get("spot_auto_renew", False),
        max_run_s=values.get("max_run"),
        checkpoint_interval_s=values.get("checkpoint_interval"),
        on_interruption=InterruptionRule(values.get("on_interruption", "replace_node")),
    )


def _constraints(values: Values, reading: Reading, path: str) -> Constraints:
    sandbox = values.get("sandbox")
    refused = {"compliance": ", ".join(values.get("compliance", ())), "sandbox": sandbox}
    for key, asked in refused.items():
        if asked and asked.lower() not in ("none", "false", "no", "off"):
            error = UserError(
                "E-UNSUPPORTED",
                f"this version cannot enforce {key}: {shown(asked)}, and does not go on without it",
                fix=f"leave {key} out, or use a version that acts on it",
            )
            reading.fail(error, f"{path}.{key}")
    return Constraints(
        providers=values.get("providers", ()),
        regions=values.get("regions", ()),
        local_zones=values.get("local_zones", False),
        max_carbon_g_per_hour=values.get("max_carbon"),
        max_price_age_s=values.get("max_price_age"),
        where=values.get("where"),
    )


def _data(values: tuple[Values, ...]) -> tuple[DataSet, ...]:
    return tuple(DataSet(**value) for value in values)


def _stage(values: Values, reading: Reading, path: str) -> Stage:
    if "name" not in values and f"{path}.name" not in reading.places:
        reading.fail(UserError("E-MISSING", "a stage needs a name", fix="write name: train"), f"{path}.name")
    return Stage(
        name=values.get("name", "?"),
        needs=values.get("needs", ()),
        resources=_resources(values.get("resources", {}), reading, f"{path}.resources"),
        constraints=_constraints(values.get("constraints", {}), reading, f"{path}.constraints"),
        data_in=_data(values.get("data_in", ())),
        data_out=_data(values.get("data_out", ())),
        hours=values.get("hours"),
    )
