"""The probe of a real node: NVML or nvidia-smi for what the driver tells, CUDA for what the GPU is, torch for load."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

from emporion.nodes.check.cuda import Cuda, CudaFault
from emporion.nodes.check.nvml import Nvml
from emporion.nodes.check.seen import GpuSeen, Measured, NodeSeen
from emporion.nodes.check.smi import look_by_smi
from emporion.nodes.check.torch_load import measure_by_torch

__all__ = ["NodeProbe"]


def _module(name: str) -> Any:  # noqa: ANN401 - a module, or None
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class NodeProbe:
    """Looks at the node that it runs on."""

    def __init__(self) -> None:
        """Open what there is. Raises: ProbeFault: when the driver cannot be asked."""
        pynvml = _module("pynvml")
        self.nvml = Nvml(pynvml) if pynvml is not None else None
        self.uuids: dict[int, str | None] = {}
        self.cuda_fault: str | None = None
        try:
            self.cuda: Cuda | None = Cuda()
        except CudaFault as fault:
            self.cuda, self.cuda_fault = None, str(fault)

    def look(self) -> NodeSeen:
        """Return what is seen now."""
        seen = self.nvml.look() if self.nvml is not None else look_by_smi()
        self.uuids = {gpu.index: gpu.uuid for gpu in seen.gpus}
        return replace(seen, gpus=tuple(self._with_cuda(gpu) for gpu in seen.gpus))

    def _with_cuda(self, gpu: GpuSeen) -> GpuSeen:
        if self.cuda is None or gpu.lost:
            return gpu
        try:
            return replace(gpu, cuda=self.cuda.attributes(self.cuda.device(gpu.uuid, gpu.index)))
        except CudaFault:
            return gpu

    def load(self, index: int, seconds: float) -> Measured:
        """Put load on one GPU: torch where the image has it, and always our own kernel."""
        events = self.nvml.watch(index) if self.nvml is not None else None
        measured = self._measured(index, seconds)
        return replace(measured, xids=self.nvml.xids(events)) if self.nvml is not None else measured

    def _measured(self, index: int, seconds: float) -> Measured:
        if self.cuda is None:
            return Measured("driver", error=self.cuda_fault)
        try:
            device = self.cuda.device(self.uuids.get(index), index)
        except CudaFault as fault:
            return Measured("driver", error=str(fault))
        torch = _module("torch")
        own = self.cuda.measure(device, seconds / 4 if torch is not None else seconds)
        if torch is None or own.error is not None:
            return own
        by_torch = measure_by_torch(torch, device, seconds * 3 / 4)
        if by_torch.error is not None:
            return replace(by_torch, how="torch and driver")
        return Measured(
            "torch and driver",
            copy_gb_s=max(own.copy_gb_s or 0.0, by_torch.copy_gb_s or 0.0),
            gemm_tflops=by_torch.gemm_tflops,
            sms=own.sms,
            correct=own.correct and by_torch.correct,
        )
