"""Writes `src/palaver/aio.pyi`: what a type checker is told about `palaver.aio`, from the synchronous classes.

    python -m tests.tools.aio_stub

A handle of asyncio has no methods of its own: they are looked up on the handle that it stands for. So the stub is made
of those: a method is a coroutine with the same parameters, a property something to await, and a handle in a signature
is its async form. What the async class defines itself (`follow`, `list`, `__aenter__`) answers what is said there.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, get_overloads

from palaver import aio
from palaver.awaited import handles, iterating, recording

STUB = Path(aio.__file__).with_suffix(".pyi")
HEAD = f'''"""{inspect.getdoc(aio)}

Made from the synchronous classes by `python -m tests.tools.aio_stub`: change those, and run it again.
"""
'''
STANDS_FOR = {wrapper: kind for kind, wrapper in handles._WRAPPERS.items()}
ASYNC_NAMES = {kind: wrapper.__name__ for kind, wrapper in handles._WRAPPERS.items()}
AS_THEY_ARE = (iterating.AsyncPage, iterating.Following, iterating.Listing)
SYNCHRONOUS = {"Iterator", "Iterable", "Generator", "ContextManager", "AbstractContextManager"}
BASE = """
class Async:
    \"\"\"Stands for an object of the synchronous library.\"\"\"

    def __init__(self, inner: object, lane: object) -> None: ...
