# ruff: noqa: INP001, S310 - a file of the node, which talks to the metadata service alone
"""Watches Azure's Scheduled Events: takes the node out of the scheduler before Azure takes it away.

A spot machine is told 30 seconds before, best effort; one that is ended by its scale set five minutes before. The first
request turns the service on and may take two minutes. Jobs find the notice in /run/emporion/interruption.json.
"""

import json
import pathlib
import socket
import subprocess
import time
import typing
import urllib.request

URL = "http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01"
INSTANCE = "http://169.254.169.254/metadata/instance/compute/name?api-version=2021-02-01&format=text"
NOTICE = pathlib.Path("/run/emporion/interruption.json")
ENDS = {"Preempt", "Terminate"}
PAUSE_S = 2
FIRST_TIMEOUT_S = 150


def ask(url: str, timeout_s: float) -> bytes:
    """Return an answer of the metadata service."""
    request = urllib.request.Request(url, headers={"Metadata": "true"})
    with urllib.request.urlopen(request, timeout=timeout_s) as answer:
        found: bytes = answer.read()
    return found


Event = dict[str, typing.Any]


def ending(document: Event, machine: str) -> "Event | None":
    """Return the event that ends this machine, None when there is none."""
    events: list[Event] = document.get("Events") or []
    for event in events:
        if event.get("EventType") in ENDS and machine in (event.get("Resources") or []):
            return event
    return None


def leave(event: Event) -> None:
    """Write the notice and take the node out of the scheduler: its jobs are queued again when it goes."""
    NOTICE.parent.mkdir(parents=True, exist_ok=True)
    notice = {"kind": event["EventType"], "at": event.get("NotBefore", ""), "id": event.get("EventId", "")}
    NOTICE.write_text(json.dumps(notice))
    name = socket.gethostname().partition(".")[0]
    reason = f"azure-{event['EventType'].lower()}"
    subprocess.run(
        ["scontrol", "update", f"NodeName={name}", "State=DRAIN", f"Reason={reason}"], check=False, timeout=10
    )


def main() -> None:
    """Watch until the machine is told to end."""
    machine = ask(INSTANCE, 30).decode()
    timeout_s = FIRST_TIMEOUT_S
    while True:
        try:
            event = ending(json.loads(ask(URL, timeout_s)), machine)
            timeout_s = 10
        except (OSError, ValueError):
            event = None  # the service is late or restarts: the next question comes soon
        if event is not None:
            leave(event)
            return
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    main()
