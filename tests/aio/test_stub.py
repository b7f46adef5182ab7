"""What type checkers are told of `palaver.aio` is what there is: made from the classes, held against real objects."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import palaver
from palaver import aio
from palaver.awaited import handles

from ..tools import aio_stub
from .support import run

STUB = {node.name: node for node in ast.parse(aio_stub.STUB.read_text()).body if isinstance(node, ast.ClassDef)}


def test_the_stub_is_what_the_classes_say_now() -> None:
    assert aio_stub.STUB.read_text() == aio_stub.text(), "run `python -m tests.tools.aio_stub`"


def test_a_verb_that_is_added_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def vanish(self: Any, turn: palaver.Turn | None = None, *, slowly: bool = False) -> palaver.Session:
        raise NotImplementedError

    vanish.__module__ = "palaver.session"
    monkeypatch.setattr(palaver.Session, "vanish", vanish, raising=False)
    said = "async def vanish(self: Any, turn: AsyncTurn | None = None, *, slowly: bool = False) -> AsyncSession: ..."
    assert said in aio_stub.text()


def test_a_verb_that_would_block_the_event_loop_later_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def drip(self: Any) -> Iterator[str]:
        raise NotImplementedError

    drip.__module__ = "palaver.session"
    monkeypatch.setattr(palaver.Session, "drip", drip, raising=False)
    with pytest.raises(SystemExit, match="drip gives Iterator"):
        aio_stub.text()


def test_everything_that_can_be_imported_is_in_it() -> None:
    text = aio_stub.STUB.read_text()
    names = {node.name for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.AsyncFunctionDef)}
    names |= {"AsyncPage", "Following", "Listing"}  # imported there, as they are
    assert names == set(aio.__all__)
    assert {wrapper.__name__ for wrapper in handles._WRAPPERS.values()} < names


@pytest.mark.parametrize("kind", handles._WRAPPERS, ids=lambda kind: kind.__name__)
def test_a_real_object_has_what_the_stub_says_in_the_way_it_says(path: str, kind: type) -> None:
    async def look() -> None:
        async with await aio.open(path) as store:
            found = (await objects(store))[kind]
            node = STUB[type(found).__name__]
            for member in node.body:
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                    holds(found, member)

    run(look())


def holds(found: Any, member: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    if member.name.startswith("__"):
        assert hasattr(type(found), member.name), member.name
        return
    value = getattr(found, member.name)
    if [ast.unparse(each) for each in member.decorator_list] == ["property"]:
        is_awaited = inspect.iscoroutine(value)
        if is_awaited:
            value.close()
        assert is_awaited == ("Coroutine" in ast.unparse(member.returns or member)), member.name
        return
    call = getattr(value, "func", value)
    assert inspect.iscoroutinefunction(call) == isinstance(member, ast.AsyncFunctionDef), member.name


@pytest.mark.parametrize("kind", handles._WRAPPERS, ids=lambda kind: kind.__name__)
def test_what_an_object_holds_is_declared_in_its_class(path: str, kind: type) -> None:
    async def look() -> None:
        async with await aio.open(path) as store:
            inner = (await objects(store))[kind]._inner
            held = getattr(kind, "__slots__", None) or vars(inner)
            assert {name for name in held if not name.startswith("_")} == {
                name for name in kind.__annotations__ if not name.startswith("_")
            }

    run(look())


async def objects(store: aio.AsyncStore) -> dict[type, Any]:
    session = await store.sessions.create("coder")
    turn = await session.turn("hello")
    moment, call = await session.at(4_000_000_000_000), await turn.tool("look")
    made = [store, store.sessions, session, session.permissions, moment, turn, call]
    return {type(each._inner): each for each in made}


def test_the_stub_lies_beside_the_module() -> None:
    assert Path(aio.__file__).with_suffix(".pyi") == aio_stub.STUB