"""


def main() -> None:
    STUB.write_text(text())


def text() -> str:
    """The whole stub, formatted."""
    stub = Stub()
    parts = [stub.of_handle(wrapper, kind) for wrapper, kind in sorted(STANDS_FOR.items(), key=lambda p: p[0].__name__)]
    parts += [stub.of_class(recording.AsyncRecording), stub.function(handles.open), stub.function(recording.record)]
    names = f"__all__ = {sorted(aio.__all__)!r}\n"
    return formatted("\n".join([HEAD, *stub.imports(), names, BASE, *parts]))


def formatted(source: str) -> str:
    """As `make fmt` leaves it."""
    for command in (["check", "--fix-only", "--quiet"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(STUB), "-"]
        source = subprocess.run(ruff, input=source, capture_output=True, text=True, check=True, timeout=60).stdout
    return source


class Stub:
    """Classes and functions as a stub has them, and what they need to be imported."""

    def __init__(self) -> None:
        self._needed: set[tuple[str, str]] = {(kind.__module__, kind.__name__) for kind in AS_THEY_ARE}

    def imports(self) -> Iterator[str]:
        for module, name in sorted(self._needed):
            where = module.removeprefix("palaver") if module.startswith("palaver.") else module
            yield f"from {where} import {name}" if name else f"import {module}"

    # ------------------------------------------------------------ classes

    def of_handle(self, wrapper: type, kind: type) -> str:
        """An async handle, with what the one that it stands for has, in the same order."""
        members = [name for name in {**kind.__annotations__, **vars(kind)} if not name.startswith("_")]
        can_set = [name for name in members if getattr(vars(kind).get(name), "fset", None)]
        scope = {*members, *(["set"] if can_set else ())}
        lines = [line for name in members for line in self._member(wrapper, kind, name, scope)]
        lines += self._setters(kind, can_set, scope)
        for name, found in vars(wrapper).items():
            if name.startswith("__a"):
                lines.append(self.function(found, scope=scope))
        return _class(wrapper, "(Async)", lines or ["..."])

    def of_class(self, kind: Any) -> str:
        """A generic class that is all its own."""
        own = {name: found for name, found in vars(kind).items() if inspect.isfunction(found)}
        shown = [found for name, found in own.items() if not name.startswith("_") or name.endswith("__")]
        fields = [f"{name}: {self._type(kind, text, {*own})}" for name, text in kind.__annotations__.items()]
        bases = self._type(kind, f"Generic[{', '.join(each.__name__ for each in kind.__parameters__)}]", {*own})
        return _class(kind, f"({bases})", [*fields, *(self.function(found, scope={*own}) for found in shown)])

    def _member(self, wrapper: type, kind: type, name: str, scope: set[str]) -> Iterator[str]:
        found = vars(kind).get(name)
        if name in kind.__annotations__:
            yield _property(name, self._type(kind, kind.__annotations__[name], scope), None)
        elif isinstance(found, property):
            assert found.fget is not None
            answer = self._type(found.fget, found.fget.__annotations__["return"], scope)
            if name not in handles._PLAIN | handles._HANDLES:
                self._needed |= {("collections.abc", "Coroutine"), ("typing", "Any")}
                answer = f"Coroutine[Any, Any, {answer}]"
            yield _property(name, answer, found.__doc__)
        elif inspect.isfunction(found) and (forms := get_overloads(found)):
            self._needed |= {("typing", "overload")}
            forms[0].__doc__ = found.__doc__
            yield from (f"@overload\n{self.function(form, scope=scope)}" for form in forms)
        elif inspect.isfunction(found):
            yield self.function(found, answers=vars(wrapper).get(name), scope=scope)

    def _setters(self, kind: type, can_set: list[str], scope: set[str]) -> list[str]:
        """`set`, once for each property that can be set."""
        lines = [self._setter(name, vars(kind)[name].fset, scope) for name in can_set]
        self._needed |= {("typing", "Literal")} if lines else set()
        self._needed |= {("typing", "overload")} if len(lines) > 1 else set()
        return lines if len(lines) < 2 else [f"@overload\n{line}" for line in lines]

    def _setter(self, name: str, fset: Callable[..., Any], scope: set[str]) -> str:
        value = next(iter(fset.__annotations__.values()))
        given = f'name: Literal["{name}"], value: {self._type(fset, value, scope)}'
        return _with_doc(f"async def set(self, {given}) -> None:", f"Set the {name}.")

    # ------------------------------------------------------------ functions

    def function(self, found: Any, *, answers: Any = None, scope: set[str] | None = None) -> str:
        """A function as a coroutine, unless the async class says what it answers (`answers`) and that is none."""
        scope, said = scope or set(), answers or found
        is_own = found.__module__.startswith("palaver.awaited") or answers is not None
        is_plain = is_own and not inspect.iscoroutinefunction(said)
        answer = self._type(said, said.__annotations__["return"], scope)
        if not is_own and SYNCHRONOUS & names_in(said.__annotations__["return"]):
            raise SystemExit(f"{found.__qualname__} gives {answer}: write its async form into palaver.awaited")
        given = ", ".join(self._parameters(found, scope))
        return _with_doc(f"{'' if is_plain else 'async '}def {found.__name__}({given}) -> {answer}:", said.__doc__)

    def _parameters(self, function: Any, scope: set[str]) -> Iterator[str]:
        last = None
        for each in inspect.signature(function).parameters.values():
            if each.kind is each.KEYWORD_ONLY and last not in (each.KEYWORD_ONLY, each.VAR_POSITIONAL):
                yield "*"
            last = each.kind
            stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
            kind = "" if each.annotation is each.empty else f": {self._type(function, each.annotation, scope)}"
            yield f"{stars}{each.name}{kind}{'' if each.default is each.empty else f' = {_default(each.default)}'}"

    # ------------------------------------------------------------ types

    def _type(self, where: Any, annotation: str, scope: set[str]) -> str:
        """An annotation of a class or function as it reads in the stub."""
        module = importlib.import_module(where.__module__)
        return ast.unparse(_Translation(self._needed, module, scope).visit(ast.parse(annotation, mode="eval")))


class _Translation(ast.NodeTransformer):
    """Handles become async ones; what has to be imported is noted; a name that the class has itself is a builtin."""

    def __init__(self, needed: set[tuple[str, str]], module: ModuleType, scope: set[str]) -> None:
        self._needed, self._module, self._scope = needed, module, scope

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        assert isinstance(node.value, ast.Name), ast.unparse(node)
        room = getattr(self._module, node.value.id)
        return self._named(getattr(room, node.attr), *home_of(room, node.attr))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if hasattr(self._module, node.id):
            return self._named(getattr(self._module, node.id), *home_of(self._module, node.id))
        return self._named(getattr(builtins, node.id), "builtins", node.id)

    def _named(self, value: Any, module: str, name: str) -> ast.expr:
        if module.startswith("palaver.awaited"):
            return ast.Name(name)
        if inspect.isclass(value) and value in ASYNC_NAMES:
            return ast.Name(ASYNC_NAMES[value])
        if module == "builtins" and name not in self._scope:
            return ast.Name(name)
        self._needed.add((module, "" if module == "builtins" else name))
        return ast.Name(f"builtins.{name}" if module == "builtins" else name)


def home_of(module: ModuleType, name: str) -> tuple[str, str]:
    """Where a name of a module comes from: what it imports it from, or the module itself."""
    if module is builtins:
        return "builtins", name
    if module.__name__ == "palaver":
        return f"palaver.{module._HOME[name]}", name
    return _imported(module).get(name, (module.__name__, name))


@cache
def _imported(module: ModuleType) -> dict[str, tuple[str, str]]:
    assert module.__file__ is not None
    found = {}
    for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
        if isinstance(node, ast.ImportFrom):
            room = importlib.util.resolve_name("." * node.level + (node.module or ""), module.__package__)
            found |= {alias.asname or alias.name: (room, alias.name) for alias in node.names}
    return found


def names_in(annotation: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(annotation)) if isinstance(node, ast.Name)}


# ---------------------------------------------------------------- text


def _class(kind: type, bases: str, lines: list[str]) -> str:
    doc = f'"""{inspect.getdoc(kind)}"""\n'
    return f"class {kind.__name__}{bases}:\n" + textwrap.indent("\n".join([doc, *lines]), "    ") + "\n"


def _property(name: str, answer: str, doc: str | None) -> str:
    return "@property\n" + _with_doc(f"def {name}(self) -> {answer}:", doc)


def _with_doc(line: str, doc: str | None) -> str:
    return f"{line} ..." if doc is None else f"{line}\n" + textwrap.indent(f'"""{inspect.cleandoc(doc)}"""', "    ")


def _default(value: Any) -> str:
    return repr(value) if value is None or isinstance(value, bool | int | float | str) else "..."


if __name__ == "__main__":
    main()
