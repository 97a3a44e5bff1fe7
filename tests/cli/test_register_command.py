from __future__ import annotations

from pathlib import Path

from terminal import Emporion

DOCUMENT = """\
region: berlin
machines:
  - name: rack-a
    label: a100-80gb
    gpus: 8
    cuda: "12.4"
    preinstalled: [pytorch==2.1.0]
    price: $6/hr
"""


def test_a_machine_is_registered_listed_planned_with_and_removed(emporion: Emporion, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(DOCUMENT)
    made = emporion("offers", "register", str(file), "--json").document
    assert (made["schema"], made["replaced"]) == ("emporion.registered/1", False)
    (one,) = made["registered"]
    assert (one["name"], one["providers"], one["offers"][0]["label"]) == ("lab", ["onprem"], "a100-80gb")
    assert "rack-a" in emporion("offers", "registered").out
    listed = emporion("offers", "list", "--provider", "onprem", "--verbose").out
    assert "cuda 12.4" in listed
    query = 'cuda >= 12.1 and "pytorch==2.1.0" in preinstalled'
    plan = emporion("plan", "--gpus", "a100:8", "--where", query, "--json").document
    assert [node["instance_type"] for node in plan["solutions"][0]["nodes"]] == ["rack-a"]
    removed = emporion("offers", "unregister", "lab", "--json").document
    assert (removed["schema"], removed["name"]) == ("emporion.unregistered/1", "lab")
    assert emporion("offers", "registered", "--json").document["registered"] == []
    assert "nothing is registered" in emporion("offers", "registered").err


def test_registering_again_needs_to_be_meant(emporion: Emporion, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(DOCUMENT)
    assert emporion("offers", "register", str(file)).code == 0
    again = emporion("offers", "register", str(file))
    assert (again.code, again.out) == (2, "")
    assert "add --replace" in again.err
    assert "replaced as lab" in emporion("offers", "register", str(file), "--replace").err


def test_a_label_that_contradicts_its_memory_registers_nothing(emporion: Emporion, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(DOCUMENT.replace("gpus: 8", "gpus: 8\n    vram: 40gb"))
    ran = emporion("offers", "register", str(file))
    assert (ran.code, ran.out) == (2, "")
    assert f"--> {file}:6  machines[0].vram" in ran.err
    assert "did you mean label: a100-40gb" in ran.err
    assert emporion("offers", "registered", "--json").document["registered"] == []


def test_a_cloud_is_nobodys_own(emporion: Emporion, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    for cloud in ("aws", "lambda", "coreweave"):
        file.write_text(f"provider: {cloud}\n{DOCUMENT}")
        assert f"{cloud} is a known cloud" in emporion("offers", "register", str(file)).err


def test_what_is_not_there_cannot_be_removed(emporion: Emporion) -> None:
    ran = emporion("offers", "unregister", "lab")
    assert ran.code == 2
    assert "nothing is registered as 'lab'" in ran.err
