"""The life of a stack: preview, up, refresh, down, recover, status. Each takes a stack and may be run again.

A stack has one cluster, or one for each stage of its placement; they may stand in different regions and clouds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from emporion.market.clouds import (
    Cloud,
    CloudApi,
    CloudError,
    CloudNode,
    ErrorKind,
    StoreWatch,
    classify,
    open_api,
)
from emporion.market.errors import ExitCode, UserError
from emporion.market.pin import PinnedPlacement, Place, output_name
from emporion.market.wire import SECRET_SHOWN, SIGNATURE
from emporion.operations.policies import pack_arguments, policy_problem, told, with_placement
from emporion.operations.pulumi import Outcome, Pulumi
from emporion.operations.recovery import Recovered, recover

__all__ = ["Cluster", "Status", "data_problem", "open_cluster"]


@dataclass(frozen=True, slots=True)
class Status:
    """What is pinned, what the state holds and what the cloud reports."""

    stack: str
    world: str
    placement: PinnedPlacement
    resources: int
    """Resources in the state, the stack itself and provider not counted."""
    pending: int
    """Operations that a killed update left behind; more than 0: `emporion recover`."""
    outputs: Mapping[str, Any]
    """The stack's outputs; a secret one reads `[secret]`."""
    nodes: tuple[tuple[Place, CloudNode], ...]
    """Each machine with where it stands."""
    missing: Mapping[str, int]
    """Pool -> nodes pinned but not there."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """One stack with its engine, clouds and pinned placement."""

    pulumi: Pulumi
    stack: str
    placement: PinnedPlacement
    generation: int
    clouds: Mapping[str, Cloud]
    """Every installed one, by provider: what stands may be of another cloud than what is pinned now."""
    report: Callable[[str], None]
    """Takes one line at a time about what is going on."""
    policies: Mapping[str, Any] | None = None
    """How the policy packs are configured; None: none run."""

    def api(self, place: Place) -> CloudApi:
        """Return the API of a place."""
        return open_api(self.clouds[place.provider], place.region, self.pulumi.world)

    def nodes(self) -> Iterator[tuple[Place, CloudNode]]:
        """Yield the machines of the stack that are not yet gone, controllers included, with where they stand."""
        for place in self.placement.places:
            for node in self.api(place).nodes(self.pulumi.project.name, self.stack):
                yield place, node

    def _api_of(self, plugin: str, region: str) -> CloudApi:
        """Return the API behind a provider plugin; what is of no cloud here is asked of the first of the placement."""
        known = (name for name, cloud in self.clouds.items() if cloud.plugin == plugin)
        return self.api(Place(next(known, self.placement.places[0].provider), region))

    def preview(self) -> Outcome:
        """Show what `up` would change. Raises: UserError: when the engine or the program fails."""
        self.pulumi.ensure_stack(self.stack)
        return self._under_policies("preview")

    def recover(self, *, always: bool = False) -> Recovered:
        """Bring the state in line with what a dead update left behind; `always`: look though the last one succeeded."""
        return recover(self.pulumi, self.stack, self.generation, self._api_of, self.report, always=always)

    def up(self, *, previewed: bool = False) -> Outcome:
        """Make the cluster what its pin says; first finish what a killed update left behind.

        The policy packs judge the whole before anything is made; `previewed`: they did so a moment ago.
        """
        self.recover()
        self._assert_quota()
        if self.policies is not None and not previewed:
            self.preview()
        return self._under_policies("up", "--yes", "--skip-preview")

    def _under_policies(self, operation: str, *arguments: str) -> Outcome:
        """Run an operation with the policy packs, if they are on."""
        if self.policies is None:
            return self._judged(operation, self.pulumi.operate(operation, self.stack, *arguments))
        config = with_placement(self.policies, self.placement)
        with pack_arguments(config) as packs:
            outcome = self.pulumi.operate(operation, self.stack, *arguments, *packs)
        problem = None if outcome.succeeded else policy_problem(told(outcome, config), self.stack, operation)
        if problem is not None and not outcome.interrupted:
            raise problem
        return self._judged(operation, outcome)

    def refresh(self) -> Outcome:
        """Read the resources from the cloud into the state."""
        self.recover()
        return self._judged("refresh", self.pulumi.operate("refresh", self.stack, "--yes", "--skip-preview"))

    def down(self, *, delete_data: bool = False) -> Outcome:
        """Remove everything that the stack made, what a killed update left behind included.

        A store that holds data makes the rest fail with the cloud's own refusal, unless `delete_data`: then the stores
        are first told that they may go with their content. Where the cloud refuses nothing, the store is looked at.
        """
        self.recover()
        if not delete_data:
            self._assert_empty()
        if delete_data:
            self.pulumi.project.write(self.stack, {"emporion:delete_data": "true"})
            self._release_stores()
        try:
            outcome = self._judged("down", self.pulumi.operate("destroy", self.stack, "--yes", "--skip-preview"))
            self._assert_gone()
            return outcome
        finally:
            if delete_data:
                self.pulumi.project.write(self.stack, {"emporion:delete_data": "false"})

    def _release_stores(self) -> None:
        """Tell the stores that stand that they may go with their content; nothing else is touched or made."""
        resources = self.pulumi.export(self.stack)["deployment"].get("resources") or []
        stores = [one["urn"] for one in resources if (one.get("inputs") or {}).get("forceDestroy") is False]
        targets = [word for urn in stores for word in ("--target", urn)]
        if targets:
            self._judged("down", self.pulumi.operate("up", self.stack, "--yes", "--skip-preview", *targets))

    def _assert_empty(self) -> None:
        """Raise UserError E-IN-USE when the cloud would delete the store together with what is in it."""
        state = self.pulumi.export(self.stack)["deployment"].get("resources") or []
        outputs = next((one.get("outputs") or {} for one in state if one["type"] == "pulumi:pulumi:Stack"), {})
        for stage, each in self.placement.clusters:
            api = self.api(Place(each.provider, each.region))
            store = outputs.get(output_name("bucket", stage))
            if isinstance(api, StoreWatch) and store:
                problem = data_problem(api, str(store), self.stack)
                if problem is not None:
                    raise problem

    def _assert_gone(self) -> None:
        """Raise UserError E-ORPHAN when the cloud still runs a machine with this stack's tag."""
        left = [node.id for _, node in self.nodes() if node.state != "stopping"]
        if left:
            raise UserError(
                "E-ORPHAN",
                f"{self.stack!r} is down, but the cloud still has machines of it: {', '.join(left)}",
                f"emporion-stack = {self.pulumi.project.name}/{self.stack}",
                "end them in the cloud's console; they cost money",
                ExitCode.FAILED,
            )

    def raise_generation(self) -> int:
        """Give everything made from now on a new identity; return the new generation.

        Raises: UserError E-UP: when the stack still has resources, which would all be replaced.
        """
        resources = self.pulumi.export(self.stack)["deployment"].get("resources") or []
        if any(not one["type"].startswith("pulumi:") for one in resources):
            raise UserError(
                "E-UP",
                f"stack {self.stack!r} still has resources, a new generation would replace them all",
                self.stack,
                f"emporion down {self.stack} first",
                ExitCode.FAILED,
            )
        self.pulumi.project.write(self.stack, {"emporion:generation": str(self.generation + 1)})
        return self.generation + 1

    def status(self) -> Status:
        """Return what is pinned, what the state holds and what the cloud reports now."""
        known = self.stack in self.pulumi.stacks()
        deployment = self.pulumi.export(self.stack)["deployment"] if known else {}
        state = deployment.get("resources") or []
        resources = [one for one in state if not one["type"].startswith("pulumi:")]
        outputs = next((one.get("outputs") or {} for one in state if one["type"] == "pulumi:pulumi:Stack"), {})
        nodes = tuple(self.nodes())
        there = [node for _, node in nodes if node.state in {"pending", "running"}]
        wanted = {pool.name: pool.count for pool in self.placement.pools} if resources else {}
        missing = {name: count - sum(node.pool == name for node in there) for name, count in wanted.items()}
        return Status(
            self.stack,
            self.pulumi.world,
            self.placement,
            len(resources),
            len(deployment.get("pending_operations") or []),
            {key: SECRET_SHOWN if SIGNATURE in str(value) else value for key, value in outputs.items()},
            nodes,
            {name: count for name, count in missing.items() if count > 0},
        )

    def _assert_quota(self) -> None:
        """Raise UserError E-QUOTA when the account may not run a pool at all, before anything is made for it."""
        for pool in self.placement.pools:
            limit = self.api(Place(pool.provider, pool.region)).quota(pool.instance_type, pool.market.value)
            if limit is not None and pool.count > limit:
                raise UserError(
                    "E-QUOTA",
                    f"{pool.count} x {pool.instance_type} {pool.market.value} is above this account's quota of {limit}",
                    f"{pool.provider} {pool.region}, pool {pool.name}",
                    f"ask the cloud for more, or re-plan: emporion plan INTENT --pin {self.stack}",
                    ExitCode.FAILED,
                )

    def _judged(self, operation: str, outcome: Outcome) -> Outcome:
        if outcome.interrupted:
            raise UserError(
                "E-INTERRUPTED",
                f"{operation} of {self.stack!r} was interrupted; what was done is in the state",
                self.stack,
                f"emporion {operation} {self.stack} goes on, emporion down {self.stack} takes it back",
                ExitCode.INTERRUPTED,
            )
        if not outcome.succeeded:
            raise self._failure(operation, outcome)
        return outcome

    def _failure(self, operation: str, outcome: Outcome) -> UserError:
        """Return one error for a failed operation: the cloud's own code where it gave one, with what to do about it."""
        text = "\n".join(outcome.errors)
        if "currently locked" in text:
            return UserError(
                "E-BUSY",
                f"stack {self.stack!r} is being updated by another process",
                self.stack,
                "wait for it and run again",
                ExitCode.FAILED,
            )
        known = self._classify(text)
        if known is None:
            cause = next((line for line in outcome.errors if "update failed" not in line), "see Pulumi's output above")
            return UserError(
                "E-ENGINE",
                f"{operation} of {self.stack!r} failed: {cause}",
                _resource(outcome),
                self._ways_on(operation),
                ExitCode.FAILED,
            )
        error, line = known
        return UserError(
            f"E-{error.kind.value.upper().replace('_', '-')}",
            f"{error.code}: {line}",
            _resource(outcome),
            f"{error.fix}; {self._ways_on(operation, error.kind)}",
            ExitCode.FAILED,
        )

    def _classify(self, text: str) -> tuple[CloudError, str] | None:
        """Return the first known error code of a cloud in `text` and the line in which it stands.

        A code that one of the clouds knows comes before one that none does.
        """
        clouds = [
            self.clouds[provider] for provider in dict.fromkeys(place.provider for place in self.placement.places)
        ]
        unknown: tuple[CloudError, str] | None = None
        for line in text.splitlines():
            for cloud in clouds:
                error = classify(cloud.errors, line)
                if error is not None and error.code in cloud.errors:
                    return error, line.strip()
                if error is not None:
                    unknown = unknown or (error, line.strip())
        return unknown

    def _ways_on(self, operation: str, kind: ErrorKind | None = None) -> str:
        if operation == "down" and kind is ErrorKind.IN_USE:
            return f"or let them go with what they hold: emporion down {self.stack} --delete-data"
        if operation != "up":
            return f"then emporion {operation} {self.stack} again"
        again = f"emporion up {self.stack} keeps what stands and goes on, emporion down {self.stack} rolls it back"
        if kind in {ErrorKind.CAPACITY, ErrorKind.QUOTA, ErrorKind.SPOT_PRICE}:
            name = self.placement.name
            return f"re-plan: emporion plan INTENT --pin {self.stack} (the intent of {name!r}); {again}"
        return again


