from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from emporion.images.fit import check_image
from emporion.images.labels import Layer, facts_of, labels_of_archive, labels_of_folder, layers_of_archive
from emporion.images.node import node_of
from emporion.market.errors import UserError

LABELS = {"emporion.gpu": "h100", "emporion.machine": "x86_64", "emporion.torch": "2.8.0+cu128", "other": "x"}


def layout(labels: dict[str, str] | None) -> dict[str, bytes]:
    """Return the files of an OCI layout whose image has labels."""
    blobs: dict[str, bytes] = {}

    def put(document: object) -> dict[str, object]:
        raw = json.dumps(document).encode()
        digest = hashlib.sha256(raw).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = raw
        return {"digest": f"sha256:{digest}", "size": len(raw)}

    config = put({"architecture": "amd64", "config": {"Labels": labels}})
    manifest = put({"schemaVersion": 2, "config": config, "layers": []})
    return {"index.json": json.dumps({"manifests": [manifest]}).encode(), **blobs}


def archive(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, raw in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            tar.addfile(info, io.BytesIO(raw))
    return path


def test_labels_are_read_from_a_layout_and_from_an_archive(tmp_path: Path) -> None:
    for name, raw in layout(LABELS).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(raw)
    assert labels_of_folder(tmp_path) == LABELS
    assert labels_of_archive(archive(tmp_path / "image.tar", layout(LABELS))) == LABELS


def test_an_image_without_our_labels_says_nothing(tmp_path: Path) -> None:
    path = archive(tmp_path / "image.tar", layout(None))
    with pytest.raises(UserError, match="E-LABELS"):
        facts_of(labels_of_archive(path), str(path))


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({}, id="empty"),
        pytest.param({"index.json": b"{}"}, id="no manifests"),
        pytest.param({"index.json": b"["}, id="no JSON"),
        pytest.param({"index.json": b'{"manifests": []}'}, id="no image"),
        pytest.param({"index.json": b'{"manifests": [{"digest": "sha256:../../x"}]}'}, id="a path for a digest"),
        pytest.param({"index.json": b"[]"}, id="a list"),
    ],
)
def test_what_is_no_image_is_told(tmp_path: Path, files: dict[str, bytes]) -> None:
    with pytest.raises(UserError, match="E-IMAGE-FILE"):
        labels_of_archive(archive(tmp_path / "image.tar", files))


def test_a_file_that_is_no_archive_is_told(tmp_path: Path) -> None:
    (tmp_path / "image.tar").write_text("hello")
    with pytest.raises(UserError, match="E-IMAGE-FILE"):
        labels_of_archive(tmp_path / "image.tar")


def test_an_image_of_unknown_torch_cannot_be_told() -> None:
    facts = facts_of({**LABELS, "emporion.torch": "9.9.9+cu999"}, "x")
    fit = check_image(facts, node_of("h100", "580.95.05"))
    assert (fit.works, fit.why) == (None, ("nothing is known of torch 9.9.9+cu999",))


def test_an_image_without_a_framework_runs_on_what_it_was_made_for() -> None:
    facts = facts_of({"emporion.archs": "sm_75", "emporion.machine": "x86_64"}, "x")
    assert check_image(facts, node_of("t4", None)).works
    assert check_image(facts, node_of("h100", None)).works is False
    assert check_image(facts, node_of(None, None)).works is None


def test_minor_version_compatibility_is_warned_of() -> None:
    fit = check_image(facts_of(LABELS, "x"), node_of("h100", "550.54.14"))
    assert fit.works
    assert "PTX" in fit.warnings[0]


def test_layers_are_told_with_their_size_and_the_step_that_made_them(tmp_path: Path) -> None:
    history = [{"created_by": "|1 A=b /bin/sh -c a\n  b"}, {"created_by": "ENV x", "empty_layer": True}]
    files = {
        "manifest.json": json.dumps([{"Config": "c.json", "Layers": ["1.tar", "2.tar"]}]).encode(),
        "c.json": json.dumps({"config": {}, "history": history}).encode(),
        "1.tar": b"x" * 10,
        "2.tar": b"y" * 20,
    }
    path = archive(tmp_path / "image.tar", files)
    assert layers_of_archive(path) == (Layer(10, "a b"), Layer(20, "?"))
    assert layers_of_archive(archive(tmp_path / "oci.tar", layout(LABELS))) == ()
