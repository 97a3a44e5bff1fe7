"""What the world has of machines: capacity per place and type, and the account's quotas. Without a row: no limit."""

from __future__ import annotations

from emporion.localcloud.delays import quota_answer_s
from emporion.localcloud.world import World
from emporion.market.errors import UserError

__all__ = ["ANY", "machine_limit", "quota_limit", "request_quota", "set_capacity", "set_quota"]

ANY = "*"


def set_capacity(
    world: World,
    provider: str,
    region: str,
    instance_type: str,
    machines: int | None,
    *,
    zone: str = ANY,
) -> None:
    """Set how many machines of a type a region or zone has, running ones included; None: no limit again.

    `*` stands for any provider, region, zone or type; with `*` the number holds for each of them by itself, and the
    most exact entry counts.
    Raises: UserError E-CAPACITY: when the number is negative.
    """
    _refuse_negative(machines)
    with world.transaction() as connection:
        connection.execute(
            "DELETE FROM capacity WHERE provider = ? AND region = ? AND zone = ? AND instance_type = ?",
            (provider, region, zone, instance_type),
        )
        if machines is not None:
            connection.execute(
                "INSERT INTO capacity VALUES (?, ?, ?, ?, ?)",
                (provider, region, zone, instance_type, machines),
            )


def machine_limit(
    world: World, provider: str, region: str, zones: tuple[str, str], instance_type: str
) -> tuple[int, str] | None:
    """Return the capacity for a type in a zone and the zone that it counts over (`*`: the region); None: no limit.

    `zones`: the zone's name and its id; capacity may be set by either.
    """
    rows = world.query(
        "SELECT machines, zone FROM capacity WHERE provider IN ('*', ?) AND region IN ('*', ?) AND zone IN ('*', ?, ?)"
        " AND instance_type IN ('*', ?)"
        " ORDER BY zone = '*', instance_type = '*', region = '*', provider = '*' LIMIT 1",
        provider,
        region,
        *zones,
        instance_type,
    )
    return (int(rows[0][0]), str(rows[0][1])) if rows else None


def set_quota(
    world: World,
    provider: str,
    region: str,
    instance_type: str,
    machines: int | None,
    *,
    market: str = ANY,
) -> None:
    """Set how many machines of a type the account may run in a region; None: no limit again. `*` as for capacity.

    Raises: UserError E-CAPACITY: when the number is negative.
    """
    _refuse_negative(machines)
    with world.transaction() as connection:
        connection.execute(
            "DELETE FROM quotas WHERE provider = ? AND region = ? AND instance_type = ? AND market = ?",
            (provider, region, instance_type, market),
        )
        if machines is not None:
            connection.execute(
                "INSERT INTO quotas VALUES (?, ?, ?, ?, ?)", (provider, region, instance_type, market, machines)
            )


def request_quota(
    world: World, provider: str, region: str, instance_type: str, machines: int | None, *, market: str = ANY
) -> float:
    """Ask for a quota as one asks a cloud, and return when it is answered, seconds since 1970 in the world's time.

    Raises: UserError E-CAPACITY: when the number is negative.
    """
    _refuse_negative(machines)
    key = f"{provider}/{region}/{instance_type}/{market}"
    with world.transaction() as connection:
        answer_s = world.time_s() + quota_answer_s(world, provider, f"{key}/{world.ordinal(key)}")
        connection.execute(
            "INSERT INTO quota_requests (plugin, region, instance_type, market, machines, answer_s)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (provider, region, instance_type, market, machines, answer_s),
        )
    return answer_s


def quota_limit(world: World, provider: str, region: str, instance_type: str, market: str) -> tuple[int, str] | None:
    """Return the quota for a type and the market that it counts over (`*`: all); None: no limit."""
    rows = world.query(
        "SELECT machines, market FROM quotas WHERE provider IN ('*', ?) AND region IN ('*', ?)"
        " AND instance_type IN ('*', ?) AND market IN ('*', ?)"
        " ORDER BY market = '*', instance_type = '*', region = '*', provider = '*' LIMIT 1",
        provider,
        region,
        instance_type,
        market,
    )
    return (int(rows[0][0]), str(rows[0][1])) if rows else None


def _refuse_negative(machines: int | None) -> None:
    if machines is not None and machines < 0:
        raise UserError(
            "E-CAPACITY",
            f"{machines} machines cannot be: the number is 0 or more",
            None,
            "give 0 for none, or a larger number",
        )