def open_cluster(
    pulumi: Pulumi,
    stack: str,
    clouds: Mapping[str, Cloud],
    report: Callable[[str], None],
    policies: Mapping[str, Any] | None = None,
) -> Cluster:
    """Return the cluster of an existing, pinned stack.

    Raises: UserError E-STACK: when there is no such stack; E-UNPINNED: when nothing is pinned to it; E-NO-COMPONENT:
    when its provider has no component in this installation.
    """
    project = pulumi.project
    config = project.require(stack)
    placement = config.pinned(project.config_path(stack))
    if placement is None:
        raise UserError(
            "E-UNPINNED",
            f"nothing is pinned to stack {stack!r}",
            str(project.config_path(stack)),
            f"emporion plan INTENT --pin {stack}",
        )
    assert_installed(placement, clouds, str(project.config_path(stack)))
    return Cluster(pulumi, stack, placement, config.generation, clouds, report, policies)


def assert_installed(placement: PinnedPlacement, clouds: Mapping[str, Cloud], where: str) -> None:
    """Raise UserError E-NO-COMPONENT when a provider of a placement has no component in this installation."""
    for place in placement.places:
        if place.provider not in clouds:
            raise UserError(
                "E-NO-COMPONENT",
                f"{place.provider!r} has no component here; installed: {', '.join(clouds) or 'none'}",
                where,
                f"pip install 'emporion[{place.provider}]', or pin another placement",
            )


def data_problem(api: StoreWatch, store: str, stack: str) -> UserError | None:
    """Return why a store must not be deleted unasked, None when it holds nothing."""
    held = api.holds_data(store)
    if held is False:
        return None
    what = f"store {store} holds data" if held else f"whether store {store} holds data cannot be told"
    return UserError(
        "E-IN-USE",
        f"{what}, and this cloud deletes a store together with its data",
        stack,
        f"move the data away, or let it go too: emporion down {stack} --delete-data",
        ExitCode.FAILED,
    )


def _resource(outcome: Outcome) -> str | None:
    return outcome.failed_urns[0].split("::", 2)[-1] if outcome.failed_urns else None
