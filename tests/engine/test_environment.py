from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emporion.engine import Engine, EngineError, exports, home_dir, pulumi_env

ENGINE = Engine(Path("/opt/engine/bin"), Path("/opt/engine/bin/pulumi"), "3.274.1", "build")


def test_home_is_emporion_home_else_xdg_state_else_under_home(tmp_path: Path) -> None:
    assert home_dir({"EMPORION_HOME": "/x/y", "XDG_STATE_HOME": "/s"}) == Path("/x/y")
    assert home_dir({"EMPORION_HOME": "", "XDG_STATE_HOME": "/s"}) == Path("/s/emporion")
    assert home_dir({"HOME": str(tmp_path), "XDG_STATE_HOME": "relative"}) == tmp_path / ".local/state/emporion"
    assert home_dir({"EMPORION_HOME": "rel"}) == Path.cwd() / "rel"


def test_the_local_world_gets_its_folders_switches_and_region(tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = pulumi_env(ENGINE, home, "local", {"PATH": "/usr/bin", "HOME": "/root", "PULUMI_CONFIG_PASSPHRASE": "theirs"})
    assert env == {
        "HOME": "/root",
        "PATH": f"/opt/engine/bin:{Path(sys.executable).parent}:/usr/bin",
        "PULUMI_HOME": f"{home}/pulumi/local",
        "PULUMI_BACKEND_URL": f"file://{home}/state",
        "PULUMI_CONFIG_PASSPHRASE_FILE": f"{home}/passphrase",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_ERROR_OUTPUT_STRING": "true",
        "EMPORION_HOME": str(home),
        "EMPORION_WORLD": "local",
        "AWS_REGION": "us-east-1",
    }


def test_the_real_world_has_its_own_plugins_and_no_region_of_ours(tmp_path: Path) -> None:
    env = pulumi_env(ENGINE, tmp_path, "real", {"PATH": "/usr/bin"})
    assert env["PULUMI_HOME"] == f"{tmp_path}/pulumi/real"
    assert env["EMPORION_WORLD"] == "real"
    assert "AWS_REGION" not in env
    assert "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION" not in env


@pytest.mark.parametrize("variable", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_a_region_that_is_set_stays(tmp_path: Path, variable: str) -> None:
    assert pulumi_env(ENGINE, tmp_path, "local", {variable: "eu-west-1"})["AWS_REGION"] == "eu-west-1"


def test_a_second_environment_inside_the_first_changes_nothing(tmp_path: Path) -> None:
    once = pulumi_env(ENGINE, tmp_path, "local", {"PATH": "/usr/bin:/bin"})
    assert pulumi_env(ENGINE, tmp_path, "local", once) == once


def test_folders_and_passphrase_are_private_and_the_passphrase_stays(tmp_path: Path) -> None:
    home = tmp_path / "a" / "home"
    pulumi_env(ENGINE, home, "local", {})
    passphrase = (home / "passphrase").read_text()
    pulumi_env(ENGINE, home, "real", {})
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (home, home / "state", home / "passphrase")}
    assert modes == {"home": 0o700, "state": 0o700, "passphrase": 0o600}
    assert len(passphrase) >= 40
    assert (home / "passphrase").read_text() == passphrase
    assert sorted(path.name for path in home.iterdir()) == ["passphrase", "pulumi", "state"]


def test_many_at_once_agree_on_one_passphrase(tmp_path: Path) -> None:
    def read(_: int) -> str:
        return Path(pulumi_env(ENGINE, tmp_path, "local", {})["PULUMI_CONFIG_PASSPHRASE_FILE"]).read_text()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(read, range(24)))) == 1


def test_a_home_that_is_a_file_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError) as caught:
        pulumi_env(ENGINE, tmp_path / "file" / "home", "local", {})
    assert caught.value.code == "E-ENGINE-DISK"
    assert "EMPORION_HOME" in str(caught.value)


@given(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1))
def test_exports_give_a_shell_exactly_the_values(value: str) -> None:
    env = {"PULUMI_HOME": value, "AWS_REGION": "us-east-1", "HOME": "/not/exported"}
    lines = exports(env)
    assert shlex.split(lines) == [
        *["unset", "PULUMI_CONFIG_PASSPHRASE"],
        *["export", f"PULUMI_HOME={value}", "export", "AWS_REGION=us-east-1"],
    ]


def test_a_posix_shell_reads_the_exports(tmp_path: Path) -> None:
    home = tmp_path / 'it\'s $HOME `here` \\ "now"\nand there'
    env = pulumi_env(ENGINE, home, "local", {"PATH": os.defpath, "AWS_REGION": "eu-west-1"})
    script = exports(env) + 'printf %s "$EMPORION_HOME|$AWS_REGION|${PULUMI_CONFIG_PASSPHRASE-unset}"'
    said = subprocess.run(
        ["/bin/sh", "-c", script], env={"PULUMI_CONFIG_PASSPHRASE": "x"}, capture_output=True, text=True, check=True
    )
    assert said.stdout == f"{home}|eu-west-1|unset"
