"""`emporion` with every price source led to a server on the loopback: python refresh_runner.py URL ARGUMENT..."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from price_server import Detour

from emporion.cli.main import main
from emporion.cli.offers_refresh import Network
from emporion.market.offers.adapter import Adapter
from emporion.market.offers.ask import HttpAsk

__all__ = ["network"]


def network(url: str) -> Network:
    def open_ask(
        adapter: Adapter,
        now: datetime,
        env: Mapping[str, str],
        *,
        listen: Callable[[str, int, int | None], None],
        stop: threading.Event,
    ) -> Any:
        return HttpAsk(adapter, now, env, Detour(url), listen, stop, wait=lambda seconds: stop.wait(min(seconds, 0.01)))

    return Network(open_ask)


if __name__ == "__main__":
    sys.exit(main(sys.argv[2:], obj=network(sys.argv[1])))
