"""What means a person only next to its label: a date of birth, a passport, a driving licence."""

from __future__ import annotations

import re
from typing import Final

from fisk_ai.agent.pii.rules import Match, Rule, Span, first_group

_DIGITS: Final = frozenset(b"0123456789")

_MONTH: Final = rb"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-zA-Z]*\.?"
_DATE: Final = (
    rb"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.](?:[0-9]{4}|[0-9]{2})"
    rb"|[0-9]{1,2}(?:[a-z]{2})? " + _MONTH + rb",? [0-9]{4}"
    rb"|" + _MONTH + rb" [0-9]{1,2}(?:[a-z]{2})?,? [0-9]{4}"
)
_BETWEEN: Final = rb"[\"' \t]*(?:[:=#]|\b(?i:is)\b)?[\"' \t]*"
_NUMBER: Final = rb"(?:[ _-]?(?i:no|nr|num|numbers?|id)\b\.?)?"
_LABELLED_DIGITS: Final = 4
"""A word next to a label is no number: most are letters alone."""


def _labelled(label: bytes, value: bytes) -> bytes:
    return rb"(?:\b|_)(?i:" + label + rb")" + _BETWEEN + rb"(" + value + rb")\b"


_FRACTION: Final = re.compile(rb"[.+][0-9]")


def _numbered(match: Match) -> Span | None:
    start, end = match.span(1)
    if _FRACTION.match(match.string, end):
        return None
    digits = sum(byte in _DIGITS for byte in match.string[start:end])
    return (start, end) if digits >= _LABELLED_DIGITS else None


LABELLED: Final = (
    Rule(
        "DATE_OF_BIRTH",
        _labelled(rb"date[ _-]?of[ _-]?birth|birth[ _-]?(?:date|day)|dob", _DATE),
        first_group,
    ),
    Rule("PASSPORT", _labelled(rb"passport" + _NUMBER, rb"[A-Z0-9]{6,9}"), _numbered),
    Rule(
        "DRIVING_LICENCE",
        _labelled(
            rb"driv(?:ing|er'?s?)[ _-]?licen[cs]e" + _NUMBER, rb"[A-Z0-9](?:[ -]?[A-Z0-9]){4,19}"
        ),
        _numbered,
    ),
)
