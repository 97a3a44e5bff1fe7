"""What the price sources beside the clouds answer, in the shapes of their documentation (read 2026-12-01), shortened.

Lambda: docs.lambda.ai, Cloud API 1.10. RunPod: graphql-spec.runpod.io. Vast: docs.vast.ai, search offers. Nebius and
CoreWeave: their price pages, as others that read them describe their form. Figures are made up where a case needs them.
"""

from __future__ import annotations

from typing import Any

__all__ = ["COREWEAVE", "NEBIUS", "lambda_type", "lambda_types", "runpod_type", "runpod_types", "vast_offer"]


def lambda_type(name: str, gpu: str, count: int, cents: int, *regions: str, **specs: int) -> dict[str, Any]:
    return {
        "instance_type": {
            "name": name,
            "description": f"{count}x {gpu}",
            "gpu_description": gpu,
            "price_cents_per_hour": cents,
            "specs": {"vcpus": 30, "memory_gib": 200, "storage_gib": 1400, "gpus": count, **specs},
        },
        "regions_with_capacity_available": [{"name": region, "description": "Somewhere"} for region in regions],
    }


def lambda_types(*types: dict[str, Any]) -> dict[str, Any]:
    found = types or (
        lambda_type("gpu_1x_a10", "A10 (24 GB PCIe)", 1, 75, "us-east-1", "us-west-1"),
        lambda_type("gpu_8x_h100_sxm5", "H100 (80 GB SXM5)", 8, 2392, "us-west-3", vcpus=208, memory_gib=1800),
        lambda_type("gpu_8x_b200_sxm6", "B200 (180 GB SXM6)", 8, 3992),
    )
    return {"data": {each["instance_type"]["name"]: each for each in found}}


def runpod_type(name: str, memory: int | None, **fields: Any) -> dict[str, Any]:
    nothing = {"minVcpu": None, "minMemory": None}
    return {
        "id": f"NVIDIA {name}", "displayName": name, "memoryInGb": memory,
        "communityCloud": False, "communityPrice": None, "communitySpotPrice": None, "maxGpuCountCommunityCloud": None,
        "secureCloud": False, "securePrice": None, "secureSpotPrice": None, "maxGpuCountSecureCloud": None,
        "community": nothing, "secure": nothing, **fields,
    }  # fmt: skip


def runpod_types(*types: dict[str, Any]) -> dict[str, Any]:
    return {"data": {"gpuTypes": list(types)}}


def vast_offer(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": number, "ask_contract_id": number, "machine_id": number, "host_id": 55, "gpu_name": "A100 SXM4",
        "num_gpus": 1, "gpu_ram": 81920, "gpu_frac": 0.125, "cpu_cores": 256, "cpu_cores_effective": 32.0,
        "cpu_ram": 524288, "cpu_arch": "amd64", "cuda_max_good": 12.4, "driver_version": "550.54.15",
        "dph_base": 0.9, "dph_total": 0.93, "min_bid": 0.4, "geolocation": "Czechia, CZ", "is_bid": False,
        "reliability2": 0.998, "rentable": True, "rented": False, "verification": "verified", **fields,
    }  # fmt: skip


