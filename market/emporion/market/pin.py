"""The pinned placement: the decision of a plan with everything that a look-up would change later.

It is written to the stack's configuration (`emporion:placement`) and is all that the program reads. Its JSON form is
the schema `emporion.placement/1`: one cluster in one region. Several stages are `emporion.placement/2`, in which each
stage's placement is one of `emporion.placement/1`: a cluster of its own, wherever it stands.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, is_dataclass
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from emporion.market.errors import UserError
from emporion.market.offer import Market
from emporion.market.typed import amount, made, mapping

__all__ = [
    "SCHEMA",
    "STAGES_SCHEMA",
    "PinnedController",
    "PinnedImage",
    "PinnedPlacement",
    "PinnedPool",
    "PinnedStage",
    "PinnedStorage",
    "Place",
    "cluster_name",
    "output_name",
]

SCHEMA = "emporion.placement/1"
STAGES_SCHEMA = "emporion.placement/2"


class Place(NamedTuple):
    """Where a cluster stands."""

    provider: str
    region: str

    def __str__(self) -> str:
        """Return it as people read it."""
        return f"{self.provider} {self.region}"


def cluster_name(stage: str | None) -> str:
    """Return the logical name of a stage's cluster. Not the intent's name: renaming an intent must replace nothing."""
    return "cluster" if stage is None else f"cluster-{stage}"


def output_name(key: str, stage: str | None) -> str:
    """Return the name under which a stack exports `key` of a stage's cluster: `bucket`, `train.bucket`."""
    return key if stage is None else f"{stage}.{key}"


@dataclass(frozen=True, slots=True)
class PinnedImage:
    """A machine image of one region, as it was when the plan was pinned."""

    id: str
    name: str
    published_at: str | None = None
    arch: str = "x86_64"
    driver_version: str | None = None
    efa_version: str | None = None


@dataclass(frozen=True, slots=True)
class PinnedPool:
    """Equal nodes at one site."""

    name: str
    """`gpu-0`, `gpu-1`, … in plan order; of a stage `train-0`, …"""
    provider: str
    region: str
    zone: str | None
    """The zone id (`use1-az2`); the program turns it into the account's zone name."""
    instance_type: str
    gpu: str | None
    gpus_per_node: int
    count: int
    market: Market
    usd_per_hour: Decimal
    """Of one node at pin time."""
    on_demand_usd_per_hour: Decimal | None
    offer_id: str
    image: PinnedImage
    stage: str | None = None
    fabric: str | None = None
    """`efa`, `infiniband`, …; None or `ethernet`: no RDMA."""
    rdma: bool = False
    """Whether the pool's fabric interfaces are made (the intent asks for it and the type has it)."""
    spot_max_price_usd_per_hour: Decimal | None = None
    reservation: str | None = None
    capacity_block: bool = False


@dataclass(frozen=True, slots=True)
class PinnedController:
    """The small CPU node that runs the scheduler."""

    instance_type: str
    usd_per_hour: Decimal | None
    image: PinnedImage


@dataclass(frozen=True, slots=True)
class PinnedStorage:
    """Where checkpoints and data live."""

    checkpoint_path: str | None = None
    """The user's own bucket (`s3://bucket/prefix`); None: the cluster's bucket."""
    file_system: Literal["lustre"] | None = None
    file_system_gib: int | None = None
    file_system_mbps_per_tib: int | None = None
    object_lock_days: int | None = None
    root_disk_gb: int = 200


