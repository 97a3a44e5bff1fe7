"""One region of one Azure subscription."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from emporion.components.azure.api import machines, quotas
from emporion.components.azure.api.find import FINDERS
from emporion.components.azure.api.rest import Rest
from emporion.components.azure.images import image_queries
from emporion.components.azure.plan import CHECKPOINTS
from emporion.market.clouds import CloudNode, FoundImage, Pending
from emporion.market.errors import ExitCode, UserError

__all__ = ["AzureApi"]

_ARCHITECTURES = {"x64": "x86_64", "arm64": "arm64"}
_SUBSCRIPTIONS = "2022-12-01"
LOGS = "bootstrap-logs/"
_PREFIX = re.compile(r"<BlobPrefix><Name>([^<]*)</Name>")


class AzureApi:
    """What operations ask of one region of Azure (`emporion.market.clouds.CloudApi`).

    Every method raises `UserError` E-CREDENTIALS when nobody is logged in, E-CLOUD when Azure refuses, throttles after
    all retries, or cannot be reached.
    """

    def __init__(self, region: str, *, rest: Rest | None = None) -> None:
        """Make no request yet."""
        self.region = region
        self._rest = rest or Rest(region)

    def account(self) -> str:
        """Return the subscription's id."""
        body = self._rest.get(self._rest.subscription, _SUBSCRIPTIONS)
        if body is None:
            raise self._lacks("subscription", self._rest.token.subscription, "az account set --subscription ID")
        return str(body["subscriptionId"])

    def find(self, pending: Pending) -> str | None:
        """Return the id under which the state holds what `pending` made, or None when it made nothing."""
        finder = FINDERS.get(pending.type_token)
        if finder is None:
            raise UserError(
                "E-NO-FINDER",
                f"cannot tell whether a killed update made {pending.urn.rpartition('::')[2]}: "
                f"{pending.type_token} has no finder",
                pending.urn,
                f"look for it in the Azure portal by its emporion-id tag {pending.emporion_id}, delete it, then run "
                "the command again",
                ExitCode.FAILED,
            )
        found = finder(self._rest, pending)
        return None if found in pending.known else found

    def nodes(self, project: str, stack: str) -> Sequence[CloudNode]:
        """Return the stack's machines that are not yet gone, by launch time."""
        physical = {logical: zone for zone, logical in self.zones().items()}
        return machines.nodes(self._rest, f"{project}/{stack}", physical)

    def image(self, purpose: str, arch: str) -> FoundImage:
        """Return the newest image for `purpose` (`gpu`, `controller`) and `arch` (`x86_64`, `arm64`).

        Azure does not tell when a version was published, nor its driver: unknown.
        """
        query = image_queries().get((purpose, arch))
        if query is None:
            raise self._lacks(f"{purpose} image", arch, "name one in the intent: image.id")
        path = (
            f"{self._rest.subscription}/providers/Microsoft.Compute/locations/{self.region}/publishers/"
            f"{query.publisher}/artifacttypes/vmimage/offers/{query.offer}/skus/{query.sku}/versions"
        )
        versions = [str(item["name"]) for item in self._versions(path)]
        if not versions:
            raise self._lacks(f"{purpose} image", query.urn("*"), "name one in the intent: image.id")
        newest = max(versions, key=_numbers)
        body = self._rest.get(f"{path}/{newest}", machines.COMPUTE) or {}
        properties = body.get("properties") or {}
        built_for = _ARCHITECTURES.get(str(properties.get("architecture") or "x64").lower())
        if built_for != arch:
            raise self._lacks(f"{purpose} image", f"{query.urn(newest)} is for {built_for}", "image.id")
        urn = query.urn(newest).removesuffix("#plan") + ("#plan" if properties.get("plan") else "")
        return FoundImage(urn, f"{query.offer} {query.sku} {newest}", None, arch, None, None)

    def _versions(self, path: str) -> Sequence[Mapping[str, object]]:
        """Return the versions of an image: this list alone is a bare array in Azure's interface."""
        return self._rest.bare_list(path, machines.COMPUTE)

    def zones(self) -> Mapping[str, str]:
        """Return physical zone -> this subscription's logical zone; none of a region without zones."""
        for item in self._rest.all(f"{self._rest.subscription}/locations", _SUBSCRIPTIONS):
            if item.get("name") == self.region:
                found = {str(each["physicalZone"]): str(each["logicalZone"]) for each in _mappings(item)}
                return dict(sorted(found.items()))
        raise self._lacks("region", self.region, "plan for another region: constraints.regions")

    def quota(self, instance_type: str, market: str) -> int | None:
        """Return how many machines of this size the quotas allow in this market, running ones included.

        None: Azure does not tell (a reservation, a size or a family without a known quota).
        """
        return quotas.machines_allowed(self._rest, instance_type, market)

    def notices(self, node_id: str) -> Sequence[Mapping[str, str]]:
        """Return what Azure has announced for a machine (`kind`, `at`: UTC, ISO 8601), by time."""
        return machines.notices(self._rest, node_id)

    def terminate(self, node_id: str) -> None:
        """End one machine; its scale set is smaller by one from then on. One that has ended already is no error."""
        self._rest.delete(node_id, machines.COMPUTE)

    def holds_data(self, store: str) -> bool | None:
        """Return whether a storage account holds checkpoints, the nodes' own logs not counted; None: not told.

        Azure deletes an account together with its data (`emporion.market.clouds.StoreWatch`).
        """
        listed = self._rest.blobs(store, CHECKPOINTS)
        if listed is None:
            return None
        return "<Blob>" in listed or any(name != LOGS for name in _PREFIX.findall(listed))

    def _lacks(self, what: str, which: str, fix: str) -> UserError:
        return UserError(
            "E-CLOUD", f"this subscription has no {what} {which}", f"azure {self.region}", fix, ExitCode.FAILED
        )


def _mappings(location: Mapping[str, object]) -> Sequence[Mapping[str, object]]:
    found = location.get("availabilityZoneMappings") or ()
    return found if isinstance(found, list) else ()


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
