"""The shape of the house: what no linter sees. Run from a checkout."""

from __future__ import annotations

import ast
import csv
import re
import subprocess
import tomllib
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).parents[1]
ROOMS = sorted(path.parents[2].name for path in REPO.glob("*/emporion/*/__init__.py"))
CORE = ("market", "operations", "cli")
"""Rooms that know no cloud by name."""
LONGEST = 400
LONGEST_TEST = 500
"""Tests hold tables of cases, one row of which the formatter spreads over many lines."""
TABLES = re.compile(r"/stand_in\w*\.py$")
"""Modules that are data: a row per resource type."""
SOURCE = {".py", ".go", ".sh", ".j2", ""}
"""Endings of files that people read from top to bottom; `run` and `.ci/run` have none."""
NO_SOURCE = ("LICENSE", "py.typed")


@cache
def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=REPO, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return [path for line in listed.stdout.splitlines() if (path := REPO / line).is_file()]


def python_files(*rooms: str) -> list[Path]:
    """Return the modules of rooms; what is only copied elsewhere and run there is none."""
    found = (path for room in rooms for path in (REPO / room / "emporion").rglob("*.py"))
    return sorted(path for path in found if not {"go", "template", "templates"} & set(path.parts))


def named(path: Path) -> str:
    return path.relative_to(REPO).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def pyproject() -> dict[str, Any]:
    return tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))


def test_there_are_rooms() -> None:
    assert {"cli", "components", "engine", "localcloud", "market", "operations"} <= set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_is_a_namespace_portion_with_one_typed_package(room: str) -> None:
    inside = REPO / room / "emporion"
    assert not (inside / "__init__.py").exists(), "an __init__.py here hides every other room"
    assert sorted(path.name for path in inside.iterdir() if path.is_dir() and path.name != "__pycache__") == [room]
    assert (inside / room / "__init__.py").is_file()
    assert (inside / room / "py.typed").is_file()


def test_every_package_folder_has_an_init() -> None:
    bare = {named(path.parent) for path in python_files(*ROOMS) if not (path.parent / "__init__.py").exists()}
    assert bare == set()


