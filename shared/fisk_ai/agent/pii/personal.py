"""Personal data: addresses, numbers that check out, and what stands next to its label.

Numbers that mean a person only in some places count where a label says so; payment cards and bank
accounts carry a check digit, without which a long number is just a number.
"""

from __future__ import annotations

import re
from typing import Final

from fisk_ai.agent.pii.rules import Match, Rule, Span, first_group

_DIGITS: Final = frozenset(b"0123456789")

# --- e-mail addresses ---------------------------------------------------------------------------

_LOCAL: Final = rb"(?:[A-Za-z0-9._%+-]|[\xc3-\xc9][\x80-\xbf])+"  # with the letters of Europe
_EMAIL: Final = rb"(" + _LOCAL + rb")@((?:[A-Za-z0-9-]+\.)+)([A-Za-z]{2,24})\b"

_NOT_LOCAL: Final = (b"git", b"hg", b"svn", b"this", b"super")
"""Users of repositories, and receivers in source code."""

_UNITS: Final = (b"service", b"socket", b"timer", b"target", b"slice", b"mount", b"scope")
"""Kinds of system units: ``getty@tty1.service`` is no address."""

_VERSION: Final = re.compile(rb"v?\d+x?\.")
"""A package at its version, or a picture at its scale."""


def _address(match: Match) -> Span | None:
    local, domain, top = (match.group(number) or b"" for number in (1, 2, 3))
    if local in _NOT_LOCAL or top in _UNITS or _VERSION.match(domain):
        return None
    return match.span()


# --- telephone numbers --------------------------------------------------------------------------

_PHONE: Final = rb"\+[1-9][0-9]{0,2}(?:[ .()/-]{0,3}[0-9]){5,13}\b"
_BEFORE_PHONE: Final = frozenset(b" \t\r\n\"'`(:,;=<>[|{")
_PHONE_DIGITS: Final = range(8, 16)
_BARE_PHONE_DIGITS: Final = 10
"""Without separators a shorter one may be any number with its sign."""


def _phone(match: Match) -> Span | None:
    start, end = match.span()
    if start and match.string[start - 1] not in _BEFORE_PHONE:
        return None
    body = match.string[start + 1 : end]
    groups = [group for group in re.split(rb"[ .()/-]+", body) if group]
    digits = sum(map(len, groups))
    if digits not in _PHONE_DIGITS or _goes_on(match):
        return None
    if len(groups) == 1:
        return (start, end) if digits >= _BARE_PHONE_DIGITS else None
    is_decimal = len(groups) == 2 and b"." in body
    return None if is_decimal or digits < 2 * len(groups) else (start, end)


# --- payment cards ------------------------------------------------------------------------------

_CARD: Final = (
    rb"\b(?:[2-6][0-9]{12,18}"
    rb"|[2-6][0-9]{3}(?: [0-9]{4}){2} [0-9]{1,7}|[2-6][0-9]{3}(?:-[0-9]{4}){2}-[0-9]{1,7}"
    rb"|3[0-9]{3} [0-9]{6} [0-9]{4,5}|3[0-9]{3}-[0-9]{6}-[0-9]{4,5})\b"
)

_BRANDS: Final = (
    (range(4000, 5000), (13, 16, 19)),
    (range(5100, 5600), (16,)),
    (range(2221, 2721), (16,)),
    (range(3400, 3500), (15,)),
    (range(3700, 3800), (15,)),
    (range(3000, 3060), (14, 16)),
    (range(3600, 3700), (14, 16)),
    (range(3800, 4000), (14, 16)),
    (range(3528, 3590), (16, 19)),
    (range(6011, 6012), (16, 19)),
    (range(6440, 6600), (16, 19)),
    (range(6200, 6300), (16, 17, 18, 19)),
    (range(5018, 5021), (16, 19)),
    (range(5600, 6000), (16, 19)),
    (range(6304, 6400), (16, 19)),
    (range(6700, 6800), (16, 19)),
)
"""First four digits and lengths in use: half of all numbers of 16 digits fall outside."""


def _card(match: Match) -> Span | None:
    digits = re.sub(rb"[ -]", b"", match.group() or b"")
    if _belongs_to_more(match) or not _is_issued(digits) or not _luhn(digits):
        return None
    return match.span()


def _is_issued(digits: bytes) -> bool:
    prefix = int(digits[:4])
    return any(prefix in brand and len(digits) in lengths for brand, lengths in _BRANDS)


def _luhn(digits: bytes) -> bool:
    doubled = (int(chr(digit)) * 2 for digit in digits[-2::-2])
    plain = (int(chr(digit)) for digit in digits[-1::-2])
    return (sum(plain) + sum(map(sum, map(_two_digits, doubled)))) % 10 == 0


def _two_digits(number: int) -> tuple[int, int]:
    return divmod(number, 10)


# --- bank accounts ------------------------------------------------------------------------------

