"""The language host under the real engine: programs, their exit codes, dynamic providers, policy packs, components."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from emporion.engine import VERSION, pulumi_env, require

pytestmark = pytest.mark.engine

TIMEOUT_S = 240
NO_CONFIG = """
    import pulumi
    config = pulumi.Config()
    pulumi.export("missing", config.get("missing") is None)
    pulumi.export("stack", pulumi.get_stack())
"""
RANDOM = """
    import binascii, os
    import pulumi
    from pulumi.dynamic import CreateResult, Resource, ResourceProvider

    class Provider(ResourceProvider):
        def create(self, props):
            token = binascii.hexlify(os.urandom(8)).decode()
            return CreateResult(token, {"token": token})

    class Token(Resource):
        token: pulumi.Output[str]
        def __init__(self, name):
            super().__init__(Provider(), name, {"token": None})

    pulumi.export("token", Token("token").token)
"""
# A pack that speaks the engine's protocol itself, so that the test needs no policy SDK.
PACK = """
    import os
    from concurrent.futures import ThreadPoolExecutor
    import grpc
    from google.protobuf.empty_pb2 import Empty
    from pulumi.runtime.proto import analyzer_pb2 as msg, analyzer_pb2_grpc, plugin_pb2

    class Pack(analyzer_pb2_grpc.AnalyzerServicer):
        def GetAnalyzerInfo(self, request, context):
            return msg.AnalyzerInfo(name="pack", displayName="pack", version="0.0.1", supportsConfig=True)
        def GetPluginInfo(self, request, context):
            return plugin_pb2.PluginInfo(version="0.0.1")
        def Configure(self, request, context):
            return Empty()
        def Analyze(self, request, context):
            return msg.AnalyzeResponse(diagnostics=[])
        def AnalyzeStack(self, request, context):
            where = "/".join(os.environ[f"PULUMI_{part}"] for part in ("PROJECT", "STACK", "DRY_RUN", "CONFIG"))
            found = msg.AnalyzeDiagnostic(policyName="always", policyPackName="pack", policyPackVersion="0.0.1",
                message=f"seen from {where}", enforcementLevel=msg.MANDATORY)
            return msg.AnalyzeResponse(diagnostics=[found])

    server = grpc.server(ThreadPoolExecutor(4))
    analyzer_pb2_grpc.add_AnalyzerServicer_to_server(Pack(), server)
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    server.wait_for_termination()
"""
COMPONENT = """
    from typing import TypedDict
    import pulumi
    from pulumi.provider.experimental import component_provider_host

    class PairArgs(TypedDict):
        size: pulumi.Input[int]

    class Pair(pulumi.ComponentResource):
        def __init__(self, name: str, args: PairArgs, opts: pulumi.ResourceOptions | None = None) -> None:
            super().__init__("pairs:index:Pair", name, {}, opts)
            self.register_outputs({})

    if __name__ == "__main__":
        component_provider_host(name="pairs", components=[Pair])
