from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from emporion.engine import MINIMUM_VERSION, VERSION, EngineError, cache_dir, locate, require
from emporion.engine.find import HOST_FILES, parse_version, record_source

Program = Callable[..., Path]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        pytest.param("v3.274.1\n", (3, 274, 1), id="as a release prints it"),
        pytest.param("3.274.1", (3, 274, 1), id="bare"),
        pytest.param("v3.280.0-alpha.x123", (3, 280, 0), id="pre-release"),
        pytest.param("v3.280.0+dirty", (3, 280, 0), id="local build"),
        pytest.param("warning: old\nv3.275.0\n", (3, 275, 0), id="after a warning"),
        pytest.param("\n", None, id="a build without a version"),
        pytest.param("pulumi", None, id="no number"),
        pytest.param("v3.274", None, id="two numbers"),
        pytest.param("1.2.3.4", None, id="four numbers"),
    ],
)
def test_a_version_is_three_numbers_or_unknown(text: str, numbers: tuple[int, int, int] | None) -> None:
    assert parse_version(text) == numbers


def make_engine(program: Program, folder: Path, prints: str, *, host: bool = True) -> Path:
    program(folder / "pulumi", f"echo '{prints}'")
    if host:
        for name in HOST_FILES:
            program(folder / name)
    return folder


def environ(tmp_path: Path, *path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "PATH": ":".join([*map(str, path), "/usr/bin", "/bin"])}


def test_no_engine_is_none_and_require_says_what_to_do(tmp_path: Path) -> None:
    assert locate(environ(tmp_path)) is None
    with pytest.raises(EngineError) as caught:
        require(environ(tmp_path))
    assert caught.value.code == "E-ENGINE-MISSING"
    assert "emporion engine install" in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_a_recent_pulumi_on_path_with_its_host_is_used(tmp_path: Path, program: Program) -> None:
    folder = make_engine(program, tmp_path / "bin", "v3.280.2")
    found = locate(environ(tmp_path, folder))
    assert found is not None
    assert (found.bin_dir, found.version, found.source) == (folder, "3.280.2", "path")


def test_a_link_on_path_leads_to_the_folder_of_its_host(tmp_path: Path, program: Program) -> None:
    folder = make_engine(program, tmp_path / "opt" / "pulumi", f"v{MINIMUM_VERSION}")
    links = tmp_path / "bin"
    links.mkdir()
    (links / "pulumi").symlink_to(folder / "pulumi")
    found = locate(environ(tmp_path, links))
    assert found is not None
    assert found.bin_dir == folder


@pytest.mark.parametrize(
    ("prints", "host"),
    [
        pytest.param("v3.100.0", True, id="too old"),
        pytest.param("", True, id="version unknown"),
        pytest.param("v3.280.2", False, id="without a Python host"),
    ],
)
def test_another_pulumi_on_path_gives_way_to_the_cache(
    tmp_path: Path, program: Program, prints: str, host: bool
) -> None:
    folder = make_engine(program, tmp_path / "bin", prints, host=host)
    own = environ(tmp_path, folder)
    assert locate(own) is None
    cached = make_engine(program, cache_dir(own) / VERSION / "bin", f"v{VERSION}")
    found = locate(own)
    assert found is not None
    assert (found.bin_dir, found.source) == (cached, "cache")


def test_a_pulumi_that_fails_or_is_no_program_is_as_good_as_none(tmp_path: Path, program: Program) -> None:
    folder = make_engine(program, tmp_path / "bin", "v3.280.2")
    program(folder / "pulumi", "echo v3.280.2; exit 1")
    assert locate(environ(tmp_path, folder)) is None
    (folder / "pulumi").write_bytes(b"\x7fELF not really")
    assert locate(environ(tmp_path, folder)) is None


def test_the_cache_on_path_is_still_the_cache_and_is_not_run(tmp_path: Path, program: Program) -> None:
    cached = cache_dir(environ(tmp_path)) / VERSION / "bin"
    make_engine(program, cached, f"v{VERSION}")
    program(cached / "pulumi", f"touch {tmp_path}/was-run")
    record_source(cached.parent, "build")
    found = locate(environ(tmp_path, cached))
    assert found is not None
    assert (found.source, found.version) == ("build", VERSION)
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize("lacking", ["pulumi", *HOST_FILES])
def test_an_incomplete_cache_does_not_count(tmp_path: Path, program: Program, lacking: str) -> None:
    cached = make_engine(program, cache_dir(environ(tmp_path)) / VERSION / "bin", f"v{VERSION}")
    (cached / lacking).chmod(0o644)
    if lacking == "pulumi":
        (cached / lacking).unlink()
    else:
        (cached / lacking).rename(cached / "elsewhere")
    assert locate(environ(tmp_path)) is None


def test_a_damaged_note_of_the_source_is_no_obstacle(tmp_path: Path, program: Program) -> None:
    cached = make_engine(program, cache_dir(environ(tmp_path)) / VERSION / "bin", f"v{VERSION}")
    (cached.parent / "engine.json").write_text("[1")
    found = locate(environ(tmp_path))
    assert found is not None
    assert found.source == "cache"


def test_the_cache_follows_xdg_and_ignores_a_relative_one(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert cache_dir({**home, "XDG_CACHE_HOME": "/var/x"}) == Path("/var/x/emporion/engine")
    assert cache_dir({**home, "XDG_CACHE_HOME": "x"}) == tmp_path / ".cache/emporion/engine"
    assert cache_dir(home) == tmp_path / ".cache/emporion/engine"


def test_importing_the_room_loads_nothing_that_installs() -> None:
    code = (
        "import sys, emporion.engine\n"
        "heavy = {'urllib.request', 'tarfile', 'filelock', 'pulumi', 'grpc', 'http.client'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "print(emporion.engine.install.__name__)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["[]", "install"]


def test_an_unknown_name_of_the_room_is_an_attribute_error() -> None:
    import emporion.engine  # noqa: PLC0415 - the module object is the subject

    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = emporion.engine.nothing
