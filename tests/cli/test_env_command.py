from __future__ import annotations

from terminal import Emporion


def test_versions_that_work_together_are_said_to(emporion: Emporion) -> None:
    ran = emporion("env", "check", "--pytorch", "2.1", "--cuda", "12.1")
    assert ran.code == 0
    assert "ok  torch 2.1.2+cu121, Python 3.11" in ran.out
    assert "it needs 525.60.13 or later" in ran.err


def test_a_version_that_was_given_and_does_not_run_is_exit_3_with_the_newest_that_does(emporion: Emporion) -> None:
    ran = emporion("env", "check", "--gpu", "a100", "--driver", "535.183", "--pytorch", "2.15", "--json")
    assert ran.code == 3
    document = ran.document
    assert (document["schema"], document["works"], document["status"]) == ("emporion.env/1", False, "lowered")
    assert (document["chosen"]["torch"], document["chosen"]["wheel"]) == ("2.14.0", "cu126")
    assert document["alternatives"][0]["how"] == "take the compat layer cuda-compat-13-2"


def test_what_was_not_given_is_chosen_and_that_is_no_failure(emporion: Emporion) -> None:
    ran = emporion("env", "check", "--gpu", "a100", "--driver", "535.183")
    assert ran.code == 0
    assert "not 13.x" in ran.out


def test_nothing_that_works_is_exit_3_with_a_way_out(emporion: Emporion) -> None:
    ran = emporion("env", "check", "--gpu", "v100", "--ops", "flash-attn")
    assert ran.code == 3
    assert "blocked  nothing works" in ran.out
    assert "leave flash-attn out" in ran.out


def test_a_driver_that_is_not_told_cannot_be_judged(emporion: Emporion) -> None:
    ran = emporion("env", "check", "--gpu", "h100", "--driver", "[N/A]", "--json")
    assert (ran.code, ran.document["status"], ran.document["works"]) == (3, "unknown", False)


def test_wrong_versions_are_bad_input(emporion: Emporion) -> None:
    ran = emporion("env", "check", "--pytorch", "9", "--cuda", "99.9")
    assert ran.code == 2
    assert "[E-TORCH]" in ran.err
    assert "[E-CUDA]" in ran.err


def test_the_wheel_of_the_kernels_is_named(emporion: Emporion) -> None:
    ran = emporion("env", "check", "--pytorch", "2.8", "--cuda", "12.8", "--gpu", "h100", "--ops", "flash-attn, rope")
    assert ran.code == 0
    assert "flash_attn-2.8.3.post1+cu12torch2.8cxx11abiTRUE-cp313-cp313-linux_x86_64.whl" in ran.out


def test_known_bugs_and_branches_are_listed(emporion: Emporion) -> None:
    assert "gsp-timeouts" in emporion("driver", "list", "--known-bugs").out
    rows = emporion("driver", "list", "--known-bugs", "--json").document["bugs"]
    assert {row["id"] for row in rows} >= {"gsp-timeouts", "p2p-hang"}
    assert all(row["source"] and row["as_of"] for row in rows)
    branches = emporion("driver", "list", "--json").document["branches"]
    assert {"branch": 535, "cuda": "12.2", "end_of_life": "2026-06"} in branches
    assert "R580" in emporion("driver", "list").out


def test_a_driver_with_a_known_bug_is_exit_3(emporion: Emporion) -> None:
    ran = emporion("driver", "check", "525.60.13", "--gpu", "a100")
    assert ran.code == 3
    assert "CUDA 12.0 natively, maintained no more" in ran.out
    assert "gsp-timeouts" in ran.out


def test_a_bug_that_depends_on_more_does_not_count(emporion: Emporion) -> None:
    ran = emporion("driver", "check", "560.35.03", "--json")
    assert ran.code == 0
    found = {bug["id"]: bug["unknown"] for bug in ran.document["bugs"]}
    assert found["p2p-hang"] == ["jobs use several GPUs"]
    assert emporion("driver", "check", "560.35.03", "--when", "multi-gpu").code == 3


def test_an_unknown_driver_cannot_be_judged_and_a_wrong_one_is_bad_input(emporion: Emporion) -> None:
    ran = emporion("driver", "check", "[N/A]", "--json")
    assert (ran.code, ran.document["driver"]) == (3, None)
    assert emporion("driver", "check", "R550").code == 2
