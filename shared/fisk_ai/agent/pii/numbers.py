"""Numbers that identify a person wherever they stand: accounts, cards, social security.

A card and an account carry check digits, without which a long number is just a number; a social
security number has none, so its form and its neighbours decide.
"""

from __future__ import annotations

import re
from typing import Final

from fisk_ai.agent.pii.labels import Labels
from fisk_ai.agent.pii.rules import Check, Match, Rule, Span, belongs_to_more

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


def _cards(text: bytes) -> Check:
    """Return the check for the cards of one text; a label decides on a number in one piece."""
    labels = Labels(text)

    def card(match: Match) -> Span | None:
        found, span = match.group() or b"", match.span()
        digits = re.sub(rb"[ -]", b"", found)
        if belongs_to_more(match) or not _is_issued(digits) or not _luhn(digits):
            return None
        if digits != found:
            return span
        is_negative = text[max(0, span[0] - 1) : span[0]] == b"-"
        return None if is_negative or labels.say_otherwise(span) else span

    return card


def _is_issued(digits: bytes) -> bool:
    prefix = int(digits[:4])
    return any(prefix in brand and len(digits) in lengths for brand, lengths in _BRANDS)


def _luhn(digits: bytes) -> bool:
    backwards = [int(digit) for digit in reversed(digits.decode())]
    doubled = (sum(divmod(2 * digit, 10)) for digit in backwards[1::2])
    return (sum(backwards[::2]) + sum(doubled)) % 10 == 0


_IBAN_LENGTHS: Final = {
    **dict.fromkeys(("NO",), 15),
    **dict.fromkeys(("BE", "BI"), 16),
    **dict.fromkeys(("DK", "FI", "FO", "GL", "NL", "SD", "FK"), 18),  # codespell:ignore fo
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

_IBAN: Final = rb"\b([A-Z]{2})[0-9]{2}"
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


_SSN: Final = rb"\b([0-9]{3})-([0-9]{2})-([0-9]{4})\b"


def _ssn(match: Match) -> Span | None:
    area, group, serial = (match.group(number) or b"" for number in (1, 2, 3))
    if area in (b"000", b"666") or area.startswith(b"9") or group == b"00" or serial == b"0000":
        return None
    return None if belongs_to_more(match) else match.span()


NUMBERS: Final = (
    Rule("IBAN", _IBAN, _iban),
    Rule("PAYMENT_CARD", _CARD, check_of=_cards),
    Rule("SSN", _SSN, _ssn),
)
