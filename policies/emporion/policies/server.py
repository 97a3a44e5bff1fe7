"""A pack under the engine: Pulumi's analyzer protocol (gRPC) over `Review`.

Not the policy SDK's own server: that one decodes every resource once more for each rule, and hands secrets over as
ordinary texts (docs/adr/0014-own-policy-server.md).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from dataclasses import replace
from typing import Any

import grpc
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc, plugin_pb2

from emporion.market.errors import UserError
from emporion.market.resources import Resource
from emporion.policies.judge import Finding, Verdict
from emporion.policies.review import Review, read_resource
from emporion.policies.rule import Level, Rule, Severity
from emporion.policies.settings import LEVEL, schema

__all__ = ["Servicer", "serve"]

LEVELS = {
    Level.ADVISORY: analyzer_pb2.ADVISORY,
    Level.MANDATORY: analyzer_pb2.MANDATORY,
    Level.DISABLED: analyzer_pb2.DISABLED,
}
SEVERITIES = {
    Severity.LOW: analyzer_pb2.POLICY_SEVERITY_LOW,
    Severity.MEDIUM: analyzer_pb2.POLICY_SEVERITY_MEDIUM,
    Severity.HIGH: analyzer_pb2.POLICY_SEVERITY_HIGH,
    Severity.CRITICAL: analyzer_pb2.POLICY_SEVERITY_CRITICAL,
}
SIZE_OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
WORKERS = 4
LATER = "not about such a resource, or judged with the whole stack"
Request = Any
Context = Any
Base: Any = analyzer_pb2_grpc.AnalyzerServicer


class Servicer(Base):  # type: ignore[misc]  # generated without types
    """One pack in one update of the engine. `open_review` takes the configuration of its rules."""

    def __init__(
        self, name: str, version: str, rules: Sequence[Rule], open_review: Callable[[Mapping[str, Any]], Review]
    ) -> None:
        self._name = name
        self._version = version
        self._rules = rules
        self._open = open_review
        self._review: Review | None = None
        self._lock = threading.Lock()  # the engine asks for several resources at once

    def Handshake(self, _request: Request, _context: Context) -> Any:  # noqa: ANN401
        """Say what this pack takes: nothing to agree upon."""
        return analyzer_pb2.AnalyzerHandshakeResponse()

    def GetPluginInfo(self, _request: Request, _context: Context) -> Any:  # noqa: ANN401
        """Return the version."""
        return plugin_pb2.PluginInfo(version=self._version)

    def GetAnalyzerInfo(self, _request: Request, context: Context) -> Any:  # noqa: ANN401
        """Return the rules with what may be set for them."""
        settings = self._opened({}, context).settings
        return analyzer_pb2.AnalyzerInfo(
            name=self._name,
            displayName=self._name,
            version=self._version,
            supportsConfig=True,
            policies=[_info(rule, settings[rule.name].level) for rule in self._rules],
        )

    def ConfigureStack(self, _request: Request, _context: Context) -> Any:  # noqa: ANN401
        """Take note of the stack: what a pack needs of it stands in its environment."""
        return analyzer_pb2.AnalyzerStackConfigureResponse()

    def Configure(self, request: Request, context: Context) -> Any:  # noqa: ANN401
        """Take over the configuration of the rules."""
        self._opened(_configuration(request), context)
        return empty_pb2.Empty()

    def Analyze(self, request: Request, context: Context) -> Any:  # noqa: ANN401
        """Judge one resource before it is made."""
        resource, secrets = read_resource(
            request.urn,
            request.type,
            _values(request.properties),
            provider=_values(request.provider.properties),
            protect=request.options.protect,
        )
        with self._lock:
            found, later = self._opened({}, context).resource(resource, secrets)
        response = self._response(found)
        told = {one.rule.name for one in found}
        response.not_applicable.extend(
            analyzer_pb2.PolicyNotApplicable(policy_name=name, reason=LATER) for name in later if name not in told
        )
        return response

    def AnalyzeStack(self, request: Request, context: Context) -> Any:  # noqa: ANN401
        """Judge the whole stack."""
        review = self._opened({}, context)
        with self._lock:
            return self._response(review.stack([_of_stack(one, review) for one in request.resources]))

    def Remediate(self, _request: Request, _context: Context) -> Any:  # noqa: ANN401
        """Change nothing: rules say what is wrong, the program stays the only author."""
        return analyzer_pb2.RemediateResponse()

    def Cancel(self, _request: Request, _context: Context) -> Any:  # noqa: ANN401
        """Take note of Ctrl-C: judging is short."""
        return empty_pb2.Empty()

    def _opened(self, configuration: Mapping[str, Any], context: Context) -> Review:
        if self._review is None or configuration:
            try:
                self._review = self._open(configuration)
            except UserError as error:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
                raise  # abort raises itself
        return self._review

    def _response(self, findings: Sequence[Finding]) -> Any:  # noqa: ANN401
        return analyzer_pb2.AnalyzeResponse(diagnostics=[self._diagnostic(one) for one in findings])

    def _diagnostic(self, finding: Finding) -> Any:  # noqa: ANN401
        # What cannot be known before an update must not stop the preview that every update begins with; the update
        # judges it again before the resource is made. Emporion's own gate does not let it pass.
        level = Level.ADVISORY if finding.verdict is Verdict.UNKNOWN else finding.level
        fix = "" if finding.verdict is not Verdict.VIOLATED else f"; try: {finding.rule.fix}"
        return analyzer_pb2.AnalyzeDiagnostic(
            policyName=finding.rule.name,
            policyPackName=self._name,
            policyPackVersion=self._version,
            description=finding.rule.description,
            message=f"{finding.message}{fix}",
            urn=finding.urn,
            enforcementLevel=LEVELS[level],
            severity=SEVERITIES[finding.rule.severity],
        )


def _of_stack(one: Any, review: Review) -> Resource:  # noqa: ANN401 - the protocol's AnalyzerResource
    """Return a resource of the stack; the values of one that was judged by itself are known."""
    references = {name: tuple(found.urns) for name, found in one.propertyDependencies.items() if found.urns}
    seen = review.seen(one.urn)
    if seen is not None:
        return replace(seen, references=references)
    resource, _ = read_resource(
        one.urn,
        one.type,
        _values(one.properties),
        provider=_values(one.provider.properties),
        references=references,
        protect=one.options.protect,
    )
    return resource


def _info(rule: Rule, level: Level) -> Any:  # noqa: ANN401
    return analyzer_pb2.PolicyInfo(
        name=rule.name,
        displayName=rule.name,
        description=rule.description,
        enforcementLevel=LEVELS[level],
        configSchema=analyzer_pb2.PolicyConfigSchema(properties=_struct(schema(rule))),
        severity=SEVERITIES[rule.severity],
        remediation_steps=rule.fix,
        tags=[rule.profile] if rule.profile else [],
    )


def _struct(value: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a google.protobuf Struct
    struct = struct_pb2.Struct()
    struct.update(value)
    return struct


def _configuration(request: Request) -> dict[str, Any]:
    return {
        name: {
            **_values(config.properties),
            LEVEL: Level(analyzer_pb2.EnforcementLevel.Name(config.enforcementLevel).lower()),
        }
        for name, config in request.policyConfig.items()
    }


def _values(struct: Any) -> dict[str, Any]:  # noqa: ANN401 - a google.protobuf Struct
    return {key: _value(value) for key, value in struct.fields.items()}


def _value(value: Any) -> Any:  # noqa: ANN401 - JSON
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return _values(value.struct_value)
    if kind == "list_value":
        return [_value(item) for item in value.list_value.values]
    return None if kind in {None, "null_value"} else getattr(value, kind)


def serve(servicer: Servicer) -> None:
    """Serve on a free port of the loopback, print the port for the engine, and go on until it ends the process."""
    server = grpc.server(futures.ThreadPoolExecutor(WORKERS), options=SIZE_OPTIONS)
    analyzer_pb2_grpc.add_AnalyzerServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    server.wait_for_termination()