@dataclass(frozen=True, slots=True)
class PinnedPlacement:
    """Everything the program needs to build one cluster."""

    name: str
    pools: tuple[PinnedPool, ...]
    controller: PinnedController | None
    """None with `scheduler: none`."""
    storage: PinnedStorage
    scheduler: Literal["slurm", "none"]
    nat: bool
    spot_fallback: str
    """`true`, `pause` or `false`."""
    spot_auto_renew: bool
    on_interruption: str
    checkpoint_interval_s: int | None
    max_run_s: int | None
    usd_per_hour: Decimal
    """Full-chain total of the plan."""
    upper_usd_per_hour: Decimal | None
    cost_lines: tuple[dict[str, Any], ...]
    """The plan's cost lines, as in `emporion.plan/1`."""
    catalogue_version: str
    catalogue_as_of: str
    planned_at: str
    """UTC, ISO 8601."""
    intent_hash: str
    intent: dict[str, Any]
    """The normalised intent, as `plan --show-intent --json` prints it."""
    reasons: tuple[str, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
    prefer: str = "balanced"
    """The preference by which it was recommended, as `plan --prefer` takes it."""
    max_pools: int = 2
    """How many different offers the plan allowed."""
    stages: tuple[PinnedStage, ...] = ()
    """Of an intent with several stages: each with its own cluster. `pools` are then those of all of them."""

    @property
    def provider(self) -> str:
        """The provider of all pools of one cluster."""
        return self.pools[0].provider

    @property
    def region(self) -> str:
        """The region of all pools of one cluster."""
        return self.pools[0].region

    @property
    def clusters(self) -> tuple[tuple[str | None, PinnedPlacement], ...]:
        """The clusters that are built, each with the name of its stage; without stages the placement itself."""
        return tuple((stage.name, stage.placement) for stage in self.stages) or ((None, self),)

    @property
    def places(self) -> tuple[Place, ...]:
        """Where the clusters stand, each place once, in the order of the pools."""
        return tuple(dict.fromkeys(Place(pool.provider, pool.region) for pool in self.pools))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form; money as decimal strings."""
        own = {each.name: _plain(_told(getattr(self, each.name))) for each in fields(self) if each.name != "stages"}
        if not self.stages:
            return {**own, "schema": SCHEMA}
        del own["pools"]  # each stands in its stage
        stages = [
            {
                "name": one.name,
                "needs": list(one.needs),
                "hours": _plain(one.hours),
                "placement": one.placement.to_json(),
            }
            for one in self.stages
        ]
        return {**own, "stages": stages, "schema": STAGES_SCHEMA}

    @classmethod
    def from_json(cls, data: object, *, where: str | None = None) -> PinnedPlacement:
        """Return the placement of a stack's configuration.

        Raises: UserError E-PIN: when it is not a placement of a schema that this version knows.
        """
        if not isinstance(data, dict) or data.get("schema") not in (SCHEMA, STAGES_SCHEMA):
            seen = data.get("schema") if isinstance(data, dict) else type(data).__name__
            raise UserError(
                "E-PIN",
                f"the pinned placement has schema {seen!r}, this version reads {SCHEMA!r} and {STAGES_SCHEMA!r}",
                where,
                "pin again: emporion plan INTENT --pin STACK",
            )
        try:
            stages = _stages(data.get("stages") if data["schema"] == STAGES_SCHEMA else None)
            return made(
                cls,
                {
                    **{key: value for key, value in data.items() if key != "schema"},
                    "stages": stages,
                    "pools": tuple(pool for stage in stages for pool in stage.placement.pools)
                    or _pools(_list(data["pools"])),
                    "controller": _controller(data["controller"]),
                    "storage": made(PinnedStorage, mapping(data["storage"])),
                    "usd_per_hour": amount(data["usd_per_hour"]),
                    "upper_usd_per_hour": _money(data["upper_usd_per_hour"]),
                    "cost_lines": tuple(_cost_line(line) for line in _list(data["cost_lines"])),
                    "intent": mapping(data["intent"]),
                    "reasons": tuple(str(reason) for reason in _list(data["reasons"])),
                    "tags": tuple((str(key), str(value)) for key, value in _list(data["tags"])),
                },
            )
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise UserError(
                "E-PIN",
                f"the pinned placement cannot be read: {error}",
                where,
                "pin again: emporion plan INTENT --pin STACK",
            ) from error


@dataclass(frozen=True, slots=True)
class PinnedStage:
    """One stage of a pipeline."""

    name: str
    needs: tuple[str, ...]
    hours: Decimal | None
    placement: PinnedPlacement
    """Its cluster, with what it costs by itself."""


def _stages(value: object) -> tuple[PinnedStage, ...]:
    if value is None:
        return ()
    found = tuple(_stage(one) for one in _list(value))
    if len({stage.name for stage in found}) != len(found) or not found:
        message = "its stages need different names, and there is at least one"
        raise ValueError(message)
    return found


def _stage(value: object) -> PinnedStage:
    data = mapping(value)
    placement = mapping(data["placement"])
    if placement.get("schema") != SCHEMA:
        message = f"stage {data.get('name')!r} has a placement of schema {placement.get('schema')!r}"
        raise ValueError(message)
    return made(
        PinnedStage,
        {
            **data,
            "needs": tuple(str(each) for each in _list(data["needs"])),
            "hours": _money(data["hours"]),
            "placement": PinnedPlacement.from_json(placement),
        },
    )


def _list(value: object) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        message = f"{str(value)[:40]!r} is not a list"
        raise TypeError(message)
    return list(value)


def _pools(values: list[object]) -> tuple[PinnedPool, ...]:
    if not values:
        message = "it has no node pool"
        raise ValueError(message)
    return tuple(_pool(value) for value in values)


def _money(value: object) -> Decimal | None:
    return None if value is None else amount(value)


def _cost_line(value: object) -> dict[str, Any]:
    """Return a cost line whose figures can be read."""
    line = mapping(value)
    for name in ("quantity", "unit_price", "usd_per_hour", "upper_usd_per_hour"):
        _money(line.get(name))
    return line


def _pool(value: object) -> PinnedPool:
    data = mapping(value)
    return made(
        PinnedPool,
        {
            **data,
            "market": Market(data["market"]),
            "usd_per_hour": amount(data["usd_per_hour"]),
            "on_demand_usd_per_hour": _money(data["on_demand_usd_per_hour"]),
            "spot_max_price_usd_per_hour": _money(data["spot_max_price_usd_per_hour"]),
            "image": made(PinnedImage, mapping(data["image"])),
        },
    )


def _controller(value: object) -> PinnedController | None:
    if value is None:
        return None
    data = mapping(value)
    image = made(PinnedImage, mapping(data["image"]))
    return made(PinnedController, {**data, "usd_per_hour": _money(data["usd_per_hour"]), "image": image})


def _told(value: object) -> object:
    """Return the records in a value as mappings."""
    if isinstance(value, tuple):
        return [_told(item) for item in value]
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _plain(value: object) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, Market):
        return value.value
    return value
