"""A world, and a provider over it without wire, engine or waiting."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from clock import Clock

from emporion.components.aws.stand_in import STAND_IN
from emporion.localcloud.faults import Kill
from emporion.localcloud.plugin.calls import Caller
from emporion.localcloud.plugin.provider import Naming, Provider
from emporion.localcloud.plugin.schema import Schemas
from emporion.localcloud.world import World
from emporion.market.stand_in import StandIn


def package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


@pytest.fixture(scope="session")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Schemas:
    cache = tmp_path_factory.mktemp("cache")
    return Schemas(package("pulumi_aws"), version("pulumi-aws"), cache, lambda: package("botocore"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def world(home: Path, clock: Clock) -> Iterator[World]:
    with World.open(home, clock) as opened:
        yield opened


@pytest.fixture
def rules() -> StandIn:
    return STAND_IN


@pytest.fixture
def killed() -> list[Kill]:
    """Who the kill points killed."""
    return []


@pytest.fixture
def provider(world: World, rules: StandIn, schemas: Schemas, clock: Clock, killed: list[Kill]) -> Provider:
    made = Provider(Caller(world, rules, killed.append, clock.sleep), schemas)
    made.configure({"region": "us-east-1"})
    return made


Make = Callable[..., str]


@pytest.fixture
def make(provider: Provider) -> Make:
    """Check and create something; return its id."""

    def create(token: str, name: str, inputs: Mapping[str, Any], stack: str = "dev") -> str:
        urn = f"urn:pulumi:{stack}::shop::{token}::{name}"
        checked, failures = provider.check(urn, {}, inputs, Naming(b"seed"))
        assert not failures
        made, _ = provider.create(urn, checked, preview=False)
        assert not made.failures, made.failures
        return made.id

    return create
