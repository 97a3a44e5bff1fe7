"""The network interfaces of a node, card by card.

Two layouts (docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html, read 2026-08):

- `efa`: every EFA interface also carries IP, the first on card 0, device 0, those of the other cards on device 1. Types
  of up to four cards: older images and tools expect it there, and four addresses a node are cheap.
- `efa-only`: one `interface` on card 0 for IP, and an `efa-only` one, which takes no address, on every card with EFA
  (device 1 on card 0, where the first is taken; device 0 elsewhere). Types of 8 to 32 cards, which would otherwise take
  as many addresses a node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from emporion.components.aws.instance_types import InstanceType

__all__ = ["Nic", "nics", "problems"]


@dataclass(frozen=True, slots=True)
class Nic:
    """One network interface of a launch."""

    interface_type: Literal["interface", "efa", "efa-only"]
    card: int
    device: int

    @property
    def takes_address(self) -> bool:
        """Whether it takes a private IPv4 address of the subnet."""
        return self.interface_type != "efa-only"

    @property
    def efa(self) -> bool:
        """Whether it is an EFA interface."""
        return self.interface_type != "interface"


def nics(kind: InstanceType, *, rdma: bool) -> tuple[Nic, ...]:
    """Return the interfaces of one node: a single plain one without `rdma`, else every EFA interface of the type.

    Raises: ValueError: when `rdma` is asked of a type without EFA (`validate.py` refuses that before).
    """
    if not rdma:
        return (Nic("interface", 0, 0),)
    if kind.efa_layout is None or kind.first_efa_card is None:
        raise ValueError(f"{kind.name} has no EFA")
    cards = range(kind.first_efa_card, kind.first_efa_card + kind.efa_interfaces)
    if kind.efa_layout == "efa":
        return tuple(Nic("efa", card, 1 if card else 0) for card in cards)
    return (Nic("interface", 0, 0), *(Nic("efa-only", card, 0 if card else 1) for card in cards))


def problems(kind: InstanceType, interfaces: Sequence[Nic]) -> list[str]:
    """Return what EC2 would refuse about these interfaces on this type, nothing when they are right."""
    found: list[str] = []
    places = [(nic.card, nic.device) for nic in interfaces]
    if (0, 0) not in places:
        found.append("no interface on card 0, device 0")
    if len(set(places)) != len(places):
        found.append("two interfaces on the same card and device")
    for nic in interfaces:
        if nic.interface_type == "efa-only" and (nic.card, nic.device) == (0, 0):
            found.append("card 0, device 0 is efa-only, but the primary interface needs an address")
        if nic.card >= kind.network_cards:
            found.append(f"card {nic.card} of {kind.network_cards}")
        if nic.efa and kind.first_efa_card is not None and nic.card < kind.first_efa_card:
            found.append(f"card {nic.card} has no EFA")
    found += _per_card(kind, interfaces)
    if sum(nic.efa for nic in interfaces) > kind.efa_interfaces:
        found.append(f"{sum(nic.efa for nic in interfaces)} EFA interfaces, {kind.name} takes {kind.efa_interfaces}")
    return found


def _per_card(kind: InstanceType, interfaces: Sequence[Nic]) -> list[str]:
    found: list[str] = []
    for card in sorted({nic.card for nic in interfaces}):
        here = [nic for nic in interfaces if nic.card == card]
        if sum(nic.efa for nic in here) > 1:
            found.append(f"{sum(nic.efa for nic in here)} EFA interfaces on card {card}")
        if len(here) > kind.interfaces_per_card:
            found.append(f"{len(here)} interfaces on card {card}, which takes {kind.interfaces_per_card}")
    return found
