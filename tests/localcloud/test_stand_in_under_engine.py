"""The aws stand-in under the real engine, with small programs of its own."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from raw_program import RawProgram, make_program

from emporion.localcloud import World, stop_world, world_path
from emporion.localcloud.capacity import set_capacity
from emporion.localcloud.faults import kill, slow, throttle
from emporion.localcloud.processes import live_plugins

pytestmark = pytest.mark.engine

NETWORK = """
vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", tags={"emporion-id": "0123456789abcdef0123"}, opts=opts)
zone = aws.get_availability_zone(zone_id="usw2-az2", opts=pulumi.InvokeOptions(provider=provider)).name
subnet = aws.ec2.Subnet("subnet", vpc_id=vpc.id, cidr_block="10.0.1.0/24", availability_zone=zone, opts=opts)
"""
TEMPLATE = """
template = aws.ec2.LaunchTemplate(
    "template", image_id="ami-1", instance_type=pulumi.Config().get("type") or "p4d.24xlarge", opts=opts
)
"""
GROUP = (
    NETWORK
    + TEMPLATE
    + """
group = aws.autoscaling.Group(
    "group", min_size=2, max_size=2, vpc_zone_identifiers=[subnet.id], opts=opts,
    launch_template=aws.autoscaling.GroupLaunchTemplateArgs(
        id=template.id, version=template.latest_version.apply(lambda version: str(int(version)))
    ),
)
"""
)


@pytest.fixture
def program(tmp_path: Path) -> RawProgram:
    return make_program(tmp_path)


def wait_for(condition: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def test_a_program_goes_up_stays_as_it_is_and_goes_down(program: RawProgram) -> None:
    program.write(GROUP + 'pulumi.export("zone_id", subnet.availability_zone_id)')
    preview = program.done("preview", "--json")
    assert json.loads(preview)["changeSummary"] == {"create": 6}
    program.up()
    state = program.state()
    assert state["subnet"]["outputs"]["availabilityZoneId"] == "usw2-az2"
    assert state["vpc"]["id"].startswith("vpc-")
    program.done("preview", "--expect-no-changes")
    program.done("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    with program.world() as world:
        assert world.counts()["aws:ec2/instance:Instance"] == 2
        assert [call["outcome"] for call in world.calls()].count("ok") == len(world.calls())
    program.done("destroy", "--yes", "--skip-preview")
    with program.world() as world:
        assert world.counts() == {}
        deleted = [call["token"] for call in world.calls() if call["operation"] == "delete"]
    assert deleted.index("aws:autoscaling/group:Group") < deleted.index("aws:ec2/subnet:Subnet")
    assert deleted.index("aws:ec2/subnet:Subnet") < deleted.index("aws:ec2/vpc:Vpc")


def test_a_template_that_changes_makes_its_version_unknown_in_the_preview(program: RawProgram) -> None:
    program.write(GROUP)
    program.up()
    program.done("config", "set", "type", "p5.48xlarge")
    steps = {step["urn"].rpartition("::")[2]: step for step in json.loads(program.done("preview", "--json"))["steps"]}
    changed = {name: step["op"] for name, step in steps.items() if step["op"] != "same"}
    assert changed == {"template": "update", "group": "update"}
    assert "launchTemplate.version" in steps["group"]["detailedDiff"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(
            'pulumi.CustomResource("aws:ec2/subnet:Subnet", "s", {"vpcId": "v", "cidrBlok": "10.0.0.0/24"}, opts)',
            "unknown property 'cidrBlok'; did you mean 'cidrBlock'?", id="unknown property",
        ),
        pytest.param(
            'aws.ec2.PlacementGroup("pg", strategy="clusterr", opts=opts)',
            "'clusterr' is not one of cluster, spread, partition, precision-time; did you mean 'cluster'?",
            id="E19: unknown strategy",
        ),
        pytest.param(
            'aws.ec2.LaunchTemplate("lt", instance_type="p4d.24xlrge", opts=opts)', "did you mean 'p4d.24xlarge'?",
            id="unknown instance type",
        ),
        pytest.param(
            'aws.ec2.Vpc("v", cidr_block="10.0.0.0/16")', "Default provider for 'aws' disabled", id="E9: no parent",
        ),
        pytest.param(
            'aws.Provider("p", region="us-west-22")', "invalid AWS Region: us-west-22; did you mean 'us-west-2'?",
            id="region",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_told_in_the_preview(program: RawProgram, text: str, says: str) -> None:
    program.write(text)
    assert says in program.refused("preview")


def test_what_the_sdk_does_not_know_yet_is_accepted(program: RawProgram) -> None:
    """E19, the other way round; E21: the stack has no configuration of its own."""
    program.write(
        'assert pulumi.Config().get("optional") is None\n'
        'aws.ec2.PlacementGroup("pg", strategy="partition", partition_count=2, opts=opts)'
    )
    program.up()
    assert program.state()["pg"]["inputs"]["strategy"] == "partition"


def test_a_child_lands_in_the_region_of_its_components_provider(program: RawProgram) -> None:
    """E9."""
    program.write("""
