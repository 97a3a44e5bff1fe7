"""Pulumi's provider protocol (gRPC) over `Provider`: values in and out, failures as the engine expects them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from concurrent import futures
from typing import Any, NoReturn

import grpc
from google.protobuf import empty_pb2, struct_pb2

from emporion.localcloud.faults import Kill
from emporion.localcloud.plugin.calls import CloudRefusedError
from emporion.localcloud.plugin.checks import Failure
from emporion.localcloud.plugin.diff import Difference
from emporion.localcloud.plugin.lifecycle import Made
from emporion.localcloud.plugin.protos import load
from emporion.localcloud.plugin.provider import Naming, Provider
from emporion.localcloud.plugin.secrets import marked
from emporion.localcloud.plugin.values import from_struct, into_struct, plain
from emporion.market.errors import UserError

provider_pb2 = load("provider_pb2")
provider_pb2_grpc = load("provider_pb2_grpc")
plugin_pb2 = load("plugin_pb2")
status_pb2 = load("status_pb2")

__all__ = ["RefusingServicer", "Servicer", "start_server"]

WORKERS = 32
SIZE_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
KINDS = {
    ("add", False): "ADD",
    ("add", True): "ADD_REPLACE",
    ("delete", False): "DELETE",
    ("delete", True): "DELETE_REPLACE",
    ("update", False): "UPDATE",
    ("update", True): "UPDATE_REPLACE",
}
Request = Any
Context = Any


Base: Any = provider_pb2_grpc.ResourceProviderServicer


class Servicer(Base):  # type: ignore[misc]  # generated without types
    """One provider process. Secrets are looked through on the way in and marked on the way out (`secrets.py`)."""

    def __init__(self, provider: Provider, version: str) -> None:
        self._provider = provider
        self._version = version

    def Handshake(self, _request: Request, _context: Context) -> Any:  # noqa: ANN401
        """Say what this provider takes."""
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True, accept_resources=False, accept_outputs=False)

    def GetPluginInfo(self, _request: Request, _context: Context) -> Any:  # noqa: ANN401
        """Return the version, which is the SDK's."""
        return plugin_pb2.PluginInfo(version=self._version)

    def GetSchema(self, _request: Request, _context: Context) -> Any:  # noqa: ANN401
        """Return a schema that names the package, no more: enough for `package get-schema` of a component."""
        name = self._provider.rules.plugin
        return provider_pb2.GetSchemaResponse(schema=json.dumps({"name": name, "version": self._version}))

    def CheckConfig(self, request: Request, context: Context) -> Any:  # noqa: ANN401
        """Check the provider's configuration."""
        with _user_errors(context):
            failures = self._provider.check_config(_values(request.news))
        return provider_pb2.CheckResponse(inputs=request.news, failures=_failures(failures))

    def DiffConfig(self, request: Request, _context: Context) -> Any:  # noqa: ANN401
        """Compare provider configurations: another region is another place, so everything moves."""
        old, new = _values(request.old_inputs), _values(request.news)
        changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key) and key != "version")
        replaces = [key for key in changed if key == "region"]
        kind = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=kind, diffs=changed, replaces=replaces)

    def Configure(self, request: Request, context: Context) -> Any:  # noqa: ANN401
        """Take over the configuration; refuse it for a real stack and while the local cloud is stopped."""
        if os.environ.get("EMPORION_WORLD") == "real":
            context.abort(
                grpc.StatusCode.FAILED_PRECONDITION,
                "this stack belongs to the real world, but its provider plugin is the local cloud's stand-in  "
                "[E-WORLD]\n  try: emporion engine status",
            )
        with _user_errors(context):
            if not self._provider.caller.world.running:
                context.abort(
                    grpc.StatusCode.FAILED_PRECONDITION,
                    "the local cloud is stopped  [E-WORLD]\n  try: emporion local start",
                )
            self._provider.configure(_values(request.args))
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True,
            supportsPreview=True,
            acceptResources=False,
            acceptOutputs=False,
            supports_autonaming_configuration=True,
        )

    def Check(self, request: Request, context: Context) -> Any:  # noqa: ANN401
        """Check inputs, and fill in names and defaults."""
        autonaming = request.autonaming
        naming = Naming(
            request.randomSeed,
            autonaming.proposed_name or None,
            disabled=autonaming.mode == provider_pb2.CheckRequest.AutonamingOptions.DISABLE,
        )
        with _user_errors(context):
            inputs, failures = self._provider.check(request.urn, _values(request.olds), _values(request.news), naming)
        return provider_pb2.CheckResponse(inputs=_struct(inputs, request.news), failures=_failures(failures))

    def Diff(self, request: Request, _context: Context) -> Any:  # noqa: ANN401
        """Compare inputs."""
        difference = self._provider.diff(
            request.urn,
            _values(request.old_inputs),
            _values(request.news),
            list(request.ignoreChanges),
        )
        return _diff_response(difference)

    def Create(self, request: Request, context: Context) -> Any:  # noqa: ANN401
        """Make something."""
        with _user_errors(context):
            made, kill = self._provider.create(request.urn, _values(request.properties), preview=request.preview)
        self._after(context, kill)
        outputs = _struct(made.outputs, request.properties)
        _abort_when_incomplete(context, made, outputs, request.properties)
        return provider_pb2.CreateResponse(id=made.id, properties=outputs)

    def Update(self, request: Request, context: Context) -> Any:  # noqa: ANN401
        """Change something in place."""
        with _user_errors(context):
            made, kill = self._provider.update(
                request.urn,
                request.id,
                _values(request.olds),
                _values(request.old_inputs),
                _values(request.news),
                preview=request.preview,
            )
        self._after(context, kill)
        outputs = _struct(made.outputs, request.olds, request.news)
        _abort_when_incomplete(context, made, outputs, request.news)
        return provider_pb2.UpdateResponse(properties=outputs)

    def Read(self, request: Request, context: Context) -> Any:  # noqa: ANN401
        """Return something as the world has it: for a refresh, or by its id alone for an import."""
        with _user_errors(context):
            made, kill = self._provider.read(request.urn, request.id, _values(request.properties))
        self._after(context, kill)
        if made is None:
            return provider_pb2.ReadResponse(id="")
        return provider_pb2.ReadResponse(
            id=made.id,
            properties=_struct(made.outputs, request.inputs, request.properties),
            inputs=_struct(made.inputs, request.properties, request.inputs),
        )

    def Delete(self, request: Request, context: Context) -> Any:  # noqa: ANN401
        """Delete something."""
        with _user_errors(context):
            kill = self._provider.delete(request.urn, request.id, _values(request.properties))
        self._after(context, kill)
        return empty_pb2.Empty()

    def Invoke(self, request: Request, context: Context) -> Any:  # noqa: ANN401
        """Answer a function call."""
        with _user_errors(context):
            answer = self._provider.invoke(request.tok, _values(request.args))
        if isinstance(answer, list):
            return provider_pb2.InvokeResponse(failures=_failures(answer))
        return provider_pb2.InvokeResponse(**{"return": _struct(answer)})

    def Cancel(self, _request: Request, _context: Context) -> Any:  # noqa: ANN401
        """Take note of Ctrl-C: calls are short, those under way end by themselves."""
        return empty_pb2.Empty()

    def Attach(self, _request: Request, _context: Context) -> Any:  # noqa: ANN401
        """Accept an engine that attaches later."""
        return empty_pb2.Empty()

    def _after(self, context: Context, kill: Kill | None) -> None:
        if kill is not None:
            context.add_callback(lambda: self._provider.caller.kill(kill))


