/* A libnvidia-ml.so.1 for machines without a GPU: the calls that the health check makes, and no other. Without a file it
 * is a node of eight A100 SXM4 80 GB. `err.CALL=N` lets a call answer N, `lost=1` every call of a GPU GPU_IS_LOST. */
#include "conf.h"

enum { OK, UNINITIALIZED, INVALID, NOT_SUPPORTED, TOO_SMALL = 7, LOST = 15, MOST = 16, LINKS = 18 };
typedef struct { int index; } device;
typedef unsigned int uint;
typedef unsigned long long u64;
static device devices[MOST];
static int opened;

static int fault(const device *gpu, const char *call) {
    char key[96];
    if (!opened) return UNINITIALIZED;
    if (gpu && number(gpu->index, "lost", 0)) return LOST;
    snprintf(key, sizeof key, "err.%s", call);
    return (int)number(gpu ? gpu->index : -1, key, OK);
}
#define MAY(gpu) do { int answer = fault(gpu, __func__); if (answer) return answer; } while (0)
#define COUNT(call, key, otherwise) \
    API int call(device *gpu, uint *out) { MAY(gpu); *out = (uint)number(gpu->index, key, otherwise); return OK; }

static int write_text(char *out, uint size, int gpu, const char *key, const char *otherwise) {
    char value[128];
    text(gpu, key, otherwise, value, sizeof value);
    if (strlen(value) + 1 > size) return TOO_SMALL;
    strcpy(out, value);
    return OK;
}