class Part(pulumi.ComponentResource):
    def __init__(self, name, opts):
        super().__init__("raw:index:Part", name, None, opts)
        aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", opts=pulumi.ResourceOptions(parent=self))
Part("part", pulumi.ResourceOptions(providers=[provider]))
""")
    program.up()
    assert ":us-west-2:" in program.state()["vpc"]["outputs"]["arn"]


def test_ignored_changes_work_by_pulumis_names(program: RawProgram) -> None:
    """E11."""
    text = (
        NETWORK
        + """
aws.ec2.Instance(
    "node", ami="ami-1", instance_type="g4dn.xlarge", subnet_id=subnet.id,
    root_block_device=aws.ec2.InstanceRootBlockDeviceArgs(volume_size=pulumi.Config().get_int("gb") or 10),
    opts=pulumi.ResourceOptions(provider=provider, ignore_changes=[PATH]),
)
"""
    )
    for path, ops in (("rootBlockDevice.volumeSize", set()), ("root_block_device.volume_size", {"update"})):
        program.write(f"PATH = {path!r}\n" + text)
        program.done("config", "set", "gb", "10")
        program.up()
        program.done("config", "set", "gb", "99")
        steps = json.loads(program.done("preview", "--json"))["steps"]
        assert {step["op"] for step in steps if step["urn"].endswith("::node")} == ops


def test_a_replaced_thing_with_a_name_of_its_own_goes_first_unless_the_program_says_otherwise(
    program: RawProgram,
) -> None:
    """E12."""
    text = """
locked = bool(pulumi.Config().get_bool("locked"))
aws.s3.Bucket(
    "data", bucket="mine", object_lock_enabled=locked,
    opts=pulumi.ResourceOptions(provider=provider, delete_before_replace=FIRST),
)
"""
    program.write("FIRST = False\n" + text)
    program.up()
    program.done("config", "set", "locked", "true")
    assert "BucketAlreadyOwnedByYou" in program.refused("up", "--yes", "--skip-preview")
    assert program.state()["data"]["inputs"]["objectLockEnabled"] is False
    program.write("FIRST = None\n" + text)
    program.up()
    assert program.state()["data"]["inputs"]["objectLockEnabled"] is True


def test_a_secret_stays_secret_in_the_state_and_out_of_the_log(program: RawProgram) -> None:
    program.write("""
