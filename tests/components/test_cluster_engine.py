"""A cluster under the real engine and the stand-in plugins."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from engine_project import EngineProject, make_engine_project
from placements import GPU_IMAGE, PLACEMENT, POOL, with_pool

from emporion.components.aws.stand_in import STAND_IN
from emporion.localcloud.images import publish_image
from emporion.market.clouds import identity
from emporion.market.offer import Market
from emporion.market.pin import PinnedPlacement, PinnedStorage

pytestmark = pytest.mark.engine

WIDE = replace(
    PLACEMENT,
    nat=False,
    spot_auto_renew=True,
    storage=PinnedStorage(file_system="lustre", file_system_gib=1200, object_lock_days=7, root_disk_gb=300),
    pools=(
        replace(POOL, instance_type="p5.48xlarge", spot_max_price_usd_per_hour=Decimal(30)),
        replace(POOL, name="gpu-1", instance_type="g6.xlarge", gpus_per_node=1, rdma=False, market=Market.RESERVED),
    ),
    tags=(("team", "ml"),),
)


@pytest.fixture
def project(tmp_path: Path) -> EngineProject:
    return make_engine_project(tmp_path)


def gone(project: EngineProject) -> bool:
    with project.world() as world:
        return world.counts() == {}


def test_up_again_changes_nothing_whatever_is_published_and_down_leaves_nothing(project: EngineProject) -> None:
    project.pin(PLACEMENT)
    project.pulumi("up", "--yes", "--skip-preview")
    made = project.resources()

    wrong = [
        resource["urn"]
        for resource in made
        if (tags := (resource.get("outputs") or {}).get("tags")) and isinstance(tags, dict) and "emporion-id" in tags
        if tags["emporion-id"] != identity("emporion", "dev", resource["urn"], 0)
    ]
    assert wrong == []
    assert [resource["urn"] for resource in made if "Calling __str__" in resource["urn"]] == []

    with project.world() as world:
        for purpose in ("gpu", "controller"):
            publish_image(world, STAND_IN, "us-east-1", purpose, "x86_64", name=f"newer {purpose}")
    project.pulumi("preview", "--expect-no-changes")
    project.pulumi("refresh", "--yes", "--skip-preview")
    project.pulumi("preview", "--expect-no-changes")

    assert project.pulumi("stack", "output", "cluster_address").strip() == "10.0.0.10"
    assert project.pulumi("stack", "output", "node_count").strip() == "2"
    assert project.pulumi("stack", "output", "node_addresses").strip() == "[secret]"

    project.pulumi("destroy", "--yes", "--skip-preview")
    assert gone(project)
    assert project.resources() == []


@pytest.mark.parametrize(
    "placement",
    [
        pytest.param(WIDE, id="two groups, no way out, a locked bucket, a file system"),
        pytest.param(replace(PLACEMENT, scheduler="none", controller=None), id="no scheduler"),
    ],
)
def test_every_way_to_build_a_cluster_stands_up_stays_and_goes(
    project: EngineProject, placement: PinnedPlacement
) -> None:
    project.pin(placement)
    project.pulumi("up", "--yes", "--skip-preview")
    project.pulumi("preview", "--expect-no-changes")
    project.pulumi("destroy", "--yes", "--skip-preview")
    assert gone(project)


def test_a_new_image_in_the_pin_replaces_the_nodes_and_not_the_rest(project: EngineProject) -> None:
    project.pin(PLACEMENT)
    project.pulumi("up", "--yes", "--skip-preview")
    before = {resource["urn"]: resource.get("id") for resource in project.resources()}
    with project.world() as world:
        newer = publish_image(world, STAND_IN, "us-east-1", "gpu", "x86_64", name="newer gpu")
    project.pin(with_pool(image=replace(GPU_IMAGE, id=newer.id)))
    project.pulumi("up", "--yes", "--skip-preview")
    after = {resource["urn"]: resource.get("id") for resource in project.resources()}
    assert set(after) == set(before)
    changed = sorted(urn.rpartition("::")[2] for urn in after if after[urn] != before[urn])
    assert changed == ["cluster-gpu-0-0", "cluster-gpu-0-1"]


def test_a_stack_without_a_pin_is_told_how_to_make_one_and_gets_no_traceback(project: EngineProject) -> None:
    project.pin(None)
    done = project.try_pulumi("preview")
    assert done.returncode != 0
    text = done.stdout + done.stderr
    assert "emporion plan INTENT --pin dev" in text
    assert "Traceback" not in text


def test_a_stack_without_any_configuration_is_told_the_same(project: EngineProject) -> None:
    (project.folder / "stacks" / "Pulumi.dev.yaml").unlink(missing_ok=True)
    text = (done := project.try_pulumi("preview")).stdout + done.stderr
    assert done.returncode != 0
    assert "emporion plan INTENT --pin dev" in text
    assert "Traceback" not in text


def test_a_real_stack_that_reaches_the_stand_in_makes_nothing(project: EngineProject) -> None:
    project.pin(PLACEMENT, world="real")
    done = project.try_pulumi("up", "--yes", "--skip-preview")
    text = done.stdout + done.stderr
    assert done.returncode != 0
    assert "000000000000" in text
    assert "Traceback" not in text
    assert gone(project)


def test_saying_that_data_may_go_changes_the_bucket_in_place(project: EngineProject) -> None:
    placement = replace(PLACEMENT, scheduler="none", controller=None)
    project.pin(placement)
    project.pulumi("up", "--yes", "--skip-preview")
    before = {item["urn"]: item.get("id") for item in project.resources()}
    project.pin(placement, delete_data=True)
    project.pulumi("up", "--yes", "--skip-preview")
    assert {item["urn"]: item.get("id") for item in project.resources()} == before
    (bucket,) = [item for item in project.resources() if item["type"] == "aws:s3/bucket:Bucket"]
    assert bucket["inputs"]["forceDestroy"] is True
