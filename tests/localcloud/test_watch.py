from __future__ import annotations

import threading

from emporion.localcloud.plugin.watch import leave_with


def test_a_plugin_stays_while_its_parent_is_its_engine_and_leaves_when_it_is_not() -> None:
    parents, left = iter([7, 7, 7, 1]), threading.Event()
    asked: list[int] = []

    def parent() -> int:
        asked.append(next(parents))
        return asked[-1]

    leave_with(7, left.set, parent, interval_s=0.001).join(timeout=5)
    assert left.is_set()
    assert asked == [7, 7, 7, 1]
