"""Whether a GPU is what it is said to be, and whether it works: findings of named tests, and one status."""

from __future__ import annotations

from dataclasses import dataclass

from emporion.nodes.check.models import COPY_FLOOR, GEMM_FLOOR, Model, against, fitting, named
from emporion.nodes.check.seen import GpuSeen, Measured

__all__ = ["DETECTIONS", "Finding", "Judged", "judge_gpu", "worst"]

DETECTIONS = {
    "lost": ("unhealthy", "NVML answers that the GPU is lost"),
    "identity": ("unhealthy", "attributes of CUDA, NVML or PCI against the table"),
    "identity-measured": (
        "unhealthy",
        "copy, GEMM and the SMs that ran blocks against the claimed band, and inside another",
    ),
    "wrong-result": ("unhealthy", "the result of a kernel against arithmetic"),
    "ecc-uncorrected": (
        "unhealthy",
        "uncorrected errors of memory since the driver was loaded, before and after the load",
    ),
    "remap-failed": ("unhealthy", "the flag of failed row remapping"),
    "xid": ("unhealthy", "critical errors that the driver tells of under load"),
    "overheated": ("unhealthy", "temperature at the slowdown limit, or the hardware's thermal slowdown"),
    "nvlink-down": ("unhealthy", "NVLinks that a board has and that are inactive"),
    "call-failed": ("unhealthy", "an NVML call with an unknown error, as after a reload of the init system"),
    "power-brake": ("degraded", "the hardware's slowdown or power brake bits"),
    "remap-pending": ("degraded", "rows that wait for a reset to be remapped"),
    "pcie-width": ("degraded", "PCIe lanes against the most that the board can"),
    "nvlink-errors": ("degraded", "NVLink errors that came under load"),
    "pcie-replays": ("degraded", "PCIe replays that came under load"),
    "slow": ("degraded", "copy or GEMM under the claimed band, and inside no other"),
    "no-load": ("unknown", "no kernel could run"),
    "unclaimed": ("unknown", "neither a claim nor a name that the table knows"),
    "unseen": ("unknown", "a claim, and no attribute to hold it against"),
    "busy": ("note", "the load is left out where a job runs, or another check"),
    "no-nvlink": ("note", "a board without NVLink hardware, or without its bridge"),
    "mig": ("note", "a GPU cut into instances: what the cut changes is not judged"),
    "power-capped": ("note", "a power limit under 80 % of the default"),
}
"""Which fault is found by which test, and how grave it is."""

_ORDER = ("healthy", "degraded", "unknown", "unhealthy")
_SLOWDOWN_BITS = 0x08 | 0x80
_THERMAL_BITS = 0x40
_CAPPED = 0.80
_ENOUGH = 2
"""Measured figures that have to speak against a claim; fewer are a slow GPU, but for SMs, which are counted."""
_CAPPED_FLOOR = 0.40


@dataclass(frozen=True)
class Finding:
    """One thing that a test found."""

    code: str
    text: str

    @property
    def severity(self) -> str:
        """Return `unhealthy`, `unknown`, `degraded` or `note`."""
        return DETECTIONS[self.code][0]


@dataclass(frozen=True)
class Judged:
    """One GPU, judged."""

    index: int
    status: str
    claimed: tuple[str, ...]
    fits: tuple[str, ...]
    findings: tuple[Finding, ...]


def worst(statuses: list[str]) -> str:
    """Return the gravest status; of none at all, unknown."""
    return max(statuses, key=_ORDER.index) if statuses else "unknown"


def judge_gpu(
    before: GpuSeen,
    after: GpuSeen,
    measured: Measured | None,
    claim: list[str],
    models: dict[str, Model],
    *,
    busy: str | None,
) -> Judged:
    """Return what is to be said of one GPU; without a claim, its name is one. `busy` says why there was no load."""
    said = before.nvml.name or before.cuda.name
    claimed = [models[gpu] for gpu in claim if gpu in models] or ([] if claim else named(said, models))
    findings: list[Finding] = []
    if before.lost or after.lost:
        findings.append(Finding("lost", "the GPU has fallen off the bus"))
        return _judged(before, claim, claimed, [], findings)
    findings += _health(before, after)
    findings += _identity(before, claim, claimed)
    findings += _load(before, measured, claimed, models, busy=busy)
    fits = fitting(before, measured, models)
    if "identity-measured" in (codes := {one.code for one in findings}) and "identity" not in codes:
        fits = fitting(before, measured, models, attributes=False)
    return _judged(before, claim, claimed, fits, findings)


def _judged(seen: GpuSeen, claim: list[str], claimed: list[Model], fits: list[str], findings: list[Finding]) -> Judged:
    status = worst(["healthy", *(one.severity for one in findings if one.severity != "note")])
    told = tuple(claim) or tuple(model.gpu for model in claimed)
    return Judged(seen.index, status, told, tuple(fits), tuple(findings))


def _identity(seen: GpuSeen, claim: list[str], claimed: list[Model]) -> list[Finding]:
    if not claimed:
        what = f"nothing is known of {', '.join(claim)}" if claim else f"the table knows no {seen.nvml.name!r}"
        return [Finding("unclaimed", what)]
    reasons = {model.gpu: against(model, seen) for model in claimed}
    if all(reasons.values()):
        nearest = min(reasons, key=lambda gpu: len(reasons[gpu]))
        return [Finding("identity", f"this is no {nearest}: {'; '.join(reasons[nearest])}")]
    if seen.cuda.compute_capability is None and seen.nvml.compute_capability is None and seen.nvml.pci_id is None:
        return [Finding("unseen", "neither CUDA nor NVML says what the GPU is")]
    return []


