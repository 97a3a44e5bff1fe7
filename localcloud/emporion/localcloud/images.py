"""Machine images of the world: those that every region begins with, and newer ones that are published later."""

from __future__ import annotations

from emporion.localcloud.world import World
from emporion.market.clouds import FoundImage
from emporion.market.stand_in import StandIn

__all__ = ["newest_image", "publish_image"]


def publish_image(
    world: World,
    rules: StandIn,
    region: str,
    purpose: str,
    arch: str,
    *,
    name: str,
    published_at: str | None = None,
    driver_version: str | None = None,
    efa_version: str | None = None,
) -> FoundImage:
    """Publish an image in a region, by default now (UTC, ISO 8601), and return it."""
    image = FoundImage(
        rules.image_id(region, name), name, published_at or world.now(), arch, driver_version, efa_version
    )
    with world.transaction() as connection:
        connection.execute(
            "INSERT OR REPLACE INTO images (provider, region, id, name, purpose, arch, published_at, driver_version,"
            " efa_version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                rules.plugin,
                region,
                image.id,
                name,
                purpose,
                arch,
                image.published_at,
                driver_version,
                efa_version,
            ),
        )
    return image


def newest_image(world: World, rules: StandIn, region: str, purpose: str, arch: str) -> FoundImage | None:
    """Return the newest image for a purpose and architecture, None when the cloud has none."""
    found = [
        FoundImage(
            rules.image_id(region, one.name), one.name, one.published_at, arch, one.driver_version, one.efa_version
        )
        for one in rules.images
        if (one.purpose, one.arch) == (purpose, arch)
    ]
    rows = world.query(
        "SELECT id, name, published_at, arch, driver_version, efa_version FROM images"
        " WHERE provider = ? AND region = ? AND purpose = ? AND arch = ?",
        rules.plugin,
        region,
        purpose,
        arch,
    )
    found.extend(FoundImage(*row) for row in rows)
    return max(found, key=lambda image: (image.published_at or "", image.id), default=None)
