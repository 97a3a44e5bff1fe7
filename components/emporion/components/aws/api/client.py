"""One region of AWS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from emporion.components.aws.api import find_ec2, find_iam, find_s3, find_services, machines, quotas
from emporion.components.aws.api.find import Finder
from emporion.components.aws.api.session import Clients, asking, pages, unless_absent
from emporion.components.aws.images import IMAGES
from emporion.market.clouds import CloudNode, FoundImage, Pending
from emporion.market.errors import ExitCode, UserError

__all__ = ["FINDERS", "AwsApi"]

FINDERS: Mapping[str, Finder] = {
    **find_ec2.FINDERS,
    **find_iam.FINDERS,
    **find_s3.FINDERS,
    **find_services.FINDERS,
}
"""Type token -> how to find what a killed create of it made."""


class AwsApi:
    """What operations ask of one region of AWS (`emporion.market.clouds.CloudApi`).

    Every method raises `UserError` E-CREDENTIALS when nobody is logged in, E-CLOUD when AWS refuses, throttles after
    all retries, or cannot be reached.
    """

    def __init__(self, region: str, *, clients: Clients | None = None) -> None:
        """Make no call yet. `clients` are the region's with other settings than the usual ones."""
        self.region = region
        self._clients = clients or Clients(region)

    def account(self) -> str:
        """Return the account's 12 digits."""
        with asking("the account", self.region):
            account: str = self._clients.sts.get_caller_identity()["Account"]
            return account

    def find(self, pending: Pending) -> str | None:
        """Return the id under which the state holds what `pending` made, or None when it made nothing.

        It is the one that the provider gives on create: for routes, associations and event targets not the one that
        `pulumi import` takes. Sources: the `SetId` calls of terraform-provider-aws, 2026-11.
        """
        finder = FINDERS.get(pending.type_token)
        if finder is None:
            raise UserError(
                "E-NO-FINDER",
                f"cannot tell whether a killed update made {pending.urn.rpartition('::')[2]}: "
                f"{pending.type_token} has no finder",
                pending.urn,
                "look for it in the AWS console by its emporion-id tag "
                f"{pending.emporion_id}, delete it, then run the command again",
                ExitCode.FAILED,
            )
        with asking(f"{pending.type_token} {pending.emporion_id}", self.region):
            found = finder(self._clients, pending)
        return None if found in pending.known else found

    def nodes(self, project: str, stack: str) -> Sequence[CloudNode]:
        """Return the stack's machines that are not yet gone, by launch time."""
        with asking(f"the machines of {project}/{stack}", self.region):
            zone_ids = {name: zone_id for zone_id, name in self._zones().items()}
            return machines.nodes(self._clients, f"{project}/{stack}", zone_ids)

    def image(self, purpose: str, arch: str) -> FoundImage:
        """Return the newest image for `purpose` (`gpu`, `controller`) and `arch` (`x86_64`, `arm64`)."""
        query = IMAGES[purpose, arch]
        wanted = [
            {"Name": "name", "Values": [query.name]},
            {"Name": "architecture", "Values": [query.arch]},
            {"Name": "state", "Values": ["available"]},
        ]
        with asking(f"the {purpose} image", self.region):
            images = list(pages(self._clients.ec2, "describe_images", "Images", Owners=[query.owner], Filters=wanted))
        if not images:
            raise UserError(
                "E-CLOUD",
                f"{self.region} has no image {query.name!r} of account {query.owner}",
                f"aws {self.region}",
                "name one in the intent: image.id",
                ExitCode.FAILED,
            )
        newest = max(images, key=lambda image: (image["CreationDate"], image["ImageId"]))
        # Driver and EFA versions stand in the release notes only, never in the API: unknown.
        return FoundImage(newest["ImageId"], newest["Name"], newest["CreationDate"], arch, None, None)

    def zones(self) -> Mapping[str, str]:
        """Return zone id -> this account's zone name, of the region's usable zones (local zones when opted in)."""
        with asking("the zones", self.region):
            return self._zones()

    def _zones(self) -> Mapping[str, str]:
        zones = pages(self._clients.ec2, "describe_availability_zones", "AvailabilityZones")
        return {zone["ZoneId"]: zone["ZoneName"] for zone in sorted(zones, key=lambda zone: zone["ZoneId"])}

    def quota(self, instance_type: str, market: str) -> int | None:
        """Return how many machines of this type the account's quota allows in this market, running ones included.

        None: AWS does not tell (a reservation, a family without a known quota).
        """
        with asking(f"the quota of {instance_type}", self.region):
            return quotas.machines_allowed(self._clients, instance_type, market)

    def notices(self, node_id: str) -> Sequence[Mapping[str, str]]:
        """Return what AWS has announced for a machine (`kind`, `at`: UTC, ISO 8601), by time."""
        with asking(f"notices for {node_id}", self.region):
            return machines.notices(self._clients, node_id)

    def terminate(self, node_id: str) -> None:
        """End one machine. One that has ended already is no error: AWS forgets it after about an hour."""
        with asking(f"the end of {node_id}", self.region):
            unless_absent(
                {"InvalidInstanceID.NotFound"}, lambda: self._clients.ec2.terminate_instances(InstanceIds=[node_id])
            )