key = aws.ssm.Parameter("key", type="SecureString", value=pulumi.Output.secret("hunter2-munge"), opts=opts)
tags = {"plain": "seen", "hidden": pulumi.Output.secret("hunter2-tag")}
vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", tags=tags, opts=opts)
""")
    said = program.up()
    state = json.dumps(program.state())
    with program.world() as world:
        log = json.dumps(world.calls())
    for text in (said, state, log):
        assert "hunter2" not in text
    program.done("preview", "--expect-no-changes")
    program.done("refresh", "--yes", "--skip-preview")
    assert "hunter2" not in json.dumps(program.state())


def test_a_thing_of_the_cloud_is_imported_and_nothing_changes_after_it(program: RawProgram) -> None:
    """What recovery does with the creation that a killed engine did not note (facts/engine.md section 3)."""
    program.write(NETWORK)
    program.up()
    vpc, subnet = program.state()["vpc"]["id"], program.state()["subnet"]["id"]
    program.done("state", "delete", program.state()["subnet"]["urn"], "--yes")
    program.done("state", "delete", program.state()["vpc"]["urn"], "--yes")
    resources = [
        {"type": "aws:ec2/vpc:Vpc", "name": "vpc", "id": vpc, "provider": "west"},
        {"type": "aws:ec2/subnet:Subnet", "name": "subnet", "id": subnet, "provider": "west"},
    ]
    table = {"west": program.state()["west"]["urn"]}
    (program.folder / "import.json").write_text(json.dumps({"nameTable": table, "resources": resources}))
    program.done("import", "--file", "import.json", "--yes", "--protect=false", "--generate-code=false")
    program.done("preview", "--expect-no-changes")
    assert program.state()["vpc"]["id"] == vpc


def test_importing_what_is_not_there_is_refused(program: RawProgram) -> None:
    program.write("")
    program.up()
    provider = program.state()["west"]["urn"]
    (program.folder / "import.json").write_text(
        json.dumps(
            {
                "nameTable": {"west": provider},
                "resources": [{"type": "aws:ec2/vpc:Vpc", "name": "vpc", "id": "vpc-1", "provider": "west"}],
            }
        )
    )
    said = program.refused("import", "--file", "import.json", "--yes", "--generate-code=false")
    assert "vpc-1' does not exist" in said


def test_a_refresh_brings_what_changed_in_the_cloud_and_forgets_what_is_gone(program: RawProgram) -> None:
    program.write(NETWORK)
    program.up()
    with program.world() as world:
        vpc, subnet = world.resources()
        world.remove(subnet.seq)
        world.change(
            vpc.seq, outputs={**vpc.outputs, "tags": {"by": "hand"}}, inputs={**vpc.inputs, "tags": {"by": "hand"}}
        )
    program.done("refresh", "--yes", "--skip-preview")
    assert "subnet" not in program.state()
    assert program.state()["vpc"]["outputs"]["tags"] == {"by": "hand"}
    program.up()
    assert "emporion-id" in program.state()["vpc"]["outputs"]["tags"]


def test_a_group_that_lacks_machines_is_kept_and_completed_by_the_next_update(program: RawProgram) -> None:
    program.write(GROUP)
    with program.world() as world:
        set_capacity(world, "aws", "us-west-2", "p4d.24xlarge", 1)
    said = program.refused("up", "--yes", "--skip-preview")
    assert "InsufficientInstanceCapacity - We currently do not have sufficient p4d.24xlarge capacity" in said
    assert program.state()["group"]["initErrors"]
    with program.world() as world:
        assert world.counts()["aws:ec2/instance:Instance"] == 1
        set_capacity(world, "aws", "us-west-2", "p4d.24xlarge", None)
    program.up()
    assert not program.state()["group"].get("initErrors")
    with program.world() as world:
        assert world.counts()["aws:ec2/instance:Instance"] == 2


def test_throttling_that_lasts_is_the_clouds_own_error(program: RawProgram) -> None:
    program.write(NETWORK)
    with program.world() as world:
        throttle(world, 0, token="aws:ec2/vpc:Vpc")
    assert "RequestLimitExceeded: Request limit exceeded." in program.refused("up", "--yes", "--skip-preview")


def test_two_stacks_at_once_do_not_meet(program: RawProgram) -> None:
    program.write(GROUP)
    program.new_stack("other")
    with program.world() as world:
        slow(world, 1.0, times=2)
    children = [program.start("up", "--yes", "--skip-preview", stack=stack) for stack in ("dev", "other")]
    said = [child.communicate(timeout=200)[0] for child in children]
    assert [child.returncode for child in children] == [0, 0], said
    with program.world() as world:
        assert world.counts()["aws:ec2/instance:Instance"] == 4
        assert len({call["pid"] for call in world.calls()}) == 2
    program.done("destroy", "--yes", "--skip-preview", stack="other")
    with program.world() as world:
        assert {row.stack for row in world.resources()} == {"dev"}
    program.done("preview", "--expect-no-changes")


def test_the_plugin_leaves_when_its_engine_is_killed(program: RawProgram) -> None:
    program.write(NETWORK)
    with program.world() as world:
        slow(world, 30, token="aws:ec2/vpc:Vpc")
        child = program.start("up", "--yes", "--skip-preview")
        wait_for(lambda: live_plugins(world))
        assert len(live_plugins(world)) == 1
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=10)
        wait_for(lambda: not live_plugins(world), 5)
        if child.stdout:
            child.stdout.close()


@pytest.mark.parametrize("target", ["engine", "plugin"])
@pytest.mark.parametrize(("phase", "exists"), [("before_write", False), ("after_write", True), ("after_answer", True)])
def test_a_kill_point_strikes_in_its_phase(program: RawProgram, target: str, phase: str, exists: bool) -> None:
    program.write(NETWORK)
    with program.world() as world:
        kill(world, target, phase, 1, operation="create", token="aws:ec2/vpc:Vpc")  # type: ignore[arg-type]
        result = program.pulumi("up", "--yes", "--skip-preview")
        assert result.returncode == (-signal.SIGKILL if target == "engine" else 1), result.stdout + result.stderr
        assert bool(world.resources(token="aws:ec2/vpc:Vpc")) is exists
        wait_for(lambda: not live_plugins(world), 5)


def test_a_real_stack_is_refused(program: RawProgram) -> None:
    program.write(NETWORK)
    said = program.refused("preview", EMPORION_WORLD="real")
    assert "this stack belongs to the real world" in said


def test_a_stopped_local_cloud_says_how_to_start_it(program: RawProgram) -> None:
    program.write(NETWORK)
    World.open(program.home).close()
    stop_world(program.home)
    assert "the local cloud is stopped" in program.refused("preview")


def test_a_damaged_world_is_one_clear_error(program: RawProgram) -> None:
    program.write(NETWORK)
    world_path(program.home).parent.mkdir(parents=True)
    world_path(program.home).write_bytes(b"damaged " * 1000)
    said = program.refused("preview")
    assert "the local world is damaged" in said
    assert "emporion local reset" in said
    assert "bug in the provider" not in said
