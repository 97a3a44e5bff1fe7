"""Pinning a plan to a stack, and comparing a stack with today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from plans import AWS, NOW, written

from emporion.market.clouds import Cloud
from emporion.market.errors import UserError
from emporion.market.intent import intent_from_flags
from emporion.market.plan import Plan, make_plan
from emporion.operations.pinning import Pinned, compare, pin_stack, pinned_to, preview_pin
from emporion.operations.project import Project, find_project

EAST, ELSEWHERE = ("us-east-1", "use1-az1"), ("us-east-2", "use2-az1")


def clouds(api: str) -> Mapping[str, Cloud]:
    return {"aws": replace(AWS["aws"], api=f"image_sources:{api}")}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    return find_project(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def plan(folder: Path, spot: str, place: tuple[str, str] = EAST, as_of: str = "2026-12-01") -> Plan:
    region, zone = place
    row = f"aws,{region},{zone},p4d.24xlarge,a100-40gb,8,40,96,1152,32,{spot},test,{as_of}"
    intent = intent_from_flags(gpus="a100:8", market="spot")
    return make_plan(intent, written(folder, (row,)), clouds=AWS, now=NOW)


def pinned(project: Project, made: Plan) -> Pinned:
    found = preview_pin(project, "demo", made, clouds=clouds("Answering"), world="real")
    if found.wrote:
        pin_stack(project, "demo", found, world="real")
    return found


def test_a_first_pin_is_written_and_an_equal_one_is_not(project: Project, folder: Path) -> None:
    first = pinned(project, plan(folder, "10"))
    assert (first.changes, first.wrote) == ((), True)
    assert pinned_to(project, "demo") == first.placement
    again = pinned(project, plan(folder, "10"))
    assert (again.changes, again.wrote) == ((), False)


def test_an_equal_placement_of_a_newer_catalogue_is_written_to_date_its_prices(project: Project, folder: Path) -> None:
    old = plan(folder, "10", as_of="2026-11-01")
    pinned(project, old)
    stale = compare(project, "demo", plan(folder, "10"), clouds=clouds("Answering"), world="real")
    assert stale.diff.stale is not None
    renewed = pinned(project, plan(folder, "10"))
    assert (renewed.changes, renewed.wrote) == ((), True)
    fresh = compare(project, "demo", plan(folder, "10"), clouds=clouds("Answering"), world="real")
    assert (fresh.diff.stale, fresh.diff.changes) == (None, ())


def test_the_images_of_today_are_those_of_the_pinned_region(project: Project, folder: Path) -> None:
    pinned(project, plan(folder, "10"))
    found = compare(project, "demo", plan(folder, "8", ELSEWHERE), clouds=clouds("Answering"), world="real")
    assert [change.kind for change in found.diff.changes] == ["gone", "placement"]
    assert found.no_images is None


def test_a_newer_image_is_a_difference(project: Project, folder: Path) -> None:
    first = pinned(project, plan(folder, "10")).placement
    (pool,) = first.pools
    older = replace(first, pools=(replace(pool, image=replace(pool.image, id="ami-older")),))
    pin_stack(project, "demo", Pinned(older, (), wrote=True), world="real")
    (image,) = compare(project, "demo", plan(folder, "10"), clouds=clouds("Answering"), world="real").diff.changes
    assert (image.kind, image.what, image.now) == ("image", "gpu-0", "ami-us-east-1-gpu gpu image")


def test_a_cloud_that_cannot_be_asked_hides_no_other_difference(project: Project, folder: Path) -> None:
    pinned(project, plan(folder, "10"))
    found = compare(project, "demo", plan(folder, "11"), clouds=clouds("Unreachable"), world="real")
    assert found.no_images == "cannot ask for the controller image of x86_64"
    assert [change.kind for change in found.diff.changes] == ["price", "total"]
    with pytest.raises(UserError) as refused:
        preview_pin(project, "demo", plan(folder, "11"), clouds=clouds("Unreachable"), world="real")
    assert refused.value.code == "E-CLOUD"


def test_a_provider_without_a_component_has_no_images_to_ask_for(project: Project, folder: Path) -> None:
    pinned(project, plan(folder, "10"))
    found = compare(project, "demo", plan(folder, "10"), clouds={}, world="real")
    assert (found.diff.changes, found.no_images) == ((), None)


def test_a_stack_without_a_pin_is_told(project: Project, folder: Path) -> None:
    with pytest.raises(UserError) as unknown:
        compare(project, "nix", plan(folder, "10"), clouds=clouds("Answering"), world="real")
    assert unknown.value.code == "E-STACK"
    project.write("bare", {"emporion:world": "real"})
    with pytest.raises(UserError) as bare:
        compare(project, "bare", plan(folder, "10"), clouds=clouds("Answering"), world="real")
    assert bare.value.code == "E-UNPINNED"