"""


@dataclass(frozen=True)
class Stack:
    folder: Path
    env: dict[str, str]

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )

    def done(self, *arguments: str) -> str:
        result = self.pulumi(*arguments)
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout

    def outputs(self) -> dict[str, Any]:
        outputs: dict[str, Any] = json.loads(self.done("stack", "output", "--json"))
        return outputs


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / {"main": "__main__.py", "project": "Pulumi.yaml", "plugin": "PulumiPlugin.yaml"}.get(name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip())
    return folder


def make_stack(tmp_path: Path, program: str) -> Stack:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PULUMI_", "AWS_", "EMPORION_"))}
    folder = write(tmp_path / "shop", main=program, project="name: shop\nruntime: python\n")
    stack = Stack(folder, pulumi_env(require(os.environ), tmp_path / "home", "local", kept))
    stack.done("stack", "init", "dev")
    return stack


def test_the_engine_names_its_version(tmp_path: Path) -> None:
    engine = require(os.environ)
    said = subprocess.run([engine.pulumi, "version"], capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert said.strip() == f"v{engine.version}"
    if engine.source != "path":
        assert engine.version == VERSION


def test_a_program_without_configuration_reads_an_optional_key_as_none(tmp_path: Path) -> None:
    stack = make_stack(tmp_path, NO_CONFIG)
    stack.done("preview")
    stack.done("up", "--yes", "--skip-preview")
    assert stack.outputs() == {"missing": True, "stack": "dev"}


def test_configuration_and_secrets_reach_the_program(tmp_path: Path) -> None:
    stack = make_stack(
        tmp_path,
        """
        import pulumi
        config = pulumi.Config()
        pulumi.export("plain", config.require("plain"))
        pulumi.export("hidden", config.require_secret("hidden"))
        """,
    )
    stack.done("config", "set", "plain", "one")
    stack.done("config", "set", "--secret", "hidden", "two")
    stack.done("up", "--yes", "--skip-preview")
    assert stack.outputs() == {"plain": "one", "hidden": "[secret]"}
    assert "two" not in next(Path(stack.env["EMPORION_HOME"]).rglob("stacks/shop/dev.json")).read_text()


def test_a_random_resource_is_made_kept_and_destroyed(tmp_path: Path) -> None:
    stack = make_stack(tmp_path, RANDOM)
    assert "1 to create" in stack.done("preview").replace("2 to create", "1 to create")
    stack.done("up", "--yes", "--skip-preview")
    token = stack.outputs()["token"]
    assert len(token) == 16
    stack.done("preview", "--expect-no-changes")
    stack.done("up", "--yes")
    assert stack.outputs()["token"] == token
    stack.done("destroy", "--yes", "--skip-preview")
    assert json.loads(stack.done("stack", "export"))["deployment"].get("resources", []) == []


def test_a_program_that_fails_shows_its_error_and_its_exit_code(tmp_path: Path) -> None:
    stack = make_stack(tmp_path, "import sys\nsys.exit(3)\n")
    result = stack.pulumi("preview")
    assert result.returncode != 0
    assert "program exited with non-zero exit code: 3" in result.stdout + result.stderr


def test_a_program_that_has_told_the_user_is_not_reported_twice(tmp_path: Path) -> None:
    stack = make_stack(tmp_path, "import pulumi, sys\npulumi.log.error('no such region')\nsys.exit(32)\n")
    result = stack.pulumi("preview")
    said = result.stdout + result.stderr
    assert result.returncode != 0
    assert said.count("no such region") >= 1
    assert "non-zero exit code" not in said
    assert "Traceback" not in said


def test_an_unknown_toolchain_is_refused_with_the_allowed_ones(tmp_path: Path) -> None:
    stack = make_stack(tmp_path, NO_CONFIG)
    write(stack.folder, project="name: shop\nruntime: {name: python, options: {toolchain: conda}}\n")
    result = stack.pulumi("preview")
    assert result.returncode != 0
    assert '"conda"; allowed are pip, poetry and uv' in result.stdout + result.stderr


def test_a_policy_pack_sees_the_stack_and_its_violation_is_exit_1(tmp_path: Path) -> None:
    stack = make_stack(tmp_path, NO_CONFIG)
    pack = write(tmp_path / "pack", main=PACK)
    (pack / "PulumiPolicy.yaml").write_text("runtime: python\nversion: 0.0.1\ndescription: always\n")
    result = stack.pulumi("preview", "--policy-pack", str(pack))
    assert result.returncode == 1, result.stdout + result.stderr
    assert "seen from shop/dev/true/{}" in result.stdout + result.stderr


def test_a_policy_pack_that_does_not_start_is_an_error_and_no_hang(tmp_path: Path) -> None:
    stack = make_stack(tmp_path, NO_CONFIG)
    pack = write(tmp_path / "pack", main="raise SystemExit('broken pack')\n")
    (pack / "PulumiPolicy.yaml").write_text("runtime: python\nversion: 0.0.1\ndescription: broken\n")
    result = stack.pulumi("preview", "--policy-pack", str(pack))
    assert result.returncode != 0
    assert "broken pack" in result.stdout + result.stderr


@pytest.mark.build
def test_a_component_package_in_python_gives_its_schema(tmp_path: Path) -> None:
    """Slow: the engine makes an environment inside the plugin's folder and installs the SDK there."""
    stack = make_stack(tmp_path, NO_CONFIG)
    plugin = write(tmp_path / "pairs", main=COMPONENT, plugin="runtime: python\n")
    (plugin / "requirements.txt").write_text(f"pulumi=={importlib.metadata.version('pulumi')}\n")
    result = stack.pulumi("package", "get-schema", str(plugin))
    assert result.returncode == 0, result.stdout + result.stderr
    assert list(json.loads(result.stdout[result.stdout.index("{") :])["resources"]) == ["pairs:index:Pair"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_host_and_its_python_leave_when_the_engine_is_killed(tmp_path: Path) -> None:
    stack = make_stack(tmp_path, "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(120)\n")
    engine = subprocess.Popen(
        ["pulumi", "preview", "--non-interactive"],
        cwd=stack.folder,
        env=stack.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    note = stack.folder / "pid"
    wait_until(lambda: note.exists() and note.read_text() != "", 60)
    python = int(note.read_text())
    host = parent_of(python)
    engine.send_signal(signal.SIGKILL)
    engine.wait()
    wait_until(lambda: not alive(python) and not alive(host), 30)


def wait_until(happened: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def process_state(pid: int) -> list[str]:
    """Return state, parent, … of a process as Linux has them after its name, empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def parent_of(pid: int) -> int:
    return int(process_state(pid)[1])


def alive(pid: int) -> bool:
    return process_state(pid)[:1] not in ([], ["Z"])
