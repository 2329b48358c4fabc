from __future__ import annotations

import asyncio

from fisk_ai.memory import scope
from fisk_ai.memory.scope import Scope


def test_a_seed_adds_keys_and_overrides_none() -> None:
    known = Scope()
    known.saw("a", 5)
    known.seed({"a": 1, "b": 2})
    assert known.snapshot() == {"a": 5, "b": 2}


def test_a_snapshot_is_a_copy_of_everything_known() -> None:
    known = Scope()
    known.seed({"a": 1, "b": 2})
    taken = known.snapshot()
    known.forget("a")
    known.forget("never known")
    assert taken == {"a": 1, "b": 2}
    assert known.snapshot() == {"b": 2}
    assert known.revision("a") is None


async def test_each_run_has_a_scope_of_its_own() -> None:
    async def run(key: str) -> dict[str, int]:
        with scope.attached() as mine:
            await asyncio.sleep(0)
            assert scope.current() is mine
            mine.saw(key, 1)
            return mine.snapshot()

    assert await asyncio.gather(run("a"), run("b")) == [{"a": 1}, {"b": 1}]
    assert scope.current() is None
