"""Pinning a plan: the recommended placement with everything that a look-up would change later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from emporion.market.clouds import FoundImage
from emporion.market.cost import CostModel, lustre_gib
from emporion.market.errors import ExitCode, UserError
from emporion.market.intent import intent_hash, intent_json
from emporion.market.intent.model import Intent, Rdma
from emporion.market.offer import Market, Offer
from emporion.market.pin import PinnedController, PinnedImage, PinnedPlacement, PinnedPool, PinnedStage, PinnedStorage
from emporion.market.placement.model import Placement, Pool
from emporion.market.plan.advice import datasets
from emporion.market.plan.planning import Plan
from emporion.market.transfer import dataset_place

__all__ = ["ImageKey", "images_needed", "images_used", "pin", "pin_problem"]


class ImageKey(NamedTuple):
    """What an image is for, and where: each region of each cloud has its own."""

    provider: str
    region: str
    purpose: str
    """`gpu`, or `controller` for the machines without one."""
    arch: str


_LUSTRE_MBPS_PER_TIB = 125
"""The tier that the cost model prices (data/chain.csv)."""
_PROBLEMS = 3
"""Different reasons told at most."""


class _Cluster(NamedTuple):
    """One cluster of a plan: that of the whole intent, or of one stage."""

    intent: Intent
    costs: CostModel
    placement: Placement
    stage: str | None = None


def _clusters(plan: Plan) -> tuple[_Cluster, ...]:
    """Return what the recommended placement is built of.

    Raises: UserError E-DEPLOY (exit 3): when no placement of the plan can be stood up.
    """
    placement = _recommended(plan)
    if plan.stages is None:
        return (_Cluster(plan.intent, plan.choice.costs, placement),)
    graph = plan.stages.graph
    return tuple(
        _Cluster(_own_intent(view), choice.costs, part.placement, part.name)
        for view, choice, part in zip(graph.views, graph.choices, placement.stages, strict=True)
    )


def _own_intent(view: Intent) -> Intent:
    """Return a stage's intent as one without stages; of its data what is read from a store."""
    sources = tuple(data for stage in view.stages for data in stage.data_in if data.source is not None)
    return replace(view, data=sources, stages=(), positions=())


def images_needed(plan: Plan) -> tuple[ImageKey, ...]:
    """Return the images that `pin` needs for the recommended placement, each in the region where it is used.

    Raises: UserError E-DEPLOY (exit 3): when no placement of the plan can be stood up.
    """
    needed: set[ImageKey] = set()
    for cluster in _clusters(plan):
        if not cluster.intent.image.id:
            needed |= {_image_key(pool.offer, _purpose(pool.offer.gpu_count)) for pool in cluster.placement.pools}
        machine = _controller_machine(cluster)
        if machine is not None:
            needed.add(_image_key(machine, "controller"))
    return tuple(sorted(needed))


def _image_key(offer: Offer, purpose: str) -> ImageKey:
    return ImageKey(offer.provider, offer.region, purpose, offer.arch)


def _purpose(gpus: int) -> str:
    """Return what the image of a pool is for: nodes without a GPU start from the plain one of the controller."""
    return "gpu" if gpus else "controller"


def images_used(pinned: PinnedPlacement) -> Iterator[tuple[ImageKey, str, PinnedImage]]:
    """Yield every pinned image with what it is for and the name of the pool that starts from it."""
    for stage, each in pinned.clusters:
        for pool in each.pools:
            yield (
                ImageKey(pool.provider, pool.region, _purpose(pool.gpus_per_node), pool.image.arch),
                pool.name,
                pool.image,
            )
        if each.controller is not None:
            image = each.controller.image
            name = "controller" if stage is None else f"controller of {stage}"
            yield ImageKey(each.provider, each.region, "controller", image.arch), name, image


def pin(plan: Plan, images: Mapping[ImageKey, FoundImage]) -> PinnedPlacement:
    """Return the recommended placement, pinned at the plan's time.

    Raises: UserError E-DEPLOY (exit 3): when no placement of the plan can be stood up; E-IMAGE: when `images` lacks one
    of `images_needed`, or the intent's own image would have to be on several clouds.
    """
    placement, clusters = _recommended(plan), _clusters(plan)
    _assert_one_cloud(plan.intent, placement)
    reasons = _reasons(plan, placement)
    if plan.stages is None:
        return _pinned(plan, clusters[0], images, reasons)
    stages = tuple(
        PinnedStage(part.name, part.needs, part.hours, _pinned(plan, cluster, images))
        for part, cluster in zip(placement.stages, clusters, strict=True)
    )
    whole = _pinned(plan, _Cluster(plan.intent, plan.choice.costs, placement), None, reasons)
    return replace(whole, pools=tuple(pool for stage in stages for pool in stage.placement.pools), stages=stages)


