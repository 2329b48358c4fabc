from __future__ import annotations

from collections.abc import Callable

import pytest

from fisk_ai.config import Config
from fisk_ai.config import telemetry_export as telemetry
from fisk_ai.config.telemetry_rules import fault

Read = Callable[..., Config]
ON = "identity: cow\ntelemetry: {enabled: true, %s}"


def test_nothing_written_means_documented_defaults(read: Read) -> None:
    export = telemetry.resolve(read("{}"), {})
    assert export.off_by == "telemetry.enabled"
    assert (export.endpoint.value, export.endpoint.origin) == ("http://localhost:4318", "default")
    assert (export.service_name.value, export.service_name.origin) == ("fisk-ai", "default")
    assert (export.sample_ratio.value, export.sample_ratio.origin) == (1.0, "default")
    assert (export.metrics.value, export.metrics.origin) == (True, "default")
    assert (export.capture, export.capture_messages, export.capture_bytes.value) == (
        False,
        "delta",
        8192,
    )


@pytest.mark.parametrize(
    ("inside", "environ", "value", "origin"),
    [
        (
            "endpoint: 'http://f'",
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "x"},
            "http://f",
            "telemetry.endpoint",
        ),
        (
            "",
            {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t", "OTEL_EXPORTER_OTLP_ENDPOINT": "x"},
            "http://t",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        ),
        (
            "",
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://e"},
            "http://e",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
        ),
        ("", {"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, "http://localhost:4318", "default"),
    ],
)
def test_an_endpoint_comes_from_the_file_then_the_environment(
    read: Read, inside: str, environ: dict[str, str], value: str, origin: str
) -> None:
    endpoint = telemetry.resolve(read(ON % inside), environ).endpoint
    assert (endpoint.value, endpoint.origin) == (value, origin)


@pytest.mark.parametrize(
    ("text", "environ", "value", "origin"),
    [
        (ON % "service_name: a", {"OTEL_SERVICE_NAME": "b"}, "a", "telemetry.service_name"),
        (ON % "", {"OTEL_SERVICE_NAME": "b"}, "b", "OTEL_SERVICE_NAME"),
        (ON % "", {}, "cow", "identity"),
        ("application_path: ./cow", {}, "fisk-ai", "default"),
    ],
)
def test_a_service_is_named_by_the_file_the_environment_or_its_chosen_identity(
    read: Read, text: str, environ: dict[str, str], value: str, origin: str
) -> None:
    name = telemetry.resolve(read(text), environ).service_name
    assert (name.value, name.origin) == (value, origin)


def test_a_ratio_of_zero_is_not_taken_for_none(read: Read) -> None:
    ratio = telemetry.resolve(read(ON % "sample_ratio: 0"), {}).sample_ratio
    assert (ratio.value, ratio.origin) == (0.0, "telemetry.sample_ratio")


@pytest.mark.parametrize(
    ("environ", "flag", "off_by"),
    [
        ({}, False, ""),
        ({}, True, "--no-telemetry"),
        ({"NO_TELEMETRY": "1", "OTEL_SDK_DISABLED": "true"}, True, "NO_TELEMETRY"),
        ({"NO_TELEMETRY": "please"}, False, "NO_TELEMETRY"),
        ({"NO_TELEMETRY": "false"}, False, ""),
        ({"NO_TELEMETRY": "F"}, False, ""),
        ({"NO_TELEMETRY": ""}, False, ""),
        ({"OTEL_SDK_DISABLED": "True"}, False, "OTEL_SDK_DISABLED"),
        ({"OTEL_SDK_DISABLED": "please"}, False, ""),
        ({"OTEL_SDK_DISABLED": "true"}, True, "--no-telemetry"),
    ],
)
def test_the_environment_switches_off_and_never_on(
    read: Read,
    environ: dict[str, str],
    flag: bool,  # noqa: FBT001 - a column of the table
    off_by: str,
) -> None:
    assert telemetry.resolve(read(ON % ""), environ, flag=flag).off_by == off_by
    assert telemetry.resolve(read("{}"), environ, flag=flag).off_by


@pytest.mark.parametrize(
    ("environ", "value", "origin"),
    [
        ({}, 9000, "telemetry.capture.max_bytes"),
        (
            {"OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": "500"},
            500,
            "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
        ),
        ({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "500"}, 500, "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"),
        (
            {
                "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT": "10000",
                "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "500",
            },
            9000,
            "telemetry.capture.max_bytes",
        ),
        ({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "many"}, 9000, "telemetry.capture.max_bytes"),
    ],
)
def test_a_limit_of_the_environment_can_only_lower_what_is_captured(
    read: Read, environ: dict[str, str], value: int, origin: str
) -> None:
    config = read(ON % "capture: {enabled: true, max_bytes: 9000}")
    setting = telemetry.resolve(config, environ).capture_bytes
    assert (setting.value, setting.origin) == (value, origin)


@pytest.mark.parametrize(
    ("inside", "environ", "said"),
    [
        ("sample_ratio: 2", {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "GRPC"}, "_PROTOCOL is grpc"),
        ("sample_ratio: 2", {}, "sample_ratio 2: must be from 0 to 1"),
        ("sample_ratio: -0.5", {}, "sample_ratio -0.5: must be from 0 to 1"),
        ("capture: {enabled: true, messages: all}", {}, 'messages "all": must be delta or full'),
        ("capture: {enabled: true, max_bytes: 255}", {}, "max_bytes 255: must be from 256 to"),
        ("capture: {enabled: true, max_bytes: 65537}", {}, "max_bytes 65537: must be from 256"),
        ("endpoint: 'http://[x'", {}, "cannot be read as an address"),
        ("endpoint: 'https://u:hunter2@h'", {}, "must not hold a user name or password"),
        ("endpoint: 'ftp://h'", {}, "must be an http:// or https:// address"),
        ("endpoint: 'http://h:4317'", {}, "4317 is the OTLP/gRPC port"),
        ("endpoint: 'http://h'", {"OTEL_EXPORTER_OTLP_HEADERS": "x=y"}, "leave this host unencr"),
        ("endpoint: 'http://h', capture: {enabled: true}", {}, "what telemetry.capture holds"),
    ],
)
def test_an_export_that_could_not_work_or_would_leak_is_told(
    read: Read, inside: str, environ: dict[str, str], said: str
) -> None:
    config = read(ON % inside)
    told = fault(config, telemetry.resolve(config, environ), environ)
    assert said in told
    assert "hunter2" not in told
    quiet = {"NO_TELEMETRY": "1", **environ}
    assert not fault(config, telemetry.resolve(config, quiet), quiet)


@pytest.mark.parametrize(
    ("inside", "environ"),
    [
        ("", {}),
        ("capture: {messages: all, max_bytes: 1}", {}),
        ("capture: {enabled: true, messages: ' FULL '}", {}),
        ("endpoint: 'http://h'", {}),
        ("endpoint: 'https://h'", {"OTEL_EXPORTER_OTLP_HEADERS": "x=y"}),
        ("endpoint: 'http://127.0.0.1'", {"OTEL_EXPORTER_OTLP_HEADERS": "x=y"}),
        ("endpoint: 'http://[::1]:4318'", {"OTEL_EXPORTER_OTLP_HEADERS": "x=y"}),
        ("", {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}),
    ],
)
def test_an_export_that_works_has_no_fault(
    read: Read, inside: str, environ: dict[str, str]
) -> None:
    config = read(ON % inside)
    assert not fault(config, telemetry.resolve(config, environ), environ)


def test_transport_variables_without_an_export_are_noticed(read: Read) -> None:
    environ = {"OTEL_EXPORTER_OTLP_HEADERS": "x", "OTEL_EXPORTER_OTLP_ENDPOINT": "y"}
    off = telemetry.resolve(read("{}"), environ)
    assert telemetry.unused(off, environ) == (
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_HEADERS",
    )
    assert telemetry.unused(telemetry.resolve(read(ON % ""), environ), environ) == ()