API int nvmlInitWithFlags(uint flags) {
    int answer = (int)number(-1, "err.init", OK);
    (void)flags;
    if (answer) return answer;
    for (int at = 0; at < MOST; at++) devices[at].index = at;
    opened = 1;
    return OK;
}
API int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
API int nvmlShutdown(void) { opened = 0; return OK; }
API const char *nvmlErrorString(int code) {
    return code == LOST ? "GPU is lost" : code == 18 ? "Driver/library version mismatch" : code == 9 ? "Driver Not Loaded"
         : code == 3 ? "Not Supported" : "Unknown Error";
}
API int nvmlSystemGetDriverVersion(char *out, uint size) { MAY(NULL); return write_text(out, size, -1, "driver", "550.163.01"); }
API int nvmlDeviceGetCount_v2(uint *out) { MAY(NULL); *out = (uint)number(-1, "count", 8); return OK; }
API int nvmlDeviceGetHandleByIndex_v2(uint index, device **out) {
    if (index >= MOST) return INVALID;
    MAY(&devices[index]);
    *out = &devices[index];
    return OK;
}
API int nvmlDeviceGetName(device *gpu, char *out, uint size) {
    MAY(gpu);
    return write_text(out, size, gpu->index, "name", "NVIDIA A100-SXM4-80GB");
}
API int nvmlDeviceGetUUID(device *gpu, char *out, uint size) {
    char uuid[64];
    MAY(gpu);
    snprintf(uuid, sizeof uuid, "GPU-00000000-0000-4000-8000-00000000a1%02x", gpu->index);
    return write_text(out, size, gpu->index, "uuid", uuid);
}
API int nvmlDeviceGetCudaComputeCapability(device *gpu, int *major, int *minor) {
    MAY(gpu);
    *major = (int)number(gpu->index, "cc_major", 8);
    *minor = (int)number(gpu->index, "cc_minor", 0);
    return OK;
}
COUNT(nvmlDeviceGetMemoryBusWidth, "bus_bits", 5120)
typedef struct { char legacy[16]; uint domain, bus, device, id, subsystem; char name[32]; } pci;
API int nvmlDeviceGetPciInfo_v3(device *gpu, pci *out) {
    MAY(gpu);
    memset(out, 0, sizeof *out);
    out->id = (uint)number(gpu->index, "pci_id", 0x20B2) << 16 | 0x10DE;
    return OK;
}
API int nvmlDeviceGetMemoryInfo(device *gpu, u64 *out) {
    MAY(gpu);
    out[0] = (u64)(number(gpu->index, "memory_mib", 81920) * 1048576);
    out[1] = (u64)(number(gpu->index, "memory_free_mib", number(gpu->index, "memory_mib", 81920)) * 1048576);
    out[2] = out[0] - out[1];
    return OK;
}
API int nvmlDeviceGetMigMode(device *gpu, uint *now, uint *then) { MAY(gpu); *now = *then = (uint)number(gpu->index, "mig", 0); return OK; }
API int nvmlDeviceGetEccMode(device *gpu, uint *now, uint *then) { MAY(gpu); *now = *then = (uint)number(gpu->index, "ecc", 1); return OK; }
API int nvmlDeviceGetTotalEccErrors(device *gpu, uint kind, uint since, u64 *out) {
    MAY(gpu);
    *out = (u64)(kind == 1 && since == 0 ? number(gpu->index, "ecc_uncorrected", 0) : 0);
    return OK;
}
API int nvmlDeviceGetRemappedRows(device *gpu, uint *fixed, uint *bad, uint *pending, uint *failed) {
    MAY(gpu);
    *fixed = *bad = 0;
    *pending = (uint)number(gpu->index, "remap_pending", 0);
    *failed = (uint)number(gpu->index, "remap_failed", 0);
    return OK;
}
API int nvmlDeviceGetUtilizationRates(device *gpu, uint *out) { MAY(gpu); out[0] = (uint)number(gpu->index, "busy", 0); out[1] = 0; return OK; }
API int nvmlDeviceGetTemperature(device *gpu, uint sensor, uint *out) { MAY(gpu); (void)sensor; *out = (uint)number(gpu->index, "temp", 34); return OK; }
API int nvmlDeviceGetTemperatureThreshold(device *gpu, uint kind, uint *out) { MAY(gpu); *out = kind == 1 ? 89 : 92; return OK; }
API int nvmlDeviceGetCurrentClocksEventReasons(device *gpu, u64 *out) { MAY(gpu); *out = (u64)number(gpu->index, "throttle", 1); return OK; }
COUNT(nvmlDeviceGetEnforcedPowerLimit, "power_limit_mw", 400000)
COUNT(nvmlDeviceGetPowerManagementDefaultLimit, "power_default_mw", 400000)
COUNT(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width", 16)
COUNT(nvmlDeviceGetMaxPcieLinkWidth, "pcie_width_max", 16)
COUNT(nvmlDeviceGetPcieReplayCounter, "pcie_replays", 0)
API int nvmlDeviceGetNvLinkState(device *gpu, uint link, uint *out) {
    MAY(gpu);
    if (link >= number(gpu->index, "nvlinks", 12)) return NOT_SUPPORTED;
    *out = !((uint)number(gpu->index, "nvlink_down", 0) >> link & 1);
    return OK;
}
API int nvmlDeviceGetNvLinkErrorCounter(device *gpu, uint link, uint counter, u64 *out) {
    MAY(gpu);
    *out = (u64)(link == 0 && counter == 0 ? number(gpu->index, "nvlink_errors", 0) : 0);
    return OK;
}
API int nvmlDeviceGetP2PStatus(device *one, device *other, uint kind, uint *out) { MAY(one); MAY(other); *out = kind == 2 ? 1 : 0; return OK; }
/* One watch at a time: the critical error that the file names comes once, when the load is over. */
static int told;
API int nvmlEventSetCreate(void **out) { MAY(NULL); told = 0; *out = &told; return OK; }
API int nvmlDeviceRegisterEvents(device *gpu, u64 kinds, void *set) { MAY(gpu); (void)kinds; (void)set; return OK; }
typedef struct { device *gpu; u64 kind, data; uint instance, compute; } event;
API int nvmlEventSetWait_v2(void *set, event *out, uint wait_ms) {
    (void)set; (void)wait_ms;
    if (told++ || !number(-1, "xid", 0)) return 10;
    memset(out, 0, sizeof *out);
    out->data = (u64)number(-1, "xid", 0);
    return OK;
}
API int nvmlEventSetFree(void *set) { (void)set; return OK; }
