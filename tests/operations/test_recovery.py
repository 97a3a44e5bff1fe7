"""Recovery against a `pulumi` that is a small script over a JSON file: what it is asked to write is what is judged."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from fake_pulumi import PROVIDER, deploy

from emporion.market.clouds import CloudNode, FoundImage, Pending, identity
from emporion.market.errors import UserError
from emporion.operations.pulumi import Pulumi
from emporion.operations.recovery import recover

URN = "urn:pulumi:dev::shop::emporion:index:GpuCluster$aws:ec2/vpc:Vpc::net"


@dataclass
class FakeCloud:
    """Knows some emporion-ids."""

    things: Mapping[str, str]
    asked: list[Pending] = field(default_factory=list)

    def account(self) -> str:
        return "000000000000"

    def find(self, pending: Pending) -> str | None:
        self.asked.append(pending)
        found = self.things.get(pending.emporion_id)
        return None if found in pending.known else found

    def nodes(self, project: str, stack: str) -> Sequence[CloudNode]:
        raise AssertionError((project, stack))

    def image(self, purpose: str, arch: str) -> FoundImage:
        raise AssertionError((purpose, arch))

    def zones(self) -> Mapping[str, str]:
        raise AssertionError

    def quota(self, instance_type: str, market: str) -> int | None:
        raise AssertionError((instance_type, market))

    def notices(self, node_id: str) -> Sequence[Mapping[str, str]]:
        raise AssertionError(node_id)

    def terminate(self, node_id: str) -> None:
        raise AssertionError(node_id)


def state_of(pulumi: Pulumi) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((pulumi.project.directory / "state.json").read_text())
    return document["deployment"]  # type: ignore[no-any-return]


def vpc(**more: Any) -> dict[str, Any]:
    return {
        "urn": URN,
        "type": "aws:ec2/vpc:Vpc",
        "custom": True,
        "inputs": {"cidrBlock": "10.0.0.0/16"},
        "provider": f"{PROVIDER}::p1",
        "parent": "urn:pulumi:dev::shop::emporion:index:GpuCluster::c",
        "dependencies": [PROVIDER],
        **more,
    }


def calls(pulumi: Pulumi) -> list[list[str]]:
    return [json.loads(line) for line in (pulumi.project.directory / "calls.log").read_text().splitlines()]


def run(pulumi: Pulumi, things: Mapping[str, str], generation: int = 0) -> tuple[Any, FakeCloud]:
    cloud = FakeCloud(things)
    return recover(pulumi, "dev", generation, lambda _plugin, _region: cloud, lambda _line: None), cloud


def test_a_create_that_reached_the_cloud_is_adopted_as_the_engine_recorded_it(pulumi: Pulumi) -> None:
    deploy(pulumi, [], [{"type": "creating", "resource": vpc()}])
    recovered, cloud = run(pulumi, {identity("shop", "dev", URN, 0): "vpc-1"})
    assert recovered.adopted == [URN]
    state = state_of(pulumi)
    assert "pending_operations" not in state
    assert state["resources"][-1] == vpc(id="vpc-1", outputs={"cidrBlock": "10.0.0.0/16"})
    assert cloud.asked[0].inputs == {"cidrBlock": "10.0.0.0/16"}
    refresh = next(call for call in calls(pulumi) if call[0] == "refresh")
    assert refresh[refresh.index("--target") + 1] == URN


def test_a_create_that_made_nothing_is_dropped_and_nothing_is_read(pulumi: Pulumi) -> None:
    deploy(pulumi, [], [{"type": "creating", "resource": vpc()}])
    recovered, _ = run(pulumi, {})
    assert recovered.dropped == [URN]
    assert [one["urn"] for one in state_of(pulumi)["resources"]] == [PROVIDER]
    assert not [call for call in calls(pulumi) if call[0] == "refresh"]


def test_the_generation_is_part_of_what_is_looked_for(pulumi: Pulumi) -> None:
    deploy(pulumi, [], [{"type": "creating", "resource": vpc()}])
    recovered, _ = run(pulumi, {identity("shop", "dev", URN, 0): "vpc-1"}, generation=1)
    assert recovered.adopted == []


def test_a_resource_that_the_state_holds_already_is_not_adopted_twice(pulumi: Pulumi) -> None:
    deploy(pulumi, [vpc(id="vpc-1")], [{"type": "creating", "resource": vpc()}])
    recovered, _ = run(pulumi, {identity("shop", "dev", URN, 0): "vpc-1"})
    assert recovered.dropped == [URN]
    assert len(state_of(pulumi)["resources"]) == 2


def test_the_older_half_of_a_replacement_is_due_for_deletion(pulumi: Pulumi) -> None:
    deploy(pulumi, [vpc(id="vpc-old")], [{"type": "creating", "resource": vpc()}])
    run(pulumi, {identity("shop", "dev", URN, 0): "vpc-new"})
    assert [(one["id"], one.get("delete")) for one in state_of(pulumi)["resources"][1:]] == [
        ("vpc-old", True),
        ("vpc-new", None),
    ]


def test_a_resource_deleted_before_its_replacement_leaves_no_ghost(pulumi: Pulumi) -> None:
    deploy(pulumi, [vpc(id="vpc-old", pendingReplacement=True)], [{"type": "creating", "resource": vpc()}])
    run(pulumi, {identity("shop", "dev", URN, 0): "vpc-new"})
    assert [one["id"] for one in state_of(pulumi)["resources"][1:]] == ["vpc-new"]


def test_an_update_or_delete_under_way_is_read_again(pulumi: Pulumi) -> None:
    deploy(pulumi, [vpc(id="vpc-1")], [{"type": "deleting", "resource": vpc(id="vpc-1")}])
    recovered, cloud = run(pulumi, {})
    assert recovered.looked_again == [URN]
    assert not cloud.asked
    assert "pending_operations" not in state_of(pulumi)


def test_secrets_are_never_handed_to_the_cloud(pulumi: Pulumi) -> None:
    secret = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:abc"}
    deploy(pulumi, [], [{"type": "creating", "resource": vpc(inputs={"value": secret, "__defaults": []})}])
    _, cloud = run(pulumi, {})
    assert cloud.asked[0].inputs == {"value": None}


def test_a_resource_adopted_by_a_recovery_that_died_itself_is_read_by_the_next(pulumi: Pulumi) -> None:
    def sealed(text: str) -> dict[str, str]:
        return {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": text}

    inputs = {"value": sealed("v1:abc"), "__defaults": []}
    deploy(pulumi, [vpc(id="vpc-1", inputs=inputs, outputs={"value": sealed("v1:xyz")})], [])
    plan(pulumi)
    run(pulumi, {})
    refresh = next(call for call in calls(pulumi) if call[0] == "refresh")
    assert refresh[refresh.index("--target") + 1] == URN


def test_a_provider_that_was_being_made_itself_is_put_under_what_stands_on_it(pulumi: Pulumi) -> None:
    provider = {"urn": PROVIDER, "type": "pulumi:providers:aws", "custom": True, "inputs": {"region": "us-east-1"}}
    deploy(pulumi, [], [{"type": "creating", "resource": provider}, {"type": "creating", "resource": vpc()}])
    state = pulumi.project.directory / "state.json"
    document = json.loads(state.read_text())
    document["deployment"]["resources"] = []
    state.write_text(json.dumps(document))
    recovered, cloud = run(pulumi, {identity("shop", "dev", URN, 0): "vpc-1"})
    assert recovered.adopted == [URN]
    assert [asked.type_token for asked in cloud.asked] == ["aws:ec2/vpc:Vpc"]
    assert [(one["urn"], one["id"]) for one in state_of(pulumi)["resources"]] == [(PROVIDER, "p1"), (URN, "vpc-1")]


def test_components_above_an_adopted_resource_come_with_it(pulumi: Pulumi) -> None:
    deploy(pulumi, [], [])
    plan(pulumi, component(PARENT), vpc())
    run(pulumi, {identity("shop", "dev", URN, 0): "vpc-1"})
    assert [one["urn"] for one in state_of(pulumi)["resources"]] == [PROVIDER, PARENT, URN]


def test_a_resource_without_a_region_is_one_error(pulumi: Pulumi) -> None:
    deploy(pulumi, [], [{"type": "creating", "resource": vpc(provider="")}])
    with pytest.raises(UserError, match="does not say in which region"):
        run(pulumi, {})


def plan(pulumi: Pulumi, *planned: dict[str, Any], result: str = "failed") -> None:
    folder = pulumi.project.directory
    steps = [{"op": "create", "urn": one["urn"], "newState": one} for one in planned]
    (folder / "planned.json").write_text(json.dumps({"steps": steps}))
    (folder / "history.json").write_text(json.dumps([{"result": result}]))


def component(urn: str) -> dict[str, Any]:
    return {"urn": urn, "type": "emporion:index:GpuCluster", "custom": False}


PARENT = "urn:pulumi:dev::shop::emporion:index:GpuCluster::c"


def test_what_a_failed_update_made_without_a_record_is_adopted_from_the_plan(pulumi: Pulumi) -> None:
    deploy(pulumi, [component(PARENT)], [])
    plan(pulumi, vpc(sourcePosition="project:///x.py#1"))
    recovered, _ = run(pulumi, {identity("shop", "dev", URN, 0): "vpc-1"})
    assert recovered.adopted == [URN]
    assert state_of(pulumi)["resources"][-1] == vpc(id="vpc-1", outputs={"cidrBlock": "10.0.0.0/16"})
    assert [call for call in calls(pulumi) if call[0] == "refresh"]


def test_a_secret_of_the_plan_is_never_plain_in_the_state(pulumi: Pulumi) -> None:
    deploy(pulumi, [component(PARENT)], [])
    plan(pulumi, vpc(inputs={"value": "[secret]", "tags": {"key": "[secret]", "open": "o"}}))
    run(pulumi, {identity("shop", "dev", URN, 0): "vpc-1"})
    unread = {
        "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
        "plaintext": '"[secret]"',
    }
    adopted = state_of(pulumi)["resources"][-1]
    assert adopted["inputs"] == {"value": unread, "tags": {"key": unread, "open": "o"}}
    assert adopted["outputs"] == adopted["inputs"]


def test_the_newer_half_of_a_replacement_is_adopted_from_the_plan(pulumi: Pulumi) -> None:
    deploy(pulumi, [component(PARENT), vpc(id="vpc-old", outputs={"arn": "a"})], [])
    steps = [{"op": "create-replacement", "urn": URN, "newState": vpc()}]
    (pulumi.project.directory / "planned.json").write_text(json.dumps({"steps": steps}))
    (pulumi.project.directory / "history.json").write_text('[{"result": "failed"}]')
    recovered, cloud = run(pulumi, {identity("shop", "dev", URN, 0): "vpc-new"})
    assert recovered.adopted == [URN]
    assert cloud.asked[0].known == {"vpc-old"}
    assert [(one["id"], one.get("delete")) for one in state_of(pulumi)["resources"][2:]] == [
        ("vpc-old", True),
        ("vpc-new", None),
    ]


def test_a_type_that_cannot_be_looked_for_is_said_and_does_not_stop_the_rest(pulumi: Pulumi) -> None:
    class Ignorant(FakeCloud):
        def find(self, pending: Pending) -> str | None:
            if pending.type_token == "aws:x:Y":
                raise UserError("E-NO-FINDER", "cannot tell whether y was made")
            return super().find(pending)

    deploy(pulumi, [component(PARENT)], [])
    plan(pulumi, vpc(urn="urn:pulumi:dev::shop::aws:x:Y::y", type="aws:x:Y"), vpc())
    said: list[str] = []
    cloud = Ignorant({identity("shop", "dev", URN, 0): "vpc-1"})
    recovered = recover(pulumi, "dev", 0, lambda _plugin, _region: cloud, said.append)
    assert recovered.adopted == [URN]
    assert any("cannot tell whether y" in line for line in said)


def test_nothing_is_looked_for_after_a_success(pulumi: Pulumi) -> None:
    deploy(pulumi, [component(PARENT)], [])
    plan(pulumi, vpc(), result="succeeded")
    recovered, cloud = run(pulumi, {identity("shop", "dev", URN, 0): "vpc-1"})
    assert not recovered.anything
    assert not cloud.asked


def test_a_resource_with_unknown_inputs_was_not_made(pulumi: Pulumi) -> None:
    deploy(pulumi, [component(PARENT)], [])
    plan(pulumi, vpc(inputs={"vpcId": "04da6b54-80e4-46f7-96ec-b56ff0331ba9"}))
    recovered, cloud = run(pulumi, {identity("shop", "dev", URN, 0): "vpc-1"})
    assert not recovered.anything
    assert not cloud.asked


def test_a_program_that_cannot_be_previewed_is_said(pulumi: Pulumi) -> None:
    deploy(pulumi, [], [])
    (pulumi.project.directory / "history.json").write_text('[{"result": "failed"}]')
    said: list[str] = []
    recover(pulumi, "dev", 0, lambda _plugin, _region: FakeCloud({}), said.append)
    assert any("not looked for" in line for line in said)
