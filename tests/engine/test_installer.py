from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
from release_server import Release, release_archive

from emporion.engine import VERSION, EngineError, cache_dir, install, locate
from emporion.engine.errors import disk_errors
from emporion.engine.find import SHIM_FILES

Program = Callable[..., Path]

INSTALL = (
    "import os, sys\n"
    "from emporion.engine import install\n"
    "print(install(os.environ, lambda line: print(line, file=sys.stderr, flush=True)).source)"
)


def quiet(line: str) -> None:
    """Take a line of progress that a test has no use for."""
    assert line


def environ(tmp_path: Path, release: Release | None = None, *path: Path) -> dict[str, str]:
    """A machine with an empty cache, without Go, uv or an index to ask."""
    return {
        "HOME": str(tmp_path),
        "PATH": ":".join([*map(str, path), "/usr/bin", "/bin"]),
        "EMPORION_ENGINE_URL": release.url if release else "",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": "",
    }


def leftovers(own: dict[str, str]) -> list[str]:
    return sorted(path.name for path in cache_dir(own).iterdir() if path.name not in {f"{VERSION}.lock", "download"})


def fake_go(program: Program, folder: Path, sdk: Path, *, before: str = "") -> Path:
    """A Go that answers as ours must: its version, a build that writes its output file, the SDK module's folder."""
    for shim, place in zip(SHIM_FILES, ("python/cmd", "python/dist"), strict=True):
        program(sdk / place / shim)
    body = f"""
    case $1 in
    env) echo go1.99.0 ;;
    list) echo '{sdk}' ;;
    build)
        {before}
        while [ "$1" != -o ]; do shift; done
        printf '#!/bin/sh\\necho v{VERSION}\\n' > "$2"; chmod 755 "$2"
        echo example.org/package >&2 ;;
    esac"""
    program(folder / "go", body)
    return folder


def test_an_installed_engine_is_complete_recorded_and_found(release: Release, tmp_path: Path) -> None:
    own, said = environ(tmp_path, release), list[str]()
    engine = install(own, said.append)
    assert (engine.version, engine.source, engine.bin_dir) == (VERSION, "download", cache_dir(own) / VERSION / "bin")
    assert locate(own) == engine
    assert leftovers(own) == [VERSION]
    assert said[-1] == f"the engine {VERSION} is ready (download)"


def test_a_second_install_asks_nobody(release: Release, tmp_path: Path) -> None:
    own = environ(tmp_path, release)
    first = install(own, quiet)
    asked, said = len(release.requests), list[str]()
    assert install(own, said.append) == first
    assert (len(release.requests), said) == (asked, [])


def test_again_replaces_the_engine(release: Release, tmp_path: Path) -> None:
    own = environ(tmp_path, release)
    engine = install(own, quiet)
    engine.pulumi.write_text("damaged")
    install(own, quiet, again=True)
    assert VERSION in engine.pulumi.read_text()
    assert leftovers(own) == [VERSION]


def test_an_incomplete_engine_and_dead_drafts_are_replaced(release: Release, tmp_path: Path, program: Program) -> None:
    own = environ(tmp_path, release)
    program(cache_dir(own) / VERSION / "bin" / "pulumi")
    (cache_dir(own) / f".{VERSION}-dead" / "bin").mkdir(parents=True)
    assert install(own, quiet).source == "download"
    assert leftovers(own) == [VERSION]


def test_without_a_download_the_engine_and_our_host_are_built(tmp_path: Path, program: Program) -> None:
    own, said = environ(tmp_path, None, fake_go(program, tmp_path / "go", tmp_path / "sdk")), list[str]()
    engine = install(own, said.append)
    assert engine.source == "build"
    assert sorted(path.name for path in engine.bin_dir.iterdir()) == [
        "pulumi",
        "pulumi-language-python",
        "pulumi-language-python-exec",
        "pulumi-resource-pulumi-python",
    ]
    assert said[0].startswith("downloading")
    assert any("building the Python language host" in line for line in said)


def test_a_release_without_the_official_host_gets_ours(release: Release, tmp_path: Path, program: Program) -> None:
    release.archive = release_archive(host=False)
    own = environ(tmp_path, release, fake_go(program, tmp_path / "go", tmp_path / "sdk"))
    engine = install(own, quiet)
    assert engine.source == "download"
    assert (engine.bin_dir / "pulumi-language-python").exists()


def test_a_release_with_the_official_host_needs_no_go(release: Release, tmp_path: Path, program: Program) -> None:
    program(tmp_path / "go" / "go", f"touch {tmp_path}/was-run")
    install(environ(tmp_path, release, tmp_path / "go"), quiet)
    assert not (tmp_path / "was-run").exists()


def test_a_wrong_checksum_stops_the_installation(release: Release, tmp_path: Path, program: Program) -> None:
    release.checksum = "0" * 64
    own = environ(tmp_path, release, fake_go(program, tmp_path / "go", tmp_path / "sdk"))
    with pytest.raises(EngineError, match="E-ENGINE-CHECKSUM"):
        install(own, quiet)
    assert leftovers(own) == []