def _assert_one_cloud(intent: Intent, placement: Placement) -> None:
    """Raise UserError E-IMAGE when an image of the user's own is named and the nodes stand on several clouds."""
    providers = sorted({pool.offer.provider for pool in placement.pools})
    if intent.image.id and len(providers) > 1:
        raise UserError(
            "E-IMAGE",
            f"image.id names an image of one cloud, and the stages stand on {' and '.join(providers)}",
            intent.where("image.id"),
            "leave image.id out, or name one cloud in constraints.providers",
        )


def _pinned(
    plan: Plan, cluster: _Cluster, images: Mapping[ImageKey, FoundImage] | None, reasons: tuple[str, ...] = ()
) -> PinnedPlacement:
    """Return a cluster as it is pinned; without `images` what holds for all stages, and no machines."""
    intent, placement = cluster.intent, cluster.placement
    lifecycle = intent.lifecycle
    interval_s = lifecycle.checkpoint_interval_s
    return PinnedPlacement(
        name=intent.name,
        pools=() if images is None else tuple(_pools(cluster, images)),
        controller=None if images is None else _controller(cluster, images),
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
        reasons=reasons,
        tags=intent.tags,
        prefer=plan.prefer.text,
        max_pools=plan.choice.terms.max_pools,
    )


def pin_problem(plan: Plan) -> UserError:
    """Return why a plan that recommends nothing cannot be pinned: its own error, or E-DEPLOY; both exit with 3."""
    if plan.error is not None:
        return plan.error
    problems = dict.fromkeys(each.deploy_problem for each in plan.solutions if each.deploy_problem)
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


def _pools(cluster: _Cluster, images: Mapping[ImageKey, FoundImage]) -> Iterator[PinnedPool]:
    """Yield the pools; their names are unique among all stages, because nodes bear them."""
    for number, pool in enumerate(cluster.placement.pools):
        name = f"{cluster.stage or 'gpu'}-{number}"
        yield replace(_pool(name, pool, cluster.intent, images), stage=cluster.stage or pool.stage)


def _pool(name: str, pool: Pool, intent: Intent, images: Mapping[ImageKey, FoundImage]) -> PinnedPool:
    offer, network = pool.offer, intent.resources.network
    wants_rdma = network.low_latency or network.rdma is not Rdma.NO
    own = intent.image.id
    return PinnedPool(
        name=name,
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
        image=PinnedImage(own, own, arch=offer.arch)
        if own
        else _image(images, _image_key(offer, _purpose(offer.gpu_count)), intent),
        fabric=offer.fabric.value if offer.fabric else None,
        rdma=wants_rdma and offer.fabric is not None and offer.fabric.rdma,
        spot_max_price_usd_per_hour=intent.lifecycle.spot_max_price_usd_per_hour
        if offer.market is Market.SPOT
        else None,
        reservation=intent.access.reservation,
        capacity_block=intent.access.capacity_block,
    )


def _image(images: Mapping[ImageKey, FoundImage], key: ImageKey, intent: Intent) -> PinnedImage:
    found = images.get(key)
    if found is None:
        raise UserError(
            "E-IMAGE",
            f"no {key.purpose} image for {key.arch} was found in {key.provider} {key.region}",
            intent.where("image"),
            "name one with image.id, or choose machines of another architecture",
        )
    return PinnedImage(found.id, found.name, found.published_at, found.arch, found.driver_version, found.efa_version)


def _controller_machine(cluster: _Cluster) -> Offer | None:
    """Return the machine that runs the scheduler; None: nothing needs one, or none is known."""
    if cluster.intent.scheduler != "slurm":
        return None
    first = cluster.placement.pools[0].offer
    return cluster.costs.controller(first.provider, first.region, first.zone)


def _controller(cluster: _Cluster, images: Mapping[ImageKey, FoundImage]) -> PinnedController | None:
    intent = cluster.intent
    if intent.scheduler != "slurm":
        return None
    offer = _controller_machine(cluster)
    if offer is None:
        first = cluster.placement.pools[0].offer
        raise UserError(
            "E-CONTROLLER",
            f"no CPU machine of {first.provider} in {first.region} is known for the scheduler's controller",
            intent.where("scheduler"),
            "scheduler: none, or another region",
        )
    return PinnedController(
        offer.instance_type, offer.usd_per_hour, _image(images, _image_key(offer, "controller"), intent)
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
