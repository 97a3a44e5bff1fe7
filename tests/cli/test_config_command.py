"""`emporion config`: whether spot may renew, as a step of CI asks."""

from __future__ import annotations

import json
from pathlib import Path

from terminal import Emporion


def test_spot_does_not_renew_until_it_is_allowed(emporion: Emporion) -> None:
    assert emporion("config", "get", "spot-auto-renew").out == "false\n"
    assert emporion("config", "set", "spot-auto-renew", "true").code == 2, "there is no project here"
    Path("Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    Path("policies.json").write_text('{"spot-auto-renew": "advisory", "disk-encrypted": "advisory"}')
    ran = emporion("config", "set", "spot-auto-renew", "true")
    assert (ran.code, "may now be renewed" in ran.err) == (0, True)
    assert emporion("config", "get", "spot-auto-renew").out == "true\n"
    assert json.loads(Path("policies.json").read_text()) == {
        "spot-auto-renew": {"enforcementLevel": "advisory", "spot_fallback": True},
        "disk-encrypted": "advisory",
    }
    back = emporion("config", "set", "spot-auto-renew", "false", "--json")
    assert (back.document["value"], back.err) == (False, "")
    assert emporion("config", "get", "spot-auto-renew", "--json").document["value"] is False


def test_a_setting_and_its_value_are_checked(emporion: Emporion) -> None:
    wrong = emporion("config", "get", "spot-auto-renewal")
    assert (wrong.code, "did you mean 'spot-auto-renew'?" in wrong.err) == (2, True)
    assert emporion("config", "set", "spot-auto-renew", "yes").code == 2
    Path("Pulumi.yaml").write_text("name: shop\nruntime: python\n")
    Path("policies.json").write_text("[")
    assert emporion("config", "get", "spot-auto-renew").code == 2
