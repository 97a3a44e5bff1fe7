"""One provider call to the cloud: faults, the provider's retries, kill points and the call log around it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from emporion.localcloud.faults import Kill
from emporion.localcloud.happenings import come_to_pass
from emporion.localcloud.meeting import Meeting, Place, lag_s, meet, said
from emporion.localcloud.time_control import wait
from emporion.localcloud.world import World
from emporion.market.stand_in import Refusal, StandIn, TypeRule

__all__ = ["Call", "Caller", "CloudRefusedError", "kill_process"]

T = TypeVar("T")
FIRST_PAUSE_S = 0.02
LONGEST_PAUSE_S = 0.3
"""The real provider pauses longer; the world's throttling is a count of calls, not a rate, so short pauses do."""
VERBS = {"create": "creating", "read": "reading", "update": "updating", "delete": "deleting"}


class CloudRefusedError(Exception):
    """The cloud said no; the text is the provider's own."""

    def __init__(self, text: str, code: str) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True, slots=True)
class Call:
    """Which call it is."""

    operation: str
    """`create`, `read`, `update` or `delete`."""
    token: str
    urn: str
    id: str
    region: str


@dataclass(frozen=True, slots=True)
class Caller:
    """Makes calls for one plugin process."""

    world: World
    rules: StandIn
    kill: Callable[[Kill], None]
    sleep: Callable[[float], None] = time.sleep

    def make(
        self,
        call: Call,
        rule: TypeRule,
        work: Callable[[], T | Refusal],
        takes_s: Callable[[T], float] = lambda _done: 0.0,
    ) -> tuple[T, Kill | None]:
        """Return what `work` did in one transaction, and who dies after the answer, which comes `takes_s` later.

        Raises: CloudRefusedError: when the cloud refuses, or a fault says so, after the provider's own retries.
        """
        met = self._until_let_through(call, rule)
        come_to_pass(self.world, self.rules, call.region)
        due = met.kill
        if due and due.phase == "before_write":
            self.kill(due)
        try:
            with self.world.transaction():
                done = work()
                if isinstance(done, Refusal):
                    raise self._refused(call, rule, done)
                self._log(call, "lost" if met.lost else "ok")
        except CloudRefusedError as refusal:
            self._log(call, refusal.code)
            raise
        if due and due.phase == "after_write":
            self.kill(due)
        if met.lost:
            raise self._refused(call, rule, said(self.rules, "lost_answer", _place(call, rule)))
        if call.operation == "create":  # the provider waits until it sees what it made
            wait(self.world, lag_s(self.world, self.rules, call.region, call.token), self.sleep)
        wait(self.world, takes_s(done), self.sleep)
        return done, due if due and due.phase == "after_answer" else None

    def _log(self, call: Call, outcome: str) -> None:
        self.world.log_call(
            provider=self.rules.plugin,
            region=call.region,
            operation=call.operation,
            token=call.token,
            urn=call.urn,
            resource_id=call.id,
            outcome=outcome,
        )

    def _until_let_through(self, call: Call, rule: TypeRule) -> Meeting:
        """Return what the call met on the attempt that gets through, and who dies."""
        due: Kill | None = None
        lost = False
        for attempt in range(self.rules.max_attempts):
            met = meet(self.world, self.rules, _place(call, rule), first_attempt=attempt == 0)
            due, lost = due or met.kill, lost or met.lost
            wait(self.world, met.delay_s, self.sleep)
            if met.refusal is None:
                break
            self._log(call, met.refusal.code)
            if not met.retried or attempt == self.rules.max_attempts - 1:
                raise self._refused(call, rule, met.refusal)
            wait(self.world, min(FIRST_PAUSE_S * 2**attempt, LONGEST_PAUSE_S), self.sleep)
        return Meeting(kill=due, lost=lost)

    def _refused(self, call: Call, rule: TypeRule, refusal: Refusal) -> CloudRefusedError:
        name = call.id or call.urn.rpartition("::")[2]
        request = self.world.next_seed().replace("/", "-")
        return CloudRefusedError(self.rules.message(rule, VERBS[call.operation], name, refusal, request), refusal.code)


def _place(call: Call, rule: TypeRule) -> Place:
    return Place(call.region, call.operation, call.token, rule.api.partition(":")[0].lower())


def kill_process(engine: int) -> Callable[[Kill], None]:
    """Return what carries out a kill point: SIGKILL to the engine (we then wait for our watcher) or to ourselves."""

    def carry_out(due: Kill) -> None:
        if due.target == "plugin":
            os.kill(os.getpid(), signal.SIGKILL)
        os.kill(engine, signal.SIGKILL)
        if due.phase != "after_answer":
            time.sleep(60)  # the watcher ends this process first: nothing more of this call happens

    return carry_out