_IBAN_LENGTHS: Final = {
    **dict.fromkeys(("NO",), 15),
    **dict.fromkeys(("BE", "BI"), 16),
    **dict.fromkeys(("DK", "FI", "FO", "GL", "NL", "SD", "FK"), 18),
    **dict.fromkeys(("MK", "SI"), 19),
    **dict.fromkeys(("AT", "BA", "EE", "KZ", "LT", "LU", "MN", "XK"), 20),
    **dict.fromkeys(("CH", "CR", "HR", "LI", "LV"), 21),
    **dict.fromkeys(("BG", "BH", "DE", "GB", "GE", "IE", "ME", "RS", "VA"), 22),
    **dict.fromkeys(("AE", "GI", "IL", "IQ", "OM", "SO", "TL"), 23),
    **dict.fromkeys(("AD", "CZ", "ES", "MD", "PK", "RO", "SA", "SE", "SK", "TN", "VG"), 24),
    **dict.fromkeys(("LY", "PT", "ST"), 25),
    **dict.fromkeys(("IS", "TR"), 26),
    **dict.fromkeys(("DJ", "FR", "GR", "IT", "MC", "MR", "SM"), 27),
    **dict.fromkeys(("AL", "AZ", "BY", "CY", "DO", "GT", "HU", "LB", "NI", "PL", "SV"), 28),
    **dict.fromkeys(("BR", "EG", "PS", "QA", "UA"), 29),
    **dict.fromkeys(("JO", "KW", "MU", "YE"), 30),
    **dict.fromkeys(("MT", "SC"), 31),
    **dict.fromkeys(("LC",), 32),
    **dict.fromkeys(("RU",), 33),
}
"""A country fixes the length, which tells where an account ends and the next word begins."""

_IBAN: Final = rb"\b([A-Z]{2})[0-9]{2} ?[A-Z0-9]"
_ACCOUNT: Final = re.compile(rb"[A-Z0-9](?: ?[A-Z0-9])*+")


def _iban(match: Match) -> Span | None:
    start = match.span()[0]
    length = _IBAN_LENGTHS.get((match.group(1) or b"").decode())
    if length is None:
        return None
    end = _end_of_account(match.string, start, length)
    account = match.string[start:end].replace(b" ", b"")
    if len(account) != length or match.string[end : end + 1].isalnum():
        return None
    return (start, end) if _mod_97(account.decode()) else None


def _end_of_account(text: bytes, start: int, length: int) -> int:
    """Return the end of ``length`` letters and digits, which may stand in groups."""
    run = _ACCOUNT.match(text, start, start + 2 * length)
    end, left = start, length
    for byte in run[0] if run is not None else b"":
        if not left:
            break
        end += 1
        left -= byte != ord(" ")
    return end


def _mod_97(account: str) -> bool:
    return int("".join(str(int(char, 36)) for char in account[4:] + account[:4])) % 97 == 1


# --- social security numbers --------------------------------------------------------------------

_SSN: Final = rb"\b([0-9]{3})-([0-9]{2})-([0-9]{4})\b"


def _ssn(match: Match) -> Span | None:
    area, group, serial = (match.group(number) or b"" for number in (1, 2, 3))
    if area in (b"000", b"666") or area.startswith(b"9") or group == b"00" or serial == b"0000":
        return None
    return None if _belongs_to_more(match) else match.span()


# --- next to a label ----------------------------------------------------------------------------

_MONTH: Final = rb"(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-zA-Z]*\.?"
_DATE: Final = (
    rb"[0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.](?:[0-9]{4}|[0-9]{2})"
    rb"|[0-9]{1,2}(?:st|nd|rd|th)? " + _MONTH + rb",? [0-9]{4}"
    rb"|" + _MONTH + rb" [0-9]{1,2}(?:st|nd|rd|th)?,? [0-9]{4}"
)
_BETWEEN: Final = rb"[\"' \t]*(?:[:=#]|\b(?i:is)\b)?[\"' \t]*"
_NUMBER: Final = rb"(?:[ _-]?(?i:no|nr|num|numbers?|id)\b\.?)?"
_LABELLED_DIGITS: Final = 4
"""A word next to a label is no number: most are letters alone."""


def _labelled(label: bytes, value: bytes) -> bytes:
    return rb"(?:\b|_)(?i:" + label + rb")" + _BETWEEN + rb"(" + value + rb")\b"


def _numbered(match: Match) -> Span | None:
    digits = sum(byte in _DIGITS for byte in match.group(1) or b"")
    return match.span(1) if digits >= _LABELLED_DIGITS else None


# --- neighbours ---------------------------------------------------------------------------------


def _goes_on(match: Match) -> bool:
    """Say whether the match is followed by ``-`` or ``.`` and more of the same identifier."""
    end = match.span()[1]
    return match.string[end : end + 1] in (b"-", b".") and match.string[end + 1 : end + 2].isalnum()


def _belongs_to_more(match: Match) -> bool:
    """Say whether the match is a part of a longer identifier or of a fraction."""
    start = match.span()[0]
    before = match.string[max(0, start - 2) : start]
    return (before[1:] in (b"-", b".") and before[:1].isalnum()) or _goes_on(match)


PERSONAL: Final = (
    Rule("EMAIL", _EMAIL, _address),
    Rule("IBAN", _IBAN, _iban),
    Rule("PHONE", _PHONE, _phone),
    Rule("PAYMENT_CARD", _CARD, _card),
    Rule("SSN", _SSN, _ssn),
    Rule(
        "DATE_OF_BIRTH",
        _labelled(rb"date[ _-]?of[ _-]?birth|birth[ _-]?(?:date|day)|dob", _DATE),
        first_group,
    ),
    Rule(
        "PASSPORT",
        _labelled(rb"passport" + _NUMBER, rb"[A-Z0-9]{6,9}"),
        _numbered,
    ),
    Rule(
        "DRIVING_LICENCE",
        _labelled(
            rb"driv(?:ing|er'?s?)[ _-]?licen[cs]e" + _NUMBER, rb"[A-Z0-9](?:[ -]?[A-Z0-9]){4,19}"
        ),
        _numbered,
    ),
)
