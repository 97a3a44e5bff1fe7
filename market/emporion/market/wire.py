"""Marks of the engine's wire format and state: texts that stand for values which cannot be sent as they are.

The same ones are in its files, its events and its protocol (pulumi sdk/go/common/resource).
"""

from __future__ import annotations

__all__ = ["OUTPUT", "SECRET", "SECRET_SHOWN", "SIGNATURE", "UNKNOWN_TEXT", "UNKNOWN_TEXTS"]

SIGNATURE = "4dabf18193072939515e22adb298388d"
"""Key of a wrapped value; its value says of which kind it is (`resource.SigKey`)."""
SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - a mark
"""Kind of a wrapped value: a secret (`resource.SecretSig`)."""
OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
"""Kind of a wrapped value: an output with its dependencies."""
SECRET_SHOWN = "[secret]"  # noqa: S105 - a mark
"""What the engine prints, and tells in its events, in the place of a secret."""
UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""What stands for a text that is not known yet (`plugin.UnknownStringValue`)."""
UNKNOWN_TEXTS = frozenset({
    UNKNOWN_TEXT, "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7", "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
    "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2", "030794c1-ac77-496b-92df-f27374a8bd58",
    "e48ece36-62e2-4504-bad9-02848725956a", "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
})  # fmt: skip
"""The same for a value of each kind (sdk/go/common/resource/plugin/rpc.go)."""
