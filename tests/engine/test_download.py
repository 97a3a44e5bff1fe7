from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest
from release_server import Release, release_archive

from emporion.engine import VERSION, EngineError
from emporion.engine.download import Unreachable, archive_name, download


def fetch(release: Release, tmp_path: Path, said: list[str] | None = None) -> Path:
    environ = {"EMPORION_ENGINE_URL": release.url}
    download(tmp_path / "kept", tmp_path / "bin", environ, (said if said is not None else []).append)
    return tmp_path / "bin"


def names(release: Release) -> list[str]:
    return [name for name, _ in release.requests]


@pytest.mark.parametrize(
    ("system", "machine", "ending"),
    [
        pytest.param("linux", "x86_64", "linux-x64", id="linux"),
        pytest.param("linux", "aarch64", "linux-arm64", id="linux on arm"),
        pytest.param("darwin", "arm64", "darwin-arm64", id="mac"),
        pytest.param("linux", "AMD64", "linux-x64", id="another spelling"),
    ],
)
def test_archives_are_named_as_pulumi_names_them(system: str, machine: str, ending: str) -> None:
    assert archive_name(system, machine) == f"pulumi-v{VERSION}-{ending}.tar.gz"


def test_a_machine_without_a_release_sends_us_to_the_next_source() -> None:
    with pytest.raises(Unreachable, match="no engine is published for linux on riscv64"):
        archive_name("linux", "riscv64")


def test_a_good_release_is_unpacked_flat_and_executable(release: Release, tmp_path: Path) -> None:
    bin_dir = fetch(release, tmp_path)
    assert sorted(path.name for path in bin_dir.iterdir()) == [
        "pulumi",
        "pulumi-language-python",
        "pulumi-language-python-exec",
        "pulumi-resource-pulumi-python",
    ]
    assert all(os.access(path, os.X_OK) for path in bin_dir.iterdir())
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(release: Release, tmp_path: Path) -> None:
    release.checksum = "ab" * 32
    with pytest.raises(EngineError) as caught:
        fetch(release, tmp_path)
    assert caught.value.code == "E-ENGINE-CHECKSUM"
    assert "ab" * 32 in caught.value.what
    assert archive_name() in str(caught.value.where)
    assert not (tmp_path / "bin").exists()
    assert list((tmp_path / "kept").iterdir()) == []


def test_a_missing_release_sends_us_to_the_next_source(release: Release, tmp_path: Path) -> None:
    release.missing = True
    with pytest.raises(Unreachable, match="HTTP 404"):
        fetch(release, tmp_path)


def test_a_release_for_other_machines_only_sends_us_to_the_next_source(release: Release, tmp_path: Path) -> None:
    release.renamed = True
    with pytest.raises(Unreachable, match=f"no checksum for {archive_name()}"):
        fetch(release, tmp_path)


def test_a_server_that_never_answers_costs_five_seconds(release: Release, tmp_path: Path) -> None:
    release.silent = True
    started = time.monotonic()
    with pytest.raises(Unreachable, match="no answer within 5 s"):
        fetch(release, tmp_path)
    assert 4 < time.monotonic() - started < 9


def test_a_connection_that_hangs_costs_five_seconds(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):  # fills the backlog: the next one gets no answer at all
            started = time.monotonic()
            with pytest.raises(Unreachable):
                fetch(Release(url=f"http://127.0.0.1:{port}"), tmp_path)
            assert time.monotonic() - started < 9


def test_nobody_at_the_address_is_said_at_once(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unreachable, match="connection refused"):
        fetch(Release(url=f"http://127.0.0.1:{port}"), tmp_path)


def test_an_empty_address_switches_the_download_off(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="EMPORION_ENGINE_URL"):
        fetch(Release(), tmp_path)


def test_a_broken_transfer_goes_on_where_it_stopped(release: Release, tmp_path: Path) -> None:
    release.cut_at = 100
    said: list[str] = []
    fetch(release, tmp_path, said)
    assert [wanted for name, wanted in release.requests if name == archive_name()] == [None, "bytes=100-"]
    assert any("going on" in line for line in said)


def test_what_an_earlier_run_fetched_is_not_fetched_again(release: Release, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / f"{archive_name()}.part").write_bytes(release.archive[:50])
    fetch(release, tmp_path)
    assert release.requests[-1] == (archive_name(), "bytes=50-")


def test_a_part_of_something_else_is_found_by_the_checksum_and_removed(release: Release, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / f"{archive_name()}.part").write_bytes(b"x" * 50)
    with pytest.raises(EngineError, match="E-ENGINE-CHECKSUM"):
        fetch(release, tmp_path)
    fetch(release, tmp_path)
    assert (tmp_path / "bin" / "pulumi").exists()


def test_a_part_longer_than_the_file_is_dropped(release: Release, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / f"{archive_name()}.part").write_bytes(b"x" * (len(release.archive) + 1))
    fetch(release, tmp_path)
    assert (tmp_path / "bin" / "pulumi").exists()


def test_a_whole_archive_from_an_interrupted_run_is_checked_and_used(release: Release, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / archive_name()).write_bytes(release.archive)
    fetch(release, tmp_path)
    assert archive_name() not in names(release)


def test_an_archive_that_cannot_be_read_sends_us_to_the_next_source(release: Release, tmp_path: Path) -> None:
    release.archive = b"<html>log in to the network</html>"
    with pytest.raises(Unreachable, match="not a readable archive"):
        fetch(release, tmp_path)


def test_paths_inside_the_archive_decide_nothing(release: Release, tmp_path: Path) -> None:
    release.archive = release_archive(folder="../../elsewhere")
    fetch(release, tmp_path)
    assert (tmp_path / "bin" / "pulumi").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "kept"]