@pytest.mark.parametrize(
    ("said_by_go", "code"),
    [
        pytest.param("dial tcp: lookup proxy.example: no such host", "E-ENGINE-NETWORK", id="no network"),
        pytest.param("write /x/b001: no space left on device", "E-ENGINE-DISK", id="disk full"),
        pytest.param("main.go:3: undefined: x", "E-ENGINE-BUILD", id="does not compile"),
    ],
)
def test_a_build_that_fails_is_one_clear_error(tmp_path: Path, program: Program, said_by_go: str, code: str) -> None:
    before = f"echo '{said_by_go}' >&2; exit 1"
    own = environ(tmp_path, None, fake_go(program, tmp_path / "go", tmp_path / "sdk", before=before))
    with pytest.raises(EngineError) as caught:
        install(own, quiet)
    assert caught.value.code == code
    assert "cannot be downloaded" in caught.value.what
    assert caught.value.fix
    assert leftovers(own) == []


def test_no_go_and_none_to_be_had_is_one_clear_error(tmp_path: Path, program: Program) -> None:
    program(tmp_path / "bin" / "uv", "echo 'no route to the index' >&2; exit 1")
    program(tmp_path / "bin" / "go", "echo go1.10.1")
    with pytest.raises(EngineError) as caught:
        install(environ(tmp_path, None, tmp_path / "bin"), quiet)
    assert caught.value.code == "E-ENGINE-GO"
    assert "no route to the index" in caught.value.what
    assert "install Go" in str(caught.value.fix)


def test_the_toolchain_of_the_wheel_is_installed_whole_and_once(tmp_path: Path, program: Program) -> None:
    sdk = tmp_path / "sdk"
    go = fake_go(program, tmp_path / "wheel", sdk) / "go"
    program(
        tmp_path / "bin" / "uv",
        f'echo "$*" >> {tmp_path}/asked; '
        'while [ "$1" != --target ]; do shift; done; mkdir -p "$2/go/bin"; '
        f'cp {go} "$2/go/bin/go"',
    )
    own = environ(tmp_path, None, tmp_path / "bin")
    assert install(own, quiet).source == "build"
    install(own, quiet, again=True)
    (asked,) = (tmp_path / "asked").read_text().splitlines()
    assert "--require-hashes" in asked


def test_a_cache_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / ".cache").write_text("a file")
    with pytest.raises(EngineError) as caught:
        install(environ(tmp_path), quiet)
    assert caught.value.code == "E-ENGINE-DISK"
    assert "XDG_CACHE_HOME" in str(caught.value.fix)


def test_a_full_disk_is_one_clear_error(tmp_path: Path) -> None:
    with (
        pytest.raises(EngineError, match="no space left") as caught,
        disk_errors(tmp_path),
        Path("/dev/full").open("w") as full,
    ):
        full.write("x" * 10_000)
    assert caught.value.code == "E-ENGINE-DISK"
    assert caught.value.where == str(tmp_path)


def test_other_errors_of_the_system_stay_bugs(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="broken") as caught, disk_errors(tmp_path):
        raise OSError(errno.EIO, "broken")
    assert caught.value.errno == errno.EIO


def test_two_processes_at_once_install_once(release: Release, tmp_path: Path) -> None:
    release.delay_s = 1.0
    own = environ(tmp_path, release)
    both = [
        subprocess.Popen(
            [sys.executable, "-c", INSTALL], env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    ends = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [0, 0], ends
    assert [out for out, _ in ends] == ["download\n"] * 2
    assert sum(name.endswith(".tar.gz") for name, _ in release.requests) == 1
    assert sum("another process is installing" in err for _, err in ends) == 1


def test_a_killed_installation_leaves_no_lock_and_its_rerun_finishes(release: Release, tmp_path: Path) -> None:
    release.delay_s = 30.0
    own = environ(tmp_path, release)
    process = subprocess.Popen([sys.executable, "-c", INSTALL], env=own, stderr=subprocess.DEVNULL)
    while not any(name.endswith(".tar.gz") for name, _ in release.requests):
        assert process.poll() is None
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert locate(own) is None
    release.delay_s = 0.0
    assert install(own, quiet).source == "download"
    assert leftovers(own) == [VERSION]


def test_an_interrupted_build_ends_go_and_removes_its_draft(tmp_path: Path, program: Program) -> None:
    before = f"echo $$ > {tmp_path}/pid; exec sleep 60"
    own = environ(tmp_path, None, fake_go(program, tmp_path / "go", tmp_path / "sdk", before=before))
    process = subprocess.Popen([sys.executable, "-c", INSTALL], env=own, stderr=subprocess.DEVNULL)
    note = tmp_path / "pid"
    while not note.exists() or not note.read_text():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=20)
    assert leftovers(own) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_the_lock_of_a_live_process_is_respected(release: Release, tmp_path: Path) -> None:
    own = environ(tmp_path, release)
    cache_dir(own).mkdir(parents=True)
    with FileLock(cache_dir(own) / f"{VERSION}.lock"):
        process = subprocess.Popen([sys.executable, "-c", INSTALL], env=own, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        assert "another process is installing" in process.stderr.readline()
        assert release.requests == []
    process.communicate(timeout=60)
    assert process.returncode == 0