NEBIUS = """\
# Compute pricing in Nebius AI Cloud

## Prices

### Computing resources of virtual machines

#### NVIDIA® B200 NVLink, gpu-b200-sxm

The platform is only available in the `us-central1` [region](/overview/regions).

<Tabs>
  <Tab title="USD">
    | **Item — from October 1, 2026** | **Price** | **Per** |
    | - | - | - |
    | NVIDIA® B200 NVLink | \\$8.50 | 1 GPU hour |
    | Preemptible NVIDIA® B200 NVLink | \\$3.95 | 1 GPU hour |
    | **Item — before October 1, 2026** | **Price** | **Per** |
    | NVIDIA® B200 NVLink | \\$7.15 | 1 GPU hour |
    | Preemptible NVIDIA® B200 NVLink | \\$3.30 | 1 GPU hour |
  </Tab>
  <Tab title="ILS">
    | NVIDIA® B200 NVLink | ₪30.00 | 1 GPU hour |
  </Tab>
</Tabs>

#### NVIDIA® H200 NVLink, gpu-h200-sxm

<Tabs>
  <Tab title="USD">
    | **Item** | **Price** | **Per** |
    | - | - | - |
    | NVIDIA® H200 NVLink | \\$4.50 | 1 GPU hour |
  </Tab>
</Tabs>

#### NVIDIA® L40S PCIe with Intel Ice Lake, gpu-l40s-a

The platform is only available in the `eu-north1` [region](/overview/regions).

<Tabs>
  <Tab title="USD">
    | **Item** | **Price** | **Per** |
    | - | - | - |
    | GPU, NVIDIA® L40S | \\$1.35 | 1 GPU hour |
    | CPU, Intel Ice Lake | \\$0.012 | 1 vCPU hour |
    | RAM | \\$0.0032 | 1 GiB hour |
  </Tab>
</Tabs>

#### NVIDIA® RTX PRO™ 6000, gpu-rtx6000

<Tabs>
  <Tab title="USD">
    | **Item** | **Price** | **Per** |
    | - | - | - |
    | NVIDIA® RTX PRO™ 6000 | \\$1.80 | 1 GPU hour |
  </Tab>
</Tabs>

### Disks

<Tabs>
  <Tab title="USD">
    | **Item** | **Price** | **Per** |
    | - | - | - |
    | Network SSD disk | \\$0.071 | 1 GiB 730 hours |
  </Tab>
</Tabs>
"""


def _coreweave_entry(product: str, model: str, count: str, vram: int, on_demand: str, spot: str) -> str:
    return (
        '<div role="listitem" class="table-row-v2 w-dyn-item kubernetes-gpu-pricing">'
        f'<h3 data-product="{product}" class="table-model-name">{model}</h3>'
        f'<div><span class="instance-price">On-Demand Price: <span class="item-value">{on_demand}</span> / Hour<br/>'
        f'</span><span class="spot-price">Spot Price: <span class="item-value">{spot}</span> / Hour</span></div>'
        f'<div class="table-meta-value">{count}</div>\n<div>GPU Count</div>'
        f'<div class="table-meta-value">{vram}</div>\n<div>VRAM</div>'
        '<div class="table-meta-value">128</div>\n<div>vCPUs</div>'
        '<div class="table-meta-value">2,048</div>\n<div>System RAM (GB)</div>'
        f"<div>{on_demand}</div></div>"
    )


COREWEAVE = (
    "<html><head><title>Pricing</title></head><body><h2>On-demand GPU instances</h2>"
    "<div>REGION: NORTH AMERICA</div>"
    + _coreweave_entry("nvidia-gb200-nvl72", "NVIDIA GB200 NVL72", "4<sup>1</sup>", 186, "$42.00", "N/A")
    + _coreweave_entry("nvidia-b200", "NVIDIA HGX B200", "8", 180, "$68.80", "$34.11")
    + _coreweave_entry("nvidia-h100", "NVIDIA HGX H100", "8", 80, "$49.24", "$19.71")
    + _coreweave_entry("nvidia-l40s", "NVIDIA L40S", "8", 48, "$18.00", "$0.00")
    + "<div>REGION: EUROPE</div>"
    + _coreweave_entry("nvidia-h100", "NVIDIA HGX H100", "8", 80, "$51.00", "$60.00")
    + '<h2>On-demand CPU instances</h2><div role="listitem" class="table-row-v2 kubernetes-cpu-pricing">'
    '<h3 data-product="amd-genoa" class="table-model-name">AMD Genoa</h3><div>192</div><div>$7.00</div></div>'
    "</body></html>"
)