def test_the_room_lists_of_pyproject_agree_with_the_folders() -> None:
    wheel = pyproject()["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert sorted(wheel["sources"]) == ROOMS
    assert sorted(wheel["dev-mode-dirs"]) == ROOMS
    assert sorted(pyproject()["tool"]["mypy"]["mypy_path"].split(":")) == [*ROOMS, "tests/support"]


def test_every_room_stands_in_the_import_contracts() -> None:
    contracts = pyproject()["tool"]["importlinter"]["contracts"]
    layers = " ".join(next(contract["layers"] for contract in contracts if contract["type"] == "layers"))
    placed = set(re.findall(r"emporion\.(\w+)", layers))
    assert placed | {"engine"} == set(ROOMS), "engine imports nothing of ours; a contract of its own says so"


def test_clouds_entry_points_and_extras_agree() -> None:
    folders = {path.parent.name for path in (REPO / "components/emporion/components").glob("*/__init__.py")}
    clouds = {name for name in folders if (REPO / f"components/emporion/components/{name}/cluster.py").is_file()}
    project = pyproject()["project"]
    registered = project["entry-points"]["emporion.clouds"]
    extras = project["optional-dependencies"]
    assert clouds, "a cloud is a folder with a cluster"
    assert set(registered) == clouds
    assert all(value == f"emporion.components.{name}:CLOUD" for name, value in registered.items())
    assert folders <= set(extras)
    assert extras["all"] == [f"emporion[{','.join(name for name in extras if name != 'all')}]"]


def test_a_folder_of_a_cloud_brings_its_prices_and_facts_and_they_are_registered() -> None:
    root = REPO / "components/emporion/components"
    folders = {path.parent.name for path in root.glob("*/__init__.py")}
    assert {path.parent.name for path in root.glob("*/offers.py")} == folders
    project = pyproject()["project"]
    live = project["entry-points"]["emporion.offers"]
    own = {name: value for name, value in live.items() if value.startswith("emporion.components.")}
    assert own == {name: f"emporion.components.{name}.offers:ADAPTER" for name in folders}
    with_facts = {path.parent.name for path in root.glob("*/facts.py")}
    facts = project["entry-points"]["emporion.facts"]
    assert facts == {name: f"emporion.components.{name}.facts:facts" for name in with_facts}
    assert set(live) <= set(project["optional-dependencies"])


def test_a_market_that_only_has_prices_is_one_module_one_entry_point_and_one_extra() -> None:
    modules = {path.stem for path in (REPO / "market/emporion/market/offers/adapters").glob("[a-z]*.py")}
    project = pyproject()["project"]
    live = project["entry-points"]["emporion.offers"]
    own = {name: value for name, value in live.items() if value.startswith("emporion.market.")}
    assert set(own.values()) == {f"emporion.market.offers.adapters.{name}:ADAPTER" for name in modules}
    for name in own:
        adapter = entry_points(group="emporion.offers", name=name)[name].load()
        assert (adapter.provider, adapter.extra) == (name, name)
        assert project["optional-dependencies"][name] == ["httpx>=0.28"]


def exported(path: Path) -> list[str] | None:
    """Return `__all__` as it is written, or None when the module has none."""
    for node in parsed(path).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            names: list[str] = ast.literal_eval(node.value)
            return names
    return None


def in_order(name: str) -> tuple[int, str]:
    """Constants, classes, functions, as ruff's RUF022 sorts them."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)


@pytest.mark.parametrize("path", python_files(*ROOMS), ids=named)
def test_public_names_are_listed_sorted_and_there(path: Path) -> None:
    names = exported(path)
    body = parsed(path).body
    empty = all(isinstance(node, ast.Expr) for node in body)
    if path.name == "__main__.py" or (path.stem.startswith("_") and path.stem != "__init__") or empty:
        assert names is None or names == sorted(names, key=in_order)
        return
    assert names is not None, "a module says what is public: __all__"
    assert names == sorted(names, key=in_order)
    defined = {node.id for node in ast.walk(parsed(path)) if isinstance(node, ast.Name)}
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            defined.add(node.name)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            defined |= {alias.asname or alias.name for alias in node.names}
    lazy = "__getattr__" in defined
    assert lazy or set(names) <= defined


def providers() -> frozenset[str]:
    """Return every provider of the bundled offers."""
    with (REPO / "market/emporion/market/data/offers.csv").open(encoding="utf-8", newline="") as lines:
        return frozenset(row["provider"] for row in csv.DictReader(lines))


PROVIDERS = providers()


def test_the_offers_name_providers() -> None:
    assert {"aws", "azure", "gcp"} <= PROVIDERS


@pytest.mark.parametrize("path", python_files(*CORE), ids=named)
def test_the_core_lists_no_providers_and_branches_on_none(path: Path) -> None:
    for node in ast.walk(parsed(path)):
        match node:
            case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
                texts = {e.value for e in elements if isinstance(e, ast.Constant)}
            case ast.Dict(keys=keys):
                texts = {key.value for key in keys if isinstance(key, ast.Constant)}
            case ast.Compare(left=left, comparators=[*others]):
                texts = {e.value for e in (left, *others) if isinstance(e, ast.Constant)}
                assert not texts & PROVIDERS, f"line {node.lineno} asks which provider it is"
                continue
            case _:
                continue
        assert len(texts & PROVIDERS) < 2, f"line {node.lineno} lists providers"


# Written in pieces, so that this file does not hold what it looks for.
FORBIDDEN = {
    "a machine's path": re.compile(r"(?<![\w./-])/(?:" + "wo" + r"rk|" + "Us" + r"ers)/[\w.-]+"),
    "a home folder": re.compile(r"(?<![\w./-])/" + "ho" + r"me/(?!ubuntu\b)[\w.-]+/"),
    "a registry's host": re.compile(
        "|".join((
            r"py" + r"pi\.org", r"pythonho" + r"sted\.org", r"registry\.npm" + r"js\.org", r"proxy\.gol" + r"ang\.org",
            r"sum\.gol" + r"ang\.org", r"conda\.ana" + r"conda\.org", r"index\.cr" + r"ates\.io",
        ))
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_tracked_file_names(what: str) -> None:
    found = [
        f"{named(path)}:{number}: {line.strip()[:80]}"
        for path in tracked()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if FORBIDDEN[what].search(line)
    ]
    assert found == []


def test_files_are_short_enough_to_hold_one_subject() -> None:
    long = {
        named(path): lines
        for path in tracked()
        if path.suffix in SOURCE and path.name not in NO_SOURCE and "data" not in path.parts
        if not TABLES.search(named(path))
        if (lines := len(path.read_text(encoding="utf-8").splitlines()))
        > (LONGEST_TEST if path.is_relative_to(REPO / "tests") else LONGEST)
    }
    assert long == {}


def test_no_file_holds_unfinished_work() -> None:
    marks = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|raise NotImplemented" + "Error")
    found = [
        f"{named(path)}:{number}"
        for path in tracked()
        if path.suffix in SOURCE and path.name not in NO_SOURCE
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if marks.search(line)
    ]
    assert found == []


def test_only_the_real_api_imports_boto3() -> None:
    users = {
        named(path)
        for path in python_files(*ROOMS)
        for node in ast.walk(parsed(path))
        for module in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        if module.partition(".")[0] == "boto3"
    }
    assert users == {"components/emporion/components/aws/api/session.py"}


def test_tests_have_unique_names_and_no_package() -> None:
    names = [path.name for path in (REPO / "tests").rglob("*.py") if path.name != "conftest.py"]
    assert len(names) == len(set(names))
    assert not list((REPO / "tests").rglob("__init__.py"))
