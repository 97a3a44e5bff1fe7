"""The pack `all` as the engine starts it."""

import os
from datetime import UTC, datetime

from emporion.policies.run import run

run("all", os.environ, datetime.now(UTC).date())
