"""Every key of a document of machines: how its text is read, and what it means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

from emporion.market.dates import moment
from emporion.market.errors import UserError
from emporion.market.gpu_names import resolve_gpu
from emporion.market.gpus import check_label
from emporion.market.intent.keys import Key, Section
from emporion.market.intent.readers import choice, matching
from emporion.market.money import Money, Rate, parse_money
from emporion.market.offer import Fabric, Nvlink
from emporion.market.offers.extras import package_names
from emporion.market.offers.owned import OWNED
from emporion.market.offers.row_prices import ON_PREMISES
from emporion.market.offers.shape import RowError
from emporion.market.units import parse_bandwidth, parse_memory, shown

__all__ = ["ROOT"]

_MAX_GPUS = 4096


def _whole(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text.strip()) or int(text) > _MAX_GPUS:
        raise UserError("E-COUNT", f"{shown(text)} is not a whole number of 0 to {_MAX_GPUS}", fix="write gpus: 8")
    return int(text)


def _gpu(text: str) -> str:
    resolve_gpu(text)
    return text.strip()


def _price(text: str, rates: Mapping[str, Rate]) -> Money:
    nothing = re.fullmatch(r"\$?\s*0+(\.0+)?\s*(USD)?((?:/gpu)?/(?:h|hr|hour))?", text.strip(), re.IGNORECASE)
    money = Money(Decimal(0), period="hour") if nothing else parse_money(text, rates)
    if money.period != "hour":
        raise UserError("E-MONEY", f"{shown(text)} is not per hour", fix="write price: $12/hr, or $1.50/gpu/hr")
    return money


def _degrees(most: int) -> Callable[[str], str]:
    def read(text: str) -> str:
        word = text.strip()
        if not re.fullmatch(r"-?[0-9]{1,3}(\.[0-9]{1,9})?", word) or abs(Decimal(word)) > most:
            raise UserError("E-RANGE", f"{shown(text)} is not between -{most} and {most} degrees", fix="write degrees")
        return word

    return read


def _day(text: str) -> str:
    try:
        moment(text.strip())
    except ValueError:
        raise UserError("E-VALUE", f"{shown(text)} is not a date", fix="write as_of: 2026-11-30") from None
    return text.strip()


def _package(text: str) -> str:
    try:
        found = package_names(text)
    except RowError as error:
        raise UserError("E-VALUE", error.reason, fix="write preinstalled: [pytorch==2.1.0, nccl]") from None
    return " ".join(found) or "none"


def _percent(text: str) -> str:
    word = text.strip().removesuffix("%").strip()
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", word) or Decimal(word) > 100:  # noqa: PLR2004 - per cent
        raise UserError("E-RANGE", f"{shown(text)} is not a share of 0 to 100 per cent", fix="write sla: 99.5%")
    return word


_NAME = matching(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", "a name of letters, digits, . _ -", "name: rack-a")
_PLACE = matching(r"[a-z0-9][a-z0-9._-]{0,62}", "a name of small letters, digits, . _ -", "region: berlin")
_VERSION = matching(r"[0-9]{1,6}(\.[0-9]{1,6}){0,4}", "a version", 'cuda: "12.4"')
_TEXT = matching(r"[^\x00-\x1f\x7f]{1,150}", "a text of at most 150 characters", "source: invoice 4711")

_MACHINES = Section(
    "machines",
    "The kinds of machine.",
    (
        Key("name", "Its machine type.", _NAME, "rack-a"),
        Key("label", "Capability label: model and memory of its GPUs.", check_label, "a100-80gb"),
        Key("gpu", "Model of its GPUs, where no label names the board.", _gpu, "h100-80gb-sxm"),
        Key("gpus", "GPUs of one machine.", _whole, "8", default="1"),
        Key("vram", "Memory of one GPU, to check the label by.", parse_memory, "80gb"),
        Key("vcpus", "Virtual CPUs of one machine.", _whole, "128"),
        Key("memory", "Memory of one machine.", parse_memory, "1tb"),
        Key("arch", "Processor.", matching(r"x86_64|arm64", "x86_64 or arm64", "arch: x86_64"), "x86_64"),
        Key("cuda", "Version of CUDA.", _VERSION, "12.4"),
        Key("driver", "Version of the GPU's driver.", _VERSION, "550.54"),
        Key("os", "Operating system.", _TEXT, "ubuntu-22.04"),
        Key("preinstalled", "Software that is there.", _package, "pytorch==2.1.0", many=True),
        Key("sla", "Promised availability.", _percent, "99.5%"),
        Key("nvlink", "How its GPUs are joined.", choice(*Nvlink), "nvswitch", tuple(Nvlink)),
        Key("nvlink_bandwidth", "NVLink bandwidth of one GPU, both directions.", parse_bandwidth, "600GB/s"),
        Key("fabric", "Network between the machines.", choice(*Fabric), "infiniband", tuple(Fabric)),
        Key("fabric_bandwidth", "Bandwidth of the fabric, of one machine.", parse_bandwidth, "1600gbps"),
        Key("network_bandwidth", "Bandwidth of the network, of one machine.", parse_bandwidth, "100gbps"),
        Key("price", "Price of one machine, or of one GPU.", _price, "$12/hr", money=True),
        OWNED,
    ),
    many=True,
)
ROOT = Section(
    "",
    "Machines that are registered.",
    (
        Key("provider", "Who rents them.", _PLACE, "my-lab", default=ON_PREMISES),
        Key("region", "Where they stand.", _PLACE, "berlin"),
        Key("zone", "A part of the region that shares a network.", _PLACE, "hall-2"),
        Key("latitude", "Of the region.", _degrees(90), "52.52"),
        Key("longitude", "Of the region.", _degrees(180), "13.40"),
        Key("source", "Where the figures come from.", _TEXT, "invoice 4711"),
        Key("as_of", "Date of the figures; today when left out.", _day, "2026-11-30"),
        _MACHINES,
    ),
)
