"""What the policy packs cost at a preview, and what judging and pricing a large preview file costs."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from emporion.market.wire import UNKNOWN_TEXT
from measure import measure
from preview import EMPORION, REPO, _engine, _home, _project, _stack
from report import Section

SIZES = {30: 5, 300: 5, 1000: 2}
"""Resources of a program -> runs."""
MS_PER_RESOURCE = 1.0
FILE_RESOURCES = 20_000
FILE_CPU_S, FILE_MIB = 5.0, 500.0
PACK = REPO / "policies" / "emporion" / "policies" / "templates" / "packs" / "all"
PROGRAM = """\
import pulumi
import pulumi_aws as aws
opts = pulumi.ResourceOptions(provider=aws.Provider("west", region="us-west-2"))
group = aws.ec2.SecurityGroup("group", opts=opts)
for number in range({count} // 3):
    aws.ebs.Volume(f"disk{{number}}", availability_zone="us-west-2a", size=10, encrypted=True, opts=opts,
                   tags={{"owner": "me", "budget": "ml"}})
    aws.vpc.SecurityGroupIngressRule(f"rule{{number}}", security_group_id=group.id, ip_protocol="tcp", from_port=443,
                                     to_port=443, cidr_ipv4="10.0.0.0/8", opts=opts)
    aws.s3.BucketPublicAccessBlock(f"block{{number}}", bucket=f"bucket-{{number}}", block_public_acls=True, opts=opts)
"""


def sections() -> list[Section]:
    """Measure and return the sections of this benchmark."""
    with tempfile.TemporaryDirectory(prefix="emporion-bench-") as name:
        folder = Path(name)
        return [_packs(folder), _files(folder)]


def _packs(folder: Path) -> Section:
    environ = _engine(_home(folder / "home"))
    base, rows, share = 0.0, [], 0.0
    for count, runs in {0: 5, **SIZES}.items():
        program = folder / f"p{count}"
        _project(program, PROGRAM.format(count=count), None)
        _stack(environ, program, "demo")
        own = {**environ, "PULUMI_BACKEND_URL": f"file://{folder / f'state-{program.name}'}"}
        pulumi = shutil.which("pulumi", path=own["PATH"]) or "pulumi"
        argv = [pulumi, "preview", "-C", str(program), "-s", "demo", "--non-interactive", "--suppress-progress"]
        without = measure(argv, runs=runs, environ=own).wall_s
        judged = measure([*argv, "--policy-pack", str(PACK)], runs=runs, environ=own).wall_s
        if count == 0:
            base = judged - without
            rows.append(["start of the packs", f"{without:.2f}", f"{judged:.2f}", f"{base:.2f}", ""])
            continue
        share = (judged - without - base) / count * 1000
        rows.append([str(count), f"{without:.2f}", f"{judged:.2f}", f"{judged - without:.2f}", f"{share:.2f}"])
    met = "met" if share <= MS_PER_RESOURCE else "missed"
    return Section(
        "policies",
        "The policy packs at a preview",
        "All packs over programs of so many resources on the local cloud; wall time, the best of several runs.",
        ["resources", "without s", "with s", "more s", "ms a resource after start"],
        rows,
        [
            f"at most {MS_PER_RESOURCE:.0f} ms a resource after start, of the largest program: {met}",
            "the engine asks the packs twice for each resource, one after the other; the rules themselves take 0.2 ms",
            "at 3,000 resources the stand-in takes minutes, and its noise is larger than what the packs add",
        ],
    )


def _files(folder: Path) -> Section:
    path = folder / "preview.json"
    path.write_text(json.dumps(_preview()), encoding="utf-8")
    environ = _home(folder / "home")
    guard = measure(
        [EMPORION, "cost", "guard", "--base", str(path), "--head", str(path), "--json"], runs=3, environ=environ
    )
    check = measure(
        [EMPORION, "policy", "check", "--preview", str(path), "--json"], runs=3, environ=environ, codes=(3,)
    )
    met = "met" if guard.cpu_s < FILE_CPU_S and guard.peak_mib < FILE_MIB else "missed"
    return Section(
        "preview-files",
        "Large preview files",
        f"A file of {FILE_RESOURCES:,} resources, {path.stat().st_size >> 20} MiB; whole commands.",
        ["command", "CPU s", "peak MiB"],
        [
            ["`emporion cost guard`, the file against itself", f"{guard.cpu_s:.2f}", f"{guard.peak_mib:.0f}"],
            ["`emporion policy check`, all packs", f"{check.cpu_s:.2f}", f"{check.peak_mib:.0f}"],
        ],
        [f"the guard: less than {FILE_CPU_S:.0f} s of CPU and {FILE_MIB:.0f} MiB: {met}"],
    )


def _preview() -> dict[str, Any]:
    """Return a preview in which templates, machines, disks and groups take turns."""
    steps: list[dict[str, Any]] = []

    def add(name: str, kind: str, inputs: dict[str, Any], **references: list[str]) -> str:
        urn = f"urn:pulumi:dev::bench::{kind}::{name}"
        state = {
            "urn": urn, "type": kind, "inputs": inputs,
            "provider": "urn:pulumi:dev::bench::pulumi:providers:aws::east::x",
            "propertyDependencies": {**{key: [] for key in inputs}, **references},
            "stackTrace": [{"sourcePosition": f"project:///lib/provider.py#{line}"} for line in range(14)],
        }  # fmt: skip
        steps.append({"op": "create", "urn": urn, "newState": state})
        return urn

    add("east", "pulumi:providers:aws", {"region": "us-east-1"})
    kinds = ("p4d.24xlarge", "g5.xlarge", "m6i.large")
    for number in range(FILE_RESOURCES // 4):
        settings = {"instanceType": kinds[number % 3], "userData": "#!/bin/sh\n" * 50}
        template = add(f"t{number}", "aws:ec2/launchTemplate:LaunchTemplate", settings)
        machine = {"launchTemplate": {"id": UNKNOWN_TEXT}}
        add(f"n{number}", "aws:ec2/instance:Instance", machine, launchTemplate=[template])
        add(f"v{number}", "aws:ebs/volume:Volume", {"size": number % 500, "type": "gp3"})
        opening = {"protocol": "tcp", "fromPort": 443, "toPort": 443, "cidrBlocks": ["10.0.0.0/8"]}
        add(f"g{number}", "aws:ec2/securityGroup:SecurityGroup", {"ingress": [opening]})
    return {"config": {}, "steps": steps, "changeSummary": {"create": len(steps)}}


if __name__ == "__main__":
    for one in sections():
        sys.stdout.write(one.markdown("today"))
