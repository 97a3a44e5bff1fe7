"""The pack `security` as the engine starts it."""

import os
from datetime import UTC, datetime

from emporion.policies.run import run

run("security", os.environ, datetime.now(UTC).date())
