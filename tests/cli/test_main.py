from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from terminal import Emporion

from emporion.cli.faults import as_fault, as_user_error
from emporion.cli.main import SECTIONS, main, root
from emporion.market.errors import ExitCode

EMPORION = str(Path(sys.executable).with_name("emporion"))
COMMANDS = [name for section in SECTIONS.values() for name in section]


def every_command(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    context = click.Context(group)
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        found.append((*path, name))
        if isinstance(command, click.Group):
            found += every_command(command, (*path, name))
    return found


@pytest.mark.parametrize("path", every_command(root), ids=" ".join)
def test_every_command_explains_itself(path: tuple[str, ...], emporion: Emporion) -> None:
    ran = emporion(*path, "--help")
    assert ran.code == 0
    assert ran.out.startswith(f"Usage: emporion {' '.join(path)}")
    context = click.Context(root)
    command: click.Command | None = root
    for name in path:
        assert isinstance(command, click.Group)
        command = command.get_command(context, name)
    assert command is not None
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name


@pytest.mark.parametrize("path", every_command(root), ids=" ".join)
def test_what_prints_takes_json(path: tuple[str, ...]) -> None:
    context = click.Context(root)
    command: click.Command | None = root
    for name in path:
        assert isinstance(command, click.Group)
        command = command.get_command(context, name)
    assert command is not None
    if isinstance(command, click.Group) or path in {("completion",), ("engine", "env"), ("ssh",)}:
        return  # these print lines for a shell, or become another program
    assert "--json" in [name for parameter in command.params for name in parameter.opts]


def test_help_names_every_command_once(emporion: Emporion) -> None:
    out = emporion("--help").out
    for name in COMMANDS:
        assert [line.split()[0] for line in out.splitlines() if line.startswith("  ") and line.split()].count(name) == 1


def test_no_command_at_all_is_bad_input(emporion: Emporion) -> None:
    ran = emporion()
    assert ran.code == 2
    assert "emporion --help" in ran.err


def test_the_version_is_that_of_the_package(emporion: Emporion) -> None:
    assert emporion("--version").out.startswith("emporion 0.")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["plam"], "did you mean `emporion plan`?", id="command"),
        pytest.param(["engine", "instal"], "did you mean `emporion engine install`?", id="command of a group"),
        pytest.param(["completion", "bash", "--hepl"], "did you mean --help?", id="option"),
        pytest.param(["completion", "tcsh"], "'tcsh' is not one of 'bash', 'zsh', 'fish'", id="choice"),
        pytest.param(["completion"], "the argument SHELL is missing", id="missing argument"),
        pytest.param(["init", "a", "b"], "unexpected extra argument", id="extra argument"),
        pytest.param(["engine"], "`emporion engine` needs a command: status, install, env", id="group alone"),
        pytest.param(["--project"], "no option '--project'", id="option of the root"),
    ],
)
def test_a_wrong_command_line_is_one_error_with_a_way_out(arguments: list[str], says: str, emporion: Emporion) -> None:
    ran = emporion(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert says in ran.err
    first, *rest = ran.err.splitlines()
    assert first.startswith("error: ")
    assert first.endswith("[E-USAGE]")
    assert [line[:6] for line in rest] == ["  --> ", "  try:"]


def test_with_json_an_error_is_a_document_on_stdout(emporion: Emporion) -> None:
    ran = emporion("engine", "instal", "--json")
    assert ran.code == 2
    assert ran.err == ""
    assert ran.document == {
        "schema": "emporion.error/1",
        "errors": [
            {
                "code": "E-USAGE",
                "what": "no command 'instal' in `emporion engine`; there are: status, install, env",
                "where": "emporion engine",
                "fix": "did you mean `emporion engine install`?",
            }
        ],
    }


def test_a_full_disk_is_told_without_a_traceback() -> None:
    error = as_user_error(OSError(28, "No space left on device", "/somewhere/file"))
    assert error is not None
    assert (error.code, error.where, error.exit_code) == ("E-DISK", "/somewhere/file", ExitCode.FAILED)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize(
    ("arguments", "says", "code"),
    [
        (["intent", "schema"], "the disk is full  [E-DISK]", 1),
        (["plan", "--gpus", "t4", "--json"], "the disk is full  [E-DISK]", 1),
        (["plan", "--gpus", "a100x", "--json"], "no GPU is called 'a100x'  [E-GPU]", 2),
    ],
    ids=["text", "json", "an error as json"],
)
def test_an_output_that_takes_nothing_leaves_no_traceback(arguments: list[str], says: str, code: int) -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run([EMPORION, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == code
    assert ran.stderr.startswith(f"error: {says}")
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr


@pytest.mark.parametrize(
    "arguments", [("init", "\ud800"), ("image", "render", "\ud800.yaml"), ("image", "check", "\ud800")]
)
def test_half_a_character_is_bad_input(emporion: Emporion, arguments: tuple[str, ...]) -> None:
    ran = emporion(*arguments)
    assert ran.code == 2
    assert "half a character" in ran.err or "cannot be read" in ran.err


def test_memory_that_is_used_up_is_no_fault_of_ours() -> None:
    error = as_user_error(MemoryError())
    assert error is not None
    assert (error.code, error.exit_code) == ("E-MEMORY", ExitCode.FAILED)


def test_a_folder_of_someone_else_is_told_without_a_traceback() -> None:
    error = as_user_error(PermissionError(13, "Permission denied", "/srv/x"))
    assert error is not None
    assert str(error).startswith("permission denied: /srv/x  [E-ACCESS]")


def test_the_engine_rooms_errors_look_like_ours() -> None:
    from emporion.engine import EngineError

    error = as_user_error(EngineError("E-ENGINE-NETWORK", "no source answers", "here", "try later"))
    assert error is not None
    assert str(error) == "no source answers  [E-ENGINE-NETWORK]\n  --> here\n  try: try later"
    assert error.exit_code is ExitCode.FAILED


def test_a_bug_is_one_line_and_its_traceback_lies_in_the_log_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMPORION_HOME", str(tmp_path))
    error = as_fault(KeyError("gone"), debug=False)
    assert error.what == "a fault in emporion itself: KeyError: 'gone'"
    assert error.exit_code is ExitCode.FAILED
    assert error.where is not None
    assert "KeyError: 'gone'" in Path(error.where).read_text()
    assert Path(error.where).parent == tmp_path / "log"


def test_a_bug_is_told_even_when_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EMPORION_HOME", str(tmp_path / "file"))
    assert as_fault(KeyError("gone"), debug=False).where is None


def test_with_debug_a_bug_shows_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ValueError("odd")  # noqa: TRY301
    except ValueError as error:
        as_fault(error, debug=True)
    assert "Traceback" in capsys.readouterr().err


def shell(script: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "EMPORION": EMPORION, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_reader_that_leaves_is_no_error() -> None:
    done = shell('"$EMPORION" --help | head -c 10; "$EMPORION" plan --help | true')
    assert done.stderr == ""


def test_nothing_is_coloured_in_a_pipe() -> None:
    done = shell('"$EMPORION" --help; "$EMPORION" plam', FORCE_COLOR="1")
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)], ids=["terminal", "NO_COLOR"])
def test_a_terminal_has_colour_unless_it_is_refused(no_color: str, *, coloured: bool) -> None:
    done = shell('script -qec "$EMPORION plam" /dev/null', NO_COLOR=no_color, TERM="xterm")
    if done.returncode == 127:
        pytest.skip("this machine has no `script` to make a terminal")
    assert ("\x1b[31;1merror:" in done.stdout) is coloured


def test_control_c_is_130_without_a_traceback(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "slow.yaml")
    child = subprocess.Popen(
        [EMPORION, "plan", str(tmp_path / "slow.yaml")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with (tmp_path / "slow.yaml").open("w"):  # the command has opened its end: it reads now
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert out == ""
    assert err.split() == ["interrupted"]


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_completion_scripts_complete(shell_name: str, emporion: Emporion) -> None:
    assert "_EMPORION_COMPLETE" in emporion("completion", shell_name).out


def test_the_shell_is_told_the_commands() -> None:
    done = shell('_EMPORION_COMPLETE=bash_complete COMP_WORDS="emporion pla" COMP_CWORD=1 "$EMPORION"')
    assert done.stdout.splitlines() == ["plain,plan"]


HEAVY = ["rich", "pydantic", "pulumi", "grpc", "boto3", "botocore", "yaml", "jinja2", "sqlite3", "asyncio", "decimal"]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--help"], id="help"),
        pytest.param(["plam"], id="wrong command"),
        pytest.param(["plan", "--help"], id="help of plan"),
        pytest.param(["up", "--help"], id="help of up"),
    ],
)
def test_help_and_usage_errors_import_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import json, sys\nfrom emporion.cli.main import main\n"
        f"main({arguments!r})\n"
        f"print('LOADED', json.dumps([name for name in {HEAVY!r} if name in sys.modules]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = json.loads(done.stdout.rpartition("LOADED")[2])
    assert [name for name in loaded if name != "decimal"] == []


WORDS = st.one_of(
    st.sampled_from(
        [
            *COMMANDS,
            "list",
            "explain",
            "schema",
            "env",
            "set",
            "--json",
            "--help",
            "--gpus",
            "a100:8",
            "a100x",
            "--",
            "-",
            "",
            "--max-cost",
            "$1/hr",
            "2,5",
            "--offers",
            "/dev/null",
            "--nodes",
            "-1",
            "0",
            "--project",
            "\ud800",
        ]
    ),
    st.text(max_size=8),
)
"""Commands that act (up, install, start, …) find no project, or are kept out."""


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arguments=st.lists(WORDS, max_size=6))
def test_no_command_line_ends_in_a_traceback(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EMPORION_HOME", str(tmp_path / "home"))
    capfd.readouterr()
    if "\0" in "".join(arguments):
        return  # no shell can pass it
    code = main(arguments)
    out, err = capfd.readouterr()
    assert code in {0, 1, 2, 3, 130}
    assert "Traceback" not in out + err
    assert "E-BUG" not in out + err, (arguments, out, err)
