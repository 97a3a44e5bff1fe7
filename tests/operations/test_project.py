from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from emporion.market.errors import UserError
from emporion.operations.project import Project, find_project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "Pulumi.yaml").write_text("name: shop\nruntime: python\nstackConfigDir: stacks\n")
    (tmp_path / "stacks").mkdir()
    return find_project(tmp_path)


def test_the_nearest_project_above_is_found(project: Project, tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert find_project(deep) == project
    assert project.name == "shop"
    assert project.config_path("dev") == tmp_path.resolve() / "stacks" / "Pulumi.dev.yaml"


def test_an_explicit_folder_is_not_searched_upwards(project: Project, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(UserError, match=r"no Pulumi\.yaml in .*/a ") as error:
        find_project(tmp_path / "a", explicit=True)
    assert error.value.fix is not None
    assert "emporion init" in error.value.fix


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("name: [", "cannot be read", id="not yaml"),
        pytest.param("runtime: python\n", "has no name", id="no name"),
        pytest.param("- a\n", "has no name", id="a list"),
    ],
)
def test_a_broken_project_file_is_one_error(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "Pulumi.yaml").write_text(text)
    with pytest.raises(UserError, match=says):
        find_project(tmp_path)


def test_writing_keeps_other_keys_and_leaves_no_draft(project: Project) -> None:
    path = project.config_path("dev")
    path.write_text("encryptionsalt: v1:abc\nconfig:\n  aws:region: eu-west-1\n  emporion:world: local\n")
    project.write("dev", {"emporion:generation": "2"})
    document = yaml.safe_load(path.read_text())
    assert document == {
        "encryptionsalt": "v1:abc",
        "config": {"aws:region": "eu-west-1", "emporion:world": "local", "emporion:generation": "2"},
    }
    assert [file.name for file in path.parent.iterdir()] == ["Pulumi.dev.yaml"]


def test_a_config_that_cannot_be_written_stays_as_it_was(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project.config_path("dev")
    path.write_text("config: {a:b: c}\n")

    def full(_self: Path, _target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UserError, match="No space left"):
        project.write("dev", {"emporion:world": "real"})
    monkeypatch.undo()
    assert path.read_text() == "config: {a:b: c}\n"
    assert [file.name for file in path.parent.iterdir()] == ["Pulumi.dev.yaml"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("config: {emporion:world: moon}\n", "allowed: local, real", id="unknown world"),
        pytest.param("config: {emporion:generation: -1}\n", "whole number", id="negative generation"),
        pytest.param("config: [1]\n", "not a stack configuration", id="config is a list"),
        pytest.param("config: {", "cannot be read", id="not yaml"),
    ],
)
def test_a_broken_stack_configuration_is_one_error(project: Project, text: str, says: str) -> None:
    project.config_path("dev").write_text(text)
    with pytest.raises(UserError, match=says) as error:
        project.read("dev")
    assert error.value.where is not None
    assert "Pulumi.dev.yaml" in error.value.where


def test_an_unknown_stack_gets_its_near_miss(project: Project) -> None:
    project.config_path("demo").write_text("config: {}\n")
    with pytest.raises(UserError) as error:
        project.require("dmeo")
    assert error.value.fix == "did you mean 'demo'?"


@pytest.mark.parametrize("name", ["", "a b", "../x", "é", "x" * 101])
def test_a_name_that_cannot_be_a_stack_is_refused(project: Project, name: str) -> None:
    with pytest.raises(UserError, match="cannot be a stack's name"):
        project.require(name)


def answer_no(project: Project, stack: str) -> None:
    with project.on_trial(stack):
        project.write(stack, {"emporion:world": "real"})
        raise UserError("E-CONFIRM", "stopped")


def test_a_configuration_on_trial_is_put_back_when_the_answer_is_no(project: Project) -> None:
    path = project.config_path("dev")
    path.write_text("config: {a:b: c}\n")
    with pytest.raises(UserError):
        answer_no(project, "dev")
    assert path.read_text() == "config: {a:b: c}\n"
    with project.on_trial("dev"):
        project.write("dev", {"emporion:world": "local"})
    assert "emporion:world: local" in path.read_text()


def test_a_stack_that_was_only_tried_leaves_no_configuration(project: Project) -> None:
    with pytest.raises(UserError):
        answer_no(project, "new")
    assert project.read("new") is None
