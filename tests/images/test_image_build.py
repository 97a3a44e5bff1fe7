"""Builds with stand-ins for builders, statements and their signatures. A real build is in test_image_real_build.py."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from emporion.images.build import build_image, epoch_of, sbom_of, statement_path, verify_image
from emporion.images.builders import BUILDERS, Job, choose_builder, run_builder
from emporion.images.statement import key_id, load_public_key, opened, own_key, pae, sealed
from emporion.market.errors import UserError

NOW = datetime(2026, 12, 1, tzinfo=UTC)
CONFIG: dict[str, Any] = {
    "config": {
        "User": "10001:10001",
        "Healthcheck": {"Test": ["CMD", "true"]},
        "Labels": {"emporion.gpu": "t4", "emporion.archs": "sm_75"},
    },
    "rootfs": {"diff_ids": ["sha256:1"]},
}
DOCKERFILE = f"ARG BASE=ubuntu:24.04@sha256:{'a' * 64}\nFROM ${{BASE}}\nARG SOURCE_DATE_EPOCH=7\nHEALTHCHECK CMD true\n"


def image(path: Path, config: dict[str, Any]) -> None:
    """Write a Docker archive."""
    files = {"c.json": json.dumps(config).encode(), "manifest.json": json.dumps([{"Config": "c.json"}]).encode()}
    with tarfile.open(path, "w") as tar:
        for name, raw in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            tar.addfile(info, io.BytesIO(raw))


def job(folder: Path, **also: Any) -> Job:
    context = folder / "context"
    context.mkdir(exist_ok=True)
    (context / "Dockerfile").write_text(DOCKERFILE)
    return Job(context, folder / "image.tar", "name:tag", 7, also.pop("build_args", {}), **also)


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Puts a shell script of some name on PATH."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")

    def put(name: str, script: str) -> None:
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / name).chmod(0o755)

    return put


def working(tmp_path: Path, *configs: dict[str, Any]) -> str:
    """Return a script that writes one image after the other, as buildah would."""
    for number, config in enumerate(configs):
        image(tmp_path / f"made-{number}.tar", config)
    count = tmp_path / "count"
    return (
        f'[ "$1" = push ] || exit 0\nn=$(cat {count} 2>/dev/null || echo 0)\necho $((n + 1)) >{count}\n'
        f'to=${{3#docker-archive:}}\ncp {tmp_path}/made-$n.tar "${{to%%:name*}}"'
    )


def test_each_builder_gets_tag_arguments_platform_and_time(tmp_path: Path) -> None:
    one = job(tmp_path, build_args={"BASE": "x"}, platform="linux/arm64", cache=False)
    for builder in BUILDERS.values():
        words = " ".join(word for command in builder.commands(one) for word in command)
        for part in ("BASE=x", "linux/arm64", "--no-cache", "name:tag", str(one.archive)):
            assert part in words, builder.name
    assert "--format docker --timestamp 7" in " ".join(BUILDERS["buildah"].commands(one)[0])


def test_a_builder_that_is_not_there_is_told_with_the_way_to_it() -> None:
    with pytest.raises(UserError) as caught:
        choose_builder("buildah", lambda _: None)
    assert "apt-get install buildah" in str(caught.value.fix)
    assert "need no builder" in str(caught.value.fix)
    with pytest.raises(UserError, match="no builder of images is on PATH"):
        choose_builder(None, lambda _: None)
    assert choose_builder(None, lambda name: name == "buildah").name == "buildah"


@pytest.mark.parametrize(
    ("script", "code", "what"),
    [
        ("echo STEP 3; echo 'exit status 127' >&2; exit 5", "E-BUILD", "buildah ends with 5: exit status 127"),
        ("echo 'write /x: no space left on device'; exit 1", "E-DISK", "the disk was full"),
        ("exit 0", "E-BUILD", "ended well and wrote no image"),
        ("exit 9", "E-BUILD", "ends with 9: no words"),
    ],
)
def test_a_build_that_fails_says_why_and_leaves_no_image(
    tmp_path: Path, program: Callable[[str, str], None], script: str, code: str, what: str
) -> None:
    program("buildah", script)
    one = job(tmp_path)
    one.archive.write_text("of an older build")
    with pytest.raises(UserError) as caught:
        run_builder(BUILDERS["buildah"], one, lambda _: None)
    assert (caught.value.code, caught.value.exit_code) == (code, 1)
    assert what in caught.value.what
    assert not one.archive.exists()


def test_a_build_is_signed_and_verified(tmp_path: Path, program: Callable[[str, str], None]) -> None:
    program("buildah", working(tmp_path, CONFIG))
    said: list[str] = []
    key = own_key(tmp_path / "keys")
    made = build_image(job(tmp_path), BUILDERS["buildah"], key, clock=lambda: NOW, report=said.append)
    assert (made.sbom, made.reproducible) == (None, None)
    assert "syft is not on PATH" in said[-1]
    built, predicate = verify_image(tmp_path / "image.tar", load_public_key(tmp_path / "keys" / "images.pub"))
    assert built.image_id == made.built.image_id
    bases = predicate["buildDefinition"]["resolvedDependencies"]  # type: ignore[index]
    assert bases[0] == {"uri": "docker:ubuntu:24.04", "digest": {"sha256": "a" * 64}}
    assert {one["uri"] for one in bases[1:]} == {"file:Dockerfile"}


@pytest.mark.parametrize(
    ("second", "same"), [(CONFIG, True), ({**CONFIG, "container": "x"}, True), ({**CONFIG, "rootfs": {}}, False)]
)
def test_a_second_build_is_compared_by_what_a_container_sees(
    tmp_path: Path, program: Callable[[str, str], None], second: dict[str, Any], *, same: bool
) -> None:
    program("buildah", working(tmp_path, CONFIG, second))
    key = own_key(tmp_path / "keys")
    made = build_image(job(tmp_path), BUILDERS["buildah"], key, clock=lambda: NOW, report=lambda _: None, twice=True)
    assert made.reproducible is same
    assert not list(tmp_path.glob(".again*"))


@pytest.mark.parametrize(
    ("lost", "what"),
    [("Healthcheck", "its health check"), ("User", "its user, by number"), ("Labels", "its labels")],
)
def test_an_image_that_lost_something_is_refused(
    tmp_path: Path, program: Callable[[str, str], None], lost: str, what: str
) -> None:
    config = {name: value for name, value in CONFIG["config"].items() if name != lost}
    program("buildah", working(tmp_path, {**CONFIG, "config": config}))
    with pytest.raises(UserError) as caught:
        build_image(
            job(tmp_path), BUILDERS["buildah"], own_key(tmp_path / "keys"), clock=lambda: NOW, report=lambda _: None
        )
    assert what in caught.value.what
    assert not statement_path(tmp_path / "image.tar").exists()


def test_the_list_of_parts_comes_from_syft_where_it_is(tmp_path: Path, program: Callable[[str, str], None]) -> None:
    said: list[str] = []
    archive = tmp_path / "image.tar"
    program("syft", 'echo "{\\"bomFormat\\": \\"CycloneDX\\"}"')
    path = sbom_of(archive, said.append)
    assert path is not None
    assert json.loads(path.read_text()) == {"bomFormat": "CycloneDX"}
    program("syft", "echo no such image >&2; exit 1")
    assert sbom_of(archive, said.append) is None
    assert "syft ends with 1" in said[0]


def signed(tmp_path: Path, program: Callable[[str, str], None]) -> Path:
    program("buildah", working(tmp_path, CONFIG))
    build_image(
        job(tmp_path), BUILDERS["buildah"], own_key(tmp_path / "keys"), clock=lambda: NOW, report=lambda _: None
    )
    return tmp_path / "image.tar"


def test_an_image_that_was_changed_does_not_verify(tmp_path: Path, program: Callable[[str, str], None]) -> None:
    archive, key = signed(tmp_path, program), load_public_key(tmp_path / "keys" / "images.pub")
    image(archive, {**CONFIG, "rootfs": {"diff_ids": ["sha256:2"]}})
    with pytest.raises(UserError, match="about another image") as caught:
        verify_image(archive, key)
    assert caught.value.exit_code == 3


def test_a_statement_of_another_signer_does_not_verify(tmp_path: Path, program: Callable[[str, str], None]) -> None:
    archive = signed(tmp_path, program)
    other = own_key(tmp_path / "other").public_key()
    with pytest.raises(UserError, match="is not signed by the key") as caught:
        verify_image(archive, other)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"payload": "%%", "payloadType": "x", "signatures": []}',
        '{"payload": "e30=", "payloadType": 7, "signatures": 1}',
    ],
)
def test_what_is_no_statement_does_not_verify(tmp_path: Path, program: Callable[[str, str], None], text: str) -> None:
    archive, key = signed(tmp_path, program), load_public_key(tmp_path / "keys" / "images.pub")
    statement_path(archive).write_text(text)
    with pytest.raises(UserError, match="E-STATEMENT"):
        verify_image(archive, key)
    statement_path(archive).unlink()
    with pytest.raises(UserError, match="there is no statement"):
        verify_image(archive, key)


def test_what_is_signed_is_laid_out_as_dsse_says() -> None:
    # The example of the DSSE protocol, version 1.
    assert (
        pae("http://example.com/HelloWorld", b"hello world")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


@given(st.integers(min_value=0), st.integers(min_value=1, max_value=255))
def test_no_byte_of_a_statement_can_be_changed(tmp_path_factory: pytest.TempPathFactory, at: int, by: int) -> None:
    key = own_key(tmp_path_factory.getbasetemp() / "keys")
    envelope = sealed({"subject": [], "predicate": {"n": 1}}, key)
    assert opened(envelope, key.public_key(), "x")["predicate"] == {"n": 1}
    raw = bytearray(base64.b64decode(envelope["payload"]))
    raw[at % len(raw)] ^= by
    with pytest.raises(UserError, match="is not signed by the key"):
        opened({**envelope, "payload": base64.b64encode(raw).decode()}, key.public_key(), "x")


def test_a_statement_about_something_else_is_refused(tmp_path: Path) -> None:
    key = own_key(tmp_path)
    with pytest.raises(UserError, match="the envelope holds 'text/plain'"):
        opened({**sealed({}, key), "payloadType": "text/plain"}, key.public_key(), "x")


def test_a_key_is_made_once_and_is_nobody_elses(tmp_path: Path) -> None:
    first = own_key(tmp_path / "keys")
    assert (tmp_path / "keys" / "images.pem").stat().st_mode & 0o777 == 0o600
    assert key_id(own_key(tmp_path / "keys").public_key()) == key_id(first.public_key())
    assert key_id(load_public_key(tmp_path / "keys" / "images.pub")) == key_id(first.public_key())


def test_a_key_of_another_kind_is_refused(tmp_path: Path) -> None:
    other = generate_private_key(SECP256R1())
    (tmp_path / "images.pem").write_bytes(other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    with pytest.raises(UserError, match="not Ed25519"):
        own_key(tmp_path)
    (tmp_path / "images.pub").write_bytes(
        other.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    with pytest.raises(UserError, match="not Ed25519"):
        load_public_key(tmp_path / "images.pub")
    (tmp_path / "images.pem").write_text("hello")
    with pytest.raises(UserError, match="cannot be used"):
        own_key(tmp_path)
    with pytest.raises(UserError, match="cannot be read"):
        load_public_key(tmp_path / "none.pub")


def test_a_dockerfile_that_is_not_ours_has_no_time() -> None:
    assert epoch_of(DOCKERFILE) == 7
    with pytest.raises(UserError, match="E-CONTEXT"):
        epoch_of("FROM scratch\n")
