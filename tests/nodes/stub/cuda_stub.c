/* A libcuda.so.1 for machines without a GPU. Keys that begin with `cuda_` are what its attributes say; `real_sms` and
 * `real_gb_s` are what its work shows, so that a GPU can lie about all that it says. It runs one kernel, ours: it computes
 * what that computes. `cuda_wrong=1` spoils a result; built with -DNO_LAUNCH it has no call that starts a kernel. */
#include "conf.h"
#include <stdint.h>
#include <time.h>

typedef unsigned int uint;
static int current;
static double owed_s;

static int fault(const char *call) {
    char key[96];
    snprintf(key, sizeof key, "cuda_err.%s", call);
    return (int)number(current, key, 0);
}
API int cuInit(uint flags) { (void)flags; return fault("cuInit"); }
API int cuDeviceGetCount(int *out) { *out = (int)number(-1, "count", 8); return 0; }
API int cuDeviceGet(int *out, int index) { *out = index; return index < number(-1, "count", 8) ? 0 : 101; }
API int cuDeviceGetUuid(unsigned char *out, int gpu) {
    memset(out, 0, 16);
    out[6] = 0x40, out[8] = 0x80, out[14] = 0xa1, out[15] = (unsigned char)gpu;
    return 0;
}
API int cuDeviceGetName(char *out, int size, int gpu) {
    char name[128];
    text(gpu, "cuda_name", "NVIDIA A100-SXM4-80GB", name, sizeof name);
    snprintf(out, (size_t)size, "%s", name);
    return 0;
}
API int cuDeviceTotalMem_v2(size_t *out, int gpu) { *out = (size_t)(number(gpu, "cuda_memory_mib", 81050) * 1048576); return 0; }
API int cuDeviceGetAttribute(int *out, int attribute, int gpu) {
    switch (attribute) {
    case 16: *out = (int)number(gpu, "cuda_sms", 108); return 0;
    case 37: *out = (int)number(gpu, "cuda_bus_bits", 5120); return 0;
    case 38: *out = (int)(number(gpu, "cuda_l2_mb", 40) * 1048576); return 0;
    case 75: *out = (int)number(gpu, "cuda_cc_major", 8); return 0;
    case 76: *out = (int)number(gpu, "cuda_cc_minor", 0); return 0;
    default: return 1;
    }
}
API int cuDevicePrimaryCtxRetain(void **out, int gpu) { current = gpu; *out = &current; return fault("cuDevicePrimaryCtxRetain"); }
API int cuDevicePrimaryCtxRelease_v2(int gpu) { (void)gpu; return 0; }
API int cuCtxSetCurrent(void *context) { (void)context; return 0; }
API int cuMemAlloc_v2(uint64_t *out, size_t size) { void *memory = calloc(1, size < 4096 ? 4096 : size); *out = (uint64_t)(uintptr_t)memory; return memory ? 0 : 2; }
API int cuMemFree_v2(uint64_t memory) { free((void *)(uintptr_t)memory); return 0; }
API int cuMemsetD32_v2(uint64_t memory, uint word, size_t count) { *(uint *)(uintptr_t)memory = word; (void)count; return 0; }
API int cuMemcpyDtoH_v2(void *out, uint64_t memory, size_t size) { memcpy(out, (void *)(uintptr_t)memory, size); return 0; }
API int cuMemcpyDtoD_v2(uint64_t out, uint64_t in, size_t size) {
    (void)out; (void)in;
    owed_s += 2.0 * (double)size / (number(current, "real_gb_s", 1750) * 1e9);
    return fault("cuMemcpyDtoD_v2");
}
API int cuCtxSynchronize(void) {
    struct timespec wait = {(time_t)owed_s, (long)((owed_s - (double)(time_t)owed_s) * 1e9)};
    nanosleep(&wait, NULL);
    owed_s = 0;
    return fault("cuCtxSynchronize");
}
API int cuModuleLoadData(void **out, const void *image) { *out = &current; return strstr(image, ".entry emporion_probe") ? fault("cuModuleLoadData") : 200; }
API int cuModuleGetFunction(void **out, void *module, const char *name) { *out = module; return strcmp(name, "emporion_probe") ? 500 : 0; }
API int cuModuleUnload(void *module) { (void)module; return 0; }
#ifndef NO_LAUNCH
API int cuLaunchKernel(void *function, uint blocks, uint y, uint z, uint threads, uint ty, uint tz, uint shared, void *stream,
                       void **given, void **extra) {
    uint *results = *(uint **)given[0], *places = *(uint **)given[1], rounds = *(uint *)given[2];
    uint sms = (uint)number(current, "real_sms", 108), step = 1, start = 0;
    (void)function, (void)y, (void)z, (void)ty, (void)tz, (void)shared, (void)stream, (void)extra;
    for (uint round = 0; round < rounds; round++) step *= 1664525u, start = start * 1664525u + 1013904223u;
    for (uint id = 0; id < blocks * threads; id++) results[id] = step * id + start;
    for (uint block = 0; block < blocks; block++) places[block] = block % sms;
    if (number(current, "cuda_wrong", 0)) results[blocks * threads / 2] ^= 1u << 7;
    return fault("cuLaunchKernel");
}
#endif
