"""CUDA's driver library: what a GPU says that it is, how fast it copies, and which multiprocessors run our blocks.

The kernel is ours, in PTX for the oldest architecture, so that each driver translates it for its own. It computes a
linear congruence, whose result is known in closed form, and each block writes down which multiprocessor it ran on.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

from emporion.nodes.check.seen import Attributes, Measured

__all__ = ["KERNEL_PTX", "Cuda", "CudaFault", "expected_word"]

KERNEL_PTX = """\
.version 6.0
.target sm_50
.address_size 64
.visible .entry emporion_probe(.param .u64 results, .param .u64 places, .param .u32 rounds)
{
    .reg .pred %more, %first;
    .reg .b32 %rounds, %block, %size, %thread, %id, %word, %place;
    .reg .b64 %results, %places, %offset, %address;
    ld.param.u64 %results, [results];
    ld.param.u64 %places, [places];
    ld.param.u32 %rounds, [rounds];
    cvta.to.global.u64 %results, %results;
    cvta.to.global.u64 %places, %places;
    mov.u32 %block, %ctaid.x;
    mov.u32 %size, %ntid.x;
    mov.u32 %thread, %tid.x;
    mad.lo.u32 %id, %block, %size, %thread;
    mov.u32 %word, %id;
again:
    mad.lo.u32 %word, %word, 1664525, 1013904223;
    sub.u32 %rounds, %rounds, 1;
    setp.ne.u32 %more, %rounds, 0;
    @%more bra again;
    mul.wide.u32 %offset, %id, 4;
    add.u64 %address, %results, %offset;
    st.global.u32 [%address], %word;
    setp.ne.u32 %first, %thread, 0;
    @%first bra done;
    mov.u32 %place, %smid;
    mul.wide.u32 %offset, %block, 4;
    add.u64 %address, %places, %offset;
    st.global.u32 [%address], %place;
done:
    ret;
}
"""
_A, _C, _WORD = 1664525, 1013904223, 1 << 32
_ATTRIBUTES = {"sms": 16, "bus_bits": 37, "l2": 38, "major": 75, "minor": 76}
_BUFFER_BYTES = 256 << 20
_COPIES = 8
_BLOCKS, _THREADS, _ROUNDS = 4096, 128, 20_000


class CudaFault(Exception):  # noqa: N818 - it is the GPU's fault, not an error of ours
    """A call of CUDA that failed, or that is not there."""


def expected_word(number: int, rounds: int) -> int:
    """Return what thread `number` computes in `rounds` rounds, in closed form."""
    factor = pow(_A, rounds, _WORD * (_A - 1))
    return (factor % _WORD * number + _C * ((factor - 1) // (_A - 1))) % _WORD


class Cuda:
    """The driver library, opened once."""

    def __init__(self, name: str = "libcuda.so.1") -> None:
        """Open it. Raises: CudaFault: when it is not there, or does not start."""
        try:
            self.api: Any = ctypes.CDLL(name)
        except OSError as error:
            raise CudaFault(str(error)) from None
        self.call("cuInit", ctypes.c_uint(0))

    def call(self, name: str, *arguments: Any) -> None:  # noqa: ANN401 - as C takes them
        """Call a function. Raises: CudaFault: when it is not there, or answers other than 0."""
        try:
            function = getattr(self.api, name)
        except AttributeError:
            raise CudaFault(f"the driver has no {name}") from None
        answered = function(*arguments)
        if answered:
            raise CudaFault(f"{name} answers {answered}")

    def device(self, uuid: str | None, index: int) -> int:
        """Return the device of a UUID as NVML writes it, for CUDA numbers devices in its own order."""
        count, device = ctypes.c_int(), ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        for at in range(count.value):
            self.call("cuDeviceGet", ctypes.byref(device), at)
            if uuid is not None and self._uuid(device.value) == uuid.lower():
                return device.value
        self.call("cuDeviceGet", ctypes.byref(device), index)
        return device.value

    def _uuid(self, device: int) -> str | None:
        raw = (ctypes.c_ubyte * 16)()
        try:
            self.call("cuDeviceGetUuid", ctypes.byref(raw), device)
        except CudaFault:
            return None
        text = bytes(raw).hex()
        return f"gpu-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def attributes(self, device: int) -> Attributes:
        """Return what CUDA says that a device is; what it does not answer is None."""
        found: dict[str, int | None] = {}
        for name, number in _ATTRIBUTES.items():
            value = ctypes.c_int()
            try:
                self.call("cuDeviceGetAttribute", ctypes.byref(value), number, device)
            except CudaFault:
                found[name] = None
            else:
                found[name] = value.value
        name_buffer, total = ctypes.create_string_buffer(128), ctypes.c_size_t()
        self.call("cuDeviceGetName", name_buffer, 128, device)
        self.call("cuDeviceTotalMem_v2", ctypes.byref(total), device)
        major, minor, l2 = found["major"], found["minor"], found["l2"]
        return Attributes(
            name=name_buffer.value.decode("utf-8", "replace"),
            compute_capability=(major, minor) if major is not None and minor is not None else None,
            sms=found["sms"],
            bus_bits=found["bus_bits"],
            l2_mb=l2 / (1 << 20) if l2 is not None else None,
            memory_mib=total.value >> 20,
        )

    def measure(self, device: int, seconds: float) -> Measured:
        """Return what a device does under our load; an error in it where nothing could run."""
        context = ctypes.c_void_p()
        try:
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            try:
                self.call("cuCtxSetCurrent", context)
                places, correct = self._run()
                return Measured("driver", copy_gb_s=self._copy(seconds), sms=places, correct=correct)
            finally:
                self.call("cuDevicePrimaryCtxRelease_v2", device)
        except CudaFault as fault:
            return Measured("driver", error=str(fault))

    def _memory(self, size: int) -> ctypes.c_uint64:
        pointer = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(size))
        return pointer

    def _run(self) -> tuple[int, bool]:
        """Run the kernel, and return how many multiprocessors took blocks and whether what they computed is right."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), KERNEL_PTX.encode())
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"emporion_probe")
        threads = _BLOCKS * _THREADS
        results, places = self._memory(threads * 4), self._memory(_BLOCKS * 4)
        rounds = ctypes.c_uint32(_ROUNDS)
        given = [ctypes.cast(ctypes.byref(one), ctypes.c_void_p) for one in (results, places, rounds)]
        parameters = (ctypes.c_void_p * 3)(*given)
        self.call("cuLaunchKernel", function, _BLOCKS, 1, 1, _THREADS, 1, 1, 0, None, parameters, None)
        self.call("cuCtxSynchronize")
        words, where = (ctypes.c_uint32 * threads)(), (ctypes.c_uint32 * _BLOCKS)()
        self.call("cuMemcpyDtoH_v2", words, results, ctypes.c_size_t(threads * 4))
        self.call("cuMemcpyDtoH_v2", where, places, ctypes.c_size_t(_BLOCKS * 4))
        for pointer in (results, places):
            self.call("cuMemFree_v2", pointer)
        self.call("cuModuleUnload", module)
        factor, start = expected_word(1, _ROUNDS) - expected_word(0, _ROUNDS), expected_word(0, _ROUNDS)
        right = all(word == (factor * number + start) % _WORD for number, word in enumerate(words))
        return len(set(where)), right

    def _copy(self, seconds: float) -> float:
        """Return the bytes read and written per second while one buffer is copied to another, in 10^9."""
        source, target = self._memory(_BUFFER_BYTES), self._memory(_BUFFER_BYTES)
        size = ctypes.c_size_t(_BUFFER_BYTES)
        try:
            self.call("cuMemsetD32_v2", source, ctypes.c_uint32(0x5EED), ctypes.c_size_t(_BUFFER_BYTES // 4))
            self.call("cuMemcpyDtoD_v2", target, source, size)
            self.call("cuCtxSynchronize")
            best, ends = 0.0, time.perf_counter() + seconds
            while time.perf_counter() < ends or not best:
                began = time.perf_counter()
                for _ in range(_COPIES):
                    self.call("cuMemcpyDtoD_v2", target, source, size)
                self.call("cuCtxSynchronize")
                best = max(best, 2 * _COPIES * _BUFFER_BYTES / (time.perf_counter() - began) / 1e9)
        finally:
            self.call("cuMemFree_v2", source)
            self.call("cuMemFree_v2", target)
        return best
