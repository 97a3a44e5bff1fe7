"""Pinning a plan: the recommended placement with everything that a look-up would change later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from emporion.market.clouds import FoundImage
from emporion.market.cost import lustre_gib
from emporion.market.errors import ExitCode, UserError
from emporion.market.intent import intent_hash, intent_json
from emporion.market.intent.model import Intent, Rdma
from emporion.market.offer import Market, Offer
from emporion.market.pin import PinnedController, PinnedImage, PinnedPlacement, PinnedPool, PinnedStorage
from emporion.market.placement.model import Placement, Pool
from emporion.market.plan.advice import datasets
from emporion.market.plan.planning import Plan
from emporion.market.transfer import dataset_place

__all__ = ["ImageKey", "images_needed", "pin", "pin_problem"]

ImageKey = tuple[str, str]
"""Purpose (`gpu` or `controller`) and architecture."""
_LUSTRE_MBPS_PER_TIB = 125
"""The tier that the cost model prices (data/chain.csv)."""
_PROBLEMS = 3
"""Different reasons told at most."""


def images_needed(plan: Plan) -> tuple[ImageKey, ...]:
    """Return the images that `pin` needs for the recommended placement, to be looked up in its region.

    Raises: UserError E-DEPLOY (exit 3): when no placement of the plan can be stood up.
    """
    placement = _recommended(plan)
    needed = set() if plan.intent.image.id else {("gpu", pool.offer.arch) for pool in placement.pools}
    controller = _controller_machine(plan, placement)
    if controller is not None:
        needed.add(("controller", controller.arch))
    return tuple(sorted(needed))


def pin(plan: Plan, images: Mapping[ImageKey, FoundImage]) -> PinnedPlacement:
    """Return the recommended placement, pinned at the plan's time.

    Raises: UserError E-DEPLOY (exit 3): when no placement of the plan can be stood up; E-IMAGE: when `images` lacks one
    of `images_needed`.
    """
    placement, intent = _recommended(plan), plan.intent
    lifecycle = intent.lifecycle
    interval_s = lifecycle.checkpoint_interval_s
    return PinnedPlacement(
        name=intent.name,
        pools=tuple(_pool(number, pool, intent, images) for number, pool in enumerate(placement.pools)),
        controller=_controller(plan, placement, images),
        storage=_storage(intent),
        scheduler=intent.scheduler,
        nat=intent.access.nat,
        spot_fallback=lifecycle.spot_fallback.value,
        spot_auto_renew=lifecycle.spot_auto_renew,
        on_interruption=lifecycle.on_interruption.value,
        checkpoint_interval_s=round(placement.stability.checkpoint_interval_s) if interval_s is None else interval_s,
        max_run_s=lifecycle.max_run_s,
        usd_per_hour=placement.cost.total,
        upper_usd_per_hour=placement.cost.upper_total,
        cost_lines=tuple(line.to_json() for line in placement.cost.lines),
        catalogue_version=plan.catalogue.version,
        catalogue_as_of=plan.catalogue.as_of or "",
        planned_at=plan.now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        intent_hash=intent_hash(intent),
        intent=intent_json(intent),
        reasons=_reasons(plan, placement),
        tags=intent.tags,
        prefer=plan.prefer.text,
        max_pools=plan.choice.terms.max_pools,
    )


def pin_problem(plan: Plan) -> UserError:
    """Return why a plan that recommends nothing cannot be pinned: its own error, or E-DEPLOY; both exit with 3."""
    if plan.error is not None:
        return plan.error
    problems = dict.fromkeys(each.deploy_problem for each in plan.solutions if each.deploy_problem)
    if plan.recommended is not None:
        return UserError(
            "E-DEPLOY",
            f"an intent with {len(plan.intent.stages)} stages cannot be stood up at once in this version",
            plan.intent.where("stages"),
            "write each stage as an intent of its own, with the place that the plan gives it",
            ExitCode.INFEASIBLE,
        )
    return UserError(
        "E-DEPLOY",
        f"no placement of this plan can be stood up: {'; '.join(list(problems)[:_PROBLEMS])}",
        plan.intent.where("constraints.providers"),
        "name a provider that has a component in constraints.providers, or relax what keeps it out",
        ExitCode.INFEASIBLE,
    )


def _recommended(plan: Plan) -> Placement:
    if plan.recommended is None or not plan.recommended.deployable:
        raise pin_problem(plan)
    return plan.recommended


def _pool(number: int, pool: Pool, intent: Intent, images: Mapping[ImageKey, FoundImage]) -> PinnedPool:
    offer, network = pool.offer, intent.resources.network
    wants_rdma = network.low_latency or network.rdma is not Rdma.NO
    own = intent.image.id
    return PinnedPool(
        name=f"gpu-{number}",
        provider=offer.provider,
        region=offer.region,
        zone=offer.zone,
        instance_type=offer.instance_type,
        gpu=offer.gpu,
        gpus_per_node=offer.gpu_count,
        count=pool.count,
        market=offer.market,
        usd_per_hour=offer.usd_per_hour,
        on_demand_usd_per_hour=offer.on_demand_usd_per_hour,
        offer_id=offer.id,
        image=PinnedImage(own, own, arch=offer.arch) if own else _image(images, "gpu", offer.arch, intent),
        stage=pool.stage,
        fabric=offer.fabric.value if offer.fabric else None,
        rdma=wants_rdma and offer.fabric is not None and offer.fabric.rdma,
        spot_max_price_usd_per_hour=intent.lifecycle.spot_max_price_usd_per_hour
        if offer.market is Market.SPOT
        else None,
        reservation=intent.access.reservation,
        capacity_block=intent.access.capacity_block,
    )


def _image(images: Mapping[ImageKey, FoundImage], purpose: str, arch: str, intent: Intent) -> PinnedImage:
    found = images.get((purpose, arch))
    if found is None:
        raise UserError(
            "E-IMAGE",
            f"no {purpose} image for {arch} was found",
            intent.where("image"),
            "name one with image.id, or choose machines of another architecture",
        )
    return PinnedImage(found.id, found.name, found.published_at, found.arch, found.driver_version, found.efa_version)


def _controller_machine(plan: Plan, placement: Placement) -> Offer | None:
    """Return the machine that runs the scheduler; None: nothing needs one, or none is known."""
    if plan.intent.scheduler != "slurm":
        return None
    first = placement.pools[0].offer
    return plan.choice.costs.controller(first.provider, first.region, first.zone)


def _controller(plan: Plan, placement: Placement, images: Mapping[ImageKey, FoundImage]) -> PinnedController | None:
    if plan.intent.scheduler != "slurm":
        return None
    offer = _controller_machine(plan, placement)
    if offer is None:
        first = placement.pools[0].offer
        raise UserError(
            "E-CONTROLLER",
            f"no CPU machine of {first.provider} in {first.region} is known for the scheduler's controller",
            plan.intent.where("scheduler"),
            "scheduler: none, or another region",
        )
    return PinnedController(
        offer.instance_type, offer.usd_per_hour, _image(images, "controller", offer.arch, plan.intent)
    )


def _storage(intent: Intent) -> PinnedStorage:
    lustre = intent.resources.storage_type == "lustre"
    return PinnedStorage(
        checkpoint_path=intent.checkpoint_path,
        file_system="lustre" if lustre else None,
        file_system_gib=lustre_gib(intent) if lustre else None,
        file_system_mbps_per_tib=_LUSTRE_MBPS_PER_TIB if lustre else None,
        object_lock_days=intent.access.object_lock_days,
    )


def _reasons(plan: Plan, placement: Placement) -> tuple[str, ...]:
    """Return why this placement, in a few lines for people."""
    others = len(plan.solutions) - 1
    rank = plan.solutions.index(placement) + 1
    return (
        f"solution {rank} of {others + 1}, preferred for {plan.prefer.text}",
        *_near_data(plan.intent, placement),
        *(f"{each.offers} offers: {each.reason}" for each in plan.rejected[:5]),
    )


def _near_data(intent: Intent, placement: Placement) -> Iterator[str]:
    """Yield each source that lies in the one region of the placement, so that its data move for nothing."""
    homes = {(pool.offer.provider, pool.offer.region) for pool in placement.pools}
    sources = dict.fromkeys(data.source for data in datasets(intent) if {dataset_place(data)} == homes)
    yield from (f"stands in the region of {source}: its data move for nothing" for source in sources)
