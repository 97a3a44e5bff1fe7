from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from terminal import Emporion

from emporion.cli.init import project_name, write_project
from emporion.market.errors import UserError

REPO = Path(__file__).resolve().parents[2]


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_init_makes_a_project(emporion: Emporion, tmp_path: Path) -> None:
    ran = emporion("init", str(tmp_path / "shop"))
    assert ran.code == 0, ran.err
    assert files(tmp_path / "shop") == [".gitignore", "Pulumi.yaml", "__main__.py", "intents/demo.yaml"]
    assert yaml.safe_load((tmp_path / "shop" / "Pulumi.yaml").read_text())["name"] == "shop"
    assert len((tmp_path / "shop" / "__main__.py").read_text().splitlines()) == 5


def test_the_example_is_that_of_the_repository(emporion: Emporion, tmp_path: Path) -> None:
    emporion("init", str(tmp_path / "shop"))
    ours = yaml.safe_load((REPO / "stacks" / "intents" / "demo.yaml").read_text())
    assert yaml.safe_load((tmp_path / "shop" / "intents" / "demo.yaml").read_text()) == ours


def test_init_never_overwrites_and_then_writes_nothing(emporion: Emporion, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "Pulumi.yaml").write_text("name: mine\n")
    ran = emporion("init", str(tmp_path / "shop"))
    assert ran.code == 2
    assert "already has Pulumi.yaml" in ran.err
    assert files(tmp_path / "shop") == ["Pulumi.yaml"]


def test_init_where_a_file_lies_is_bad_input(emporion: Emporion, tmp_path: Path) -> None:
    (tmp_path / "shop").write_text("")
    assert emporion("init", str(tmp_path / "shop")).code == 2


def test_a_failure_half_way_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "mine").write_text("kept")
    with pytest.raises(UnicodeEncodeError):
        write_project(tmp_path / "shop", {"a": "whole", "b/c": "whole", "d": "\ud800"})
    assert files(tmp_path / "shop") == ["mine"]


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="already has a"):
        write_project(tmp_path, {"a": "ours", "./a": "second of the same name"})
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        pytest.param("my cluster", "my-cluster", id="blank"),
        pytest.param("größe", "gr-e", id="not ascii"),
        pytest.param("…", "gpu-cluster", id="nothing left"),
        pytest.param("x" * 200, "x" * 50, id="long"),
    ],
)
def test_the_name_of_a_project_is_made_of_what_pulumi_allows(folder: str, name: str, tmp_path: Path) -> None:
    assert project_name(tmp_path / folder) == name
