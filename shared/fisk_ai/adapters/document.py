"""The introspection document: what a program prints for ``--fisk-introspect``.

Its keys and their order are those of fisk's own document; what is empty is left out where fisk
leaves it out. Shape: ``docs/reference/adapters.md``.
"""

from __future__ import annotations

import json

from fisk_ai.adapters.program import Command, Parameter, Program

Json = dict[str, object]


def render(program: Program) -> str:
    """Return the document as one line of ASCII JSON."""
    document: Json = {"name": program.name, "help": program.help}
    if program.version:
        document["version"] = program.version
    if program.commands:
        document["commands"] = [_command(command) for command in program.commands]
    if program.options:
        document["flags"] = [_flag(option) for option in program.options]
    return json.dumps(document, separators=(",", ":"))


def _command(command: Command) -> Json:
    written: Json = {"name": command.name, "help": command.help}
    optional: Json = {
        "help_long": command.help_long,
        "hidden": command.is_hidden,
        "tags": list(command.tags),
        "restricted_schema": schema(command),
        "flags": [_flag(option) for option in command.options],
        "args": [_argument(argument) for argument in command.arguments],
        "commands": [_command(child) for child in command.commands],
    }
    return written | _set(optional)


def _flag(option: Parameter) -> Json:
    optional: Json = {
        "short": ord(option.short) if option.short else 0,
        "default": list(option.defaults),
        "envar": option.environment,
        "required": option.is_required,
        "hidden": option.is_hidden,
    }
    written: Json = {"name": option.name, "help": option.help} | _set(optional)
    written["boolean"] = option.kind == "boolean"
    if option.is_negatable:
        written["negatable"] = True
    written["cumulative"] = option.is_cumulative
    if option.choices:
        written["completions"] = list(option.choices)
    return written


def _argument(argument: Parameter) -> Json:
    optional: Json = {
        "default": list(argument.defaults),
        "envar": argument.environment,
        "required": argument.is_required,
        "hidden": argument.is_hidden,
    }
    written: Json = {"name": argument.name, "help": argument.help} | _set(optional)
    written["cumulative"] = argument.is_cumulative
    return written


def schema(command: Command) -> Json:
    """Return the JSON schema of a command's input, its keys sorted at every depth."""
    shown = [p for p in (*command.arguments, *command.options) if not p.is_hidden]
    properties = {parameter.name: _value(parameter) for parameter in shown}
    written: Json = {
        "additionalProperties": False,
        "properties": dict(sorted(properties.items())),
    }
    required = [parameter.name for parameter in shown if parameter.is_required]
    if required:
        written["required"] = required
    return written | {"type": "object"}


def _value(parameter: Parameter) -> Json:
    scalar: Json = {"type": parameter.kind}
    if parameter.choices:
        scalar = {"enum": list(parameter.choices), "type": parameter.kind}
    if parameter.is_cumulative:
        return {"description": parameter.help, "items": scalar, "type": "array"}
    return {"description": parameter.help} | scalar


def _set(optional: Json) -> Json:
    return {key: value for key, value in optional.items() if value}
