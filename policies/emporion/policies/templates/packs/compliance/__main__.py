"""The pack `compliance` as the engine starts it."""

import os
from datetime import UTC, datetime

from emporion.policies.run import run

run("compliance", os.environ, datetime.now(UTC).date())