class RefusingServicer(Base):  # type: ignore[misc]  # generated without types
    """A provider process that cannot serve: a plugin that leaves at once would be reported as a bug of the plugin."""

    def __init__(self, error: UserError, version: str) -> None:
        self._error = error
        self._version = version

    def Handshake(self, _request: Request, _context: Context) -> Any:  # noqa: ANN401
        """Say what this provider takes."""
        return provider_pb2.ProviderHandshakeResponse()

    def GetPluginInfo(self, _request: Request, _context: Context) -> Any:  # noqa: ANN401
        """Return the version, which is the SDK's."""
        return plugin_pb2.PluginInfo(version=self._version)

    def CheckConfig(self, request: Request, _context: Context) -> Any:  # noqa: ANN401
        """Let it pass: the engine words an error of `Configure` better."""
        return provider_pb2.CheckResponse(inputs=request.news)

    def Configure(self, _request: Request, context: Context) -> None:
        """Say why there is no world."""
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(self._error))


def start_server(servicer: Servicer | RefusingServicer) -> tuple[Any, int]:
    """Start serving on a free port of the loopback and return the server and the port."""
    server = grpc.server(futures.ThreadPoolExecutor(WORKERS), options=SIZE_OPTIONS)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


class _user_errors:  # noqa: N801 - a context manager reads like a function
    """Turns what the user or the cloud says into the protocol's error; anything else stays a traceback."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, CloudRefusedError):
            self._context.abort(grpc.StatusCode.UNKNOWN, str(error))
        if isinstance(error, UserError):
            self._context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))


def _abort_when_incomplete(context: Context, made: Made, outputs: Any, inputs: Any) -> None:  # noqa: ANN401
    """Tell the engine that something exists but lacks something: the state keeps it, and the next update mends it."""
    if not made.failures:
        return
    detail = provider_pb2.ErrorResourceInitFailed(
        id=made.id,
        properties=outputs,
        reasons=list(made.failures),
        inputs=inputs,
    )
    message = "; ".join(made.failures)
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=message)
    status.details.add().Pack(detail)
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    _abort(context, message)


def _abort(context: Context, message: str) -> NoReturn:
    context.abort(grpc.StatusCode.UNKNOWN, message)
    raise AssertionError(message)  # abort never returns


def _values(struct: Any) -> dict[str, Any]:  # noqa: ANN401
    values: dict[str, Any] = plain(from_struct(struct))
    return values


def _struct(values: Mapping[str, Any], *came: Any) -> Any:  # noqa: ANN401
    """Return values as a Struct, with the marks of what came from the engine (a later Struct before an earlier one)."""
    marks: dict[str, Any] = {}
    for struct in came:
        marks.update(from_struct(struct))
    return into_struct(marked(values, marks), struct_pb2.Struct())


def _failures(failures: Iterable[Failure]) -> list[Any]:
    return [provider_pb2.CheckFailure(property=path, reason=reason) for path, reason in failures]


def _diff_response(difference: Difference) -> Any:  # noqa: ANN401
    if not difference.changes:
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)
    detailed = {
        path: provider_pb2.PropertyDiff(
            kind=getattr(provider_pb2.PropertyDiff, KINDS[change, path in difference.replaces]),
            inputDiff=True,
        )
        for path, change in difference.changes.items()
    }
    return provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_SOME,
        diffs=difference.top,
        replaces=sorted({path.partition(".")[0].partition("[")[0] for path in difference.replaces}),
        deleteBeforeReplace=difference.delete_first,
        detailedDiff=detailed,
        hasDetailedDiff=True,
    )
