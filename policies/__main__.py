"""All of Emporion's rules as one policy pack: `pulumi preview --policy-pack ./policies`."""

import os
from datetime import UTC, datetime

from emporion.policies.run import run

run("all", os.environ, datetime.now(UTC).date())