def _load(
    seen: GpuSeen, measured: Measured | None, claimed: list[Model], models: dict[str, Model], *, busy: str | None
) -> list[Finding]:
    if measured is None:
        return [Finding("busy", busy or "the load was left out")]
    findings = [Finding("xid", f"XID {xid} under load") for xid in measured.xids]
    if measured.error is not None:
        return [*findings, Finding("no-load", f"no kernel could run: {measured.error}")]
    if measured.correct is False:
        findings.append(Finding("wrong-result", f"a kernel's result is wrong ({measured.how})"))
    if seen.mig or not claimed:
        return findings
    return [*findings, *_speed(seen, measured, claimed, models)]


def _speed(seen: GpuSeen, measured: Measured, claimed: list[Model], models: dict[str, Model]) -> list[Finding]:
    capped = _power_capped(seen)
    floor = _CAPPED_FLOOR if capped else GEMM_FLOOR
    slow = {model.gpu: _under(model, measured, floor) for model in claimed}
    if not all(slow.values()):
        return []
    nearest = min(slow, key=lambda gpu: len(slow[gpu]))
    text = "; ".join(slow[nearest])
    others = [gpu for gpu in fitting(seen, measured, models, attributes=False) if gpu not in slow]
    excused = capped or bool((seen.throttle_bits or 0) & (_SLOWDOWN_BITS | _THERMAL_BITS))
    by_blocks = any(measured.sms is not None and model.sms not in {None, measured.sms} for model in claimed)
    if by_blocks or (others and len(slow[nearest]) >= _ENOUGH and not excused):
        like = f"as {', '.join(others)} would" if others else "as nothing that the table knows would"
        return [Finding("identity-measured", f"this does not run as a {nearest}: {text}; {like}")]
    return [Finding("slow", f"slower than a {nearest}: {text}")]


def _under(model: Model, measured: Measured, gemm_floor: float) -> list[str]:
    said = []
    if _below(measured.copy_gb_s, model.mem_bw_gb_s, COPY_FLOOR):
        said.append(f"copies {measured.copy_gb_s:.0f} GB/s of {model.mem_bw_gb_s:g}")
    if _below(measured.gemm_tflops, model.fp16_tflops, gemm_floor) and "fp16" not in model.unsure:
        said.append(f"multiplies at {measured.gemm_tflops:.0f} TFLOPS of {model.fp16_tflops:g}")
    if measured.sms is not None and model.sms is not None and "sms" not in model.unsure and measured.sms != model.sms:
        said.append(f"blocks ran on {measured.sms} SMs, not on {model.sms}")
    return said


def _below(got: float | None, published: float | None, floor: float) -> bool:
    return got is not None and published is not None and got < floor * published


def _power_capped(seen: GpuSeen) -> bool:
    return bool(seen.power_limit_w and seen.power_default_w and seen.power_limit_w < _CAPPED * seen.power_default_w)


def _health(before: GpuSeen, after: GpuSeen) -> list[Finding]:
    tests = [
        (
            "call-failed",
            bool(after.faults),
            "; ".join(f"{call}: {text}" for call, text in sorted(after.faults.items())),
        ),
        ("ecc-uncorrected", bool(after.ecc_uncorrected), f"{after.ecc_uncorrected} uncorrected errors of memory"),
        ("remap-failed", bool(after.remap_failed), "rows of memory could not be remapped"),
        ("remap-pending", bool(after.remap_pending), "rows of memory wait for a reset to be remapped"),
        ("nvlink-down", bool(after.nvlinks_down) and not _no_links(after), f"{after.nvlinks_down} NVLinks are down"),
        ("nvlink-errors", _grew(before.nvlink_errors, after.nvlink_errors), "NVLink errors came under load"),
        ("pcie-replays", _grew(before.pcie_replays, after.pcie_replays), "PCIe replays came under load"),
        ("overheated", _hot(after), f"{after.temperature_c} °C; slowdown begins at {after.slowdown_c}"),
        ("power-brake", bool((after.throttle_bits or 0) & _SLOWDOWN_BITS), "the hardware slows the clocks down"),
        ("pcie-width", _narrow(after), f"PCIe x{after.pcie_width} of x{after.pcie_width_max}"),
        ("no-nvlink", _no_links(after), "NVLink is refuted: no NVLink hardware, or no bridge"),
        ("mig", after.mig, "the GPU is cut into instances"),
        ("power-capped", _power_capped(after), f"limited to {after.power_limit_w} of {after.power_default_w} W"),
    ]
    return [Finding(code, text) for code, met, text in tests if met]


def _no_links(seen: GpuSeen) -> bool:
    """Return whether a board has no NVLink in use: it has none, or it is a PCIe board without a bridge."""
    if seen.nvlinks_up != 0:
        return False
    return not seen.nvlinks_down or "pci" in (seen.nvml.name or "").lower()


def _grew(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and after > before


def _hot(seen: GpuSeen) -> bool:
    if (seen.throttle_bits or 0) & _THERMAL_BITS:
        return True
    return seen.temperature_c is not None and seen.slowdown_c is not None and seen.temperature_c >= seen.slowdown_c


def _narrow(seen: GpuSeen) -> bool:
    return seen.pcie_width is not None and seen.pcie_width_max is not None and seen.pcie_width < seen.pcie_width_max
