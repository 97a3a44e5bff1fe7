"""The whole road on the local cloud for stages on several clouds: up, again, status, kills, no room on one, down."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from desk import REPO, Desk

from emporion.components.azure.stand_in_references import SET
from emporion.localcloud.capacity import set_capacity
from emporion.localcloud.faults import Phase, Target, kill
from emporion.localcloud.world import World

pytestmark = pytest.mark.engine
CONTROLLER = "aws:ec2/instance:Instance"


def prepared(desk: Desk) -> Desk:
    (desk.project / "mixed.yaml").write_text((REPO / "stacks" / "intents" / "mixed.yaml").read_text())
    desk.done("local", "start")
    return desk


@pytest.fixture(scope="module")
def standing(new_desk: Callable[[str], Desk]) -> Desk:
    desk = prepared(new_desk("mixed"))
    desk.done("up", "mixed.yaml", "--local", "--yes")
    return desk


def test_each_stage_is_a_cluster_on_its_own_cloud(standing: Desk) -> None:
    status = standing.json("status", "mixed")
    assert status["missing"] == {}
    seen = {(node["provider"], node["pool"]) for node in status["nodes"] if node["pool"] != "controller"}
    assert seen == {("aws", "tokenise-0"), ("azure", "train-0"), ("aws", "evaluate-0")}
    assert sum(node["pool"] == "controller" for node in status["nodes"]) == 3
    assert [status["outputs"][f"{stage}.provider"] for stage in ("tokenise", "train", "evaluate")] == [
        "aws", "azure", "aws",
    ]  # fmt: skip


def test_no_resource_is_made_by_an_ambient_provider_or_hangs_on_another_cloud(standing: Desk) -> None:
    resources = standing.state("mixed")["resources"]
    made = [one for one in resources if one["custom"] and not one["type"].startswith("pulumi:")]
    assert all("::default" not in one["provider"] for one in made)
    plugin = {one["urn"]: one["type"].partition(":")[0] for one in made}
    for one in made:
        assert {plugin[each] for each in one.get("dependencies") or [] if each in plugin} <= {plugin[one["urn"]]}


def test_names_and_identities_are_unique_over_all_clusters(standing: Desk) -> None:
    made = [one for one in standing.state("mixed")["resources"] if one["custom"]]
    assert len({(one["type"], one["id"]) for one in made}) == len(made)
    tags = [one["inputs"]["tags"]["emporion-id"] for one in made if "emporion-id" in (one["inputs"].get("tags") or {})]
    assert len(set(tags)) == len(tags) > 30


def test_a_second_up_changes_nothing_and_a_diff_has_nothing_to_tell(standing: Desk) -> None:
    assert standing.json("up", "mixed.yaml", "--yes")["changed"] == 0
    diff = standing.json("plan", "--diff", "mixed")
    assert (diff["changes"], diff["effect"]) == ([], "nothing")


@pytest.mark.parametrize(
    ("token", "phase", "target"),
    [
        pytest.param(SET, "after_write", "engine", id="scale set made, engine dead"),
        pytest.param(CONTROLLER, "after_write", "plugin", id="machine made, plugin dead"),
    ],
)
def test_one_rerun_after_a_kill_ends_where_an_undisturbed_run_ends(
    new_desk: Callable[[str], Desk], standing: Desk, token: str, phase: Phase, target: Target
) -> None:
    desk = prepared(new_desk("killed"))
    with World.open(desk.home) as world:
        kill(world, target, phase, 1, operation="create", token=token)
    assert desk.run("up", "mixed.yaml", "--local", "--yes").returncode != 0
    desk.done("up", "mixed.yaml", "--yes")
    assert desk.json("up", "mixed.yaml", "--yes")["changed"] == 0
    with World.open(desk.home) as world, World.open(standing.home) as other:
        assert world.counts() == other.counts()
    desk.done("down", "mixed", "--yes")
    with World.open(desk.home) as world:
        assert world.counts() == {}


def test_when_one_cloud_has_no_room_the_rest_stands_and_both_ways_on_work(new_desk: Callable[[str], Desk]) -> None:
    desk = prepared(new_desk("full"))
    with World.open(desk.home) as world:
        set_capacity(world, "azure-native", "*", "*", 0)
    refused = desk.run("up", "mixed.yaml", "--local", "--yes")
    assert refused.returncode == 1
    assert "E-CAPACITY" in refused.stderr
    assert "emporion up mixed keeps what stands and goes on, emporion down mixed rolls it back" in refused.stderr
    assert "Traceback" not in refused.stderr
    status = desk.json("status", "mixed")
    assert status["missing"]["train-0"] == 1
    assert {node["provider"] for node in status["nodes"]} == {"aws"}
    with World.open(desk.home) as world:
        set_capacity(world, "azure-native", "*", "*", None)
    desk.done("up", "mixed", "--yes")
    assert desk.json("status", "mixed")["missing"] == {}
    desk.done("down", "mixed", "--yes")
    with World.open(desk.home) as world:
        assert world.counts() == {}


def test_what_stands_of_a_refused_up_is_rolled_back_whole(new_desk: Callable[[str], Desk]) -> None:
    desk = prepared(new_desk("back"))
    with World.open(desk.home) as world:
        set_capacity(world, "azure-native", "*", "*", 0)
    assert desk.run("up", "mixed.yaml", "--local", "--yes").returncode == 1
    desk.done("down", "mixed", "--yes")
    with World.open(desk.home) as world:
        assert world.counts() == {}
