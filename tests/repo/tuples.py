"""Who reads a tuple by a number: found from the annotations, without running a type checker.

A type is what an annotation says, as its syntax; an expression may have several, or none that is known. A row, a record
and a NamedTuple are tuples whose places mean something; `tuple[str, ...]` is a list of things.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

Types = list[ast.expr]

_ROW = ast.parse("tuple[Any, ...]", mode="eval").body
_ROWS = ast.parse("list[tuple[Any, ...]]", mode="eval").body
_MATCH = ast.Name("Match")
_MATCHES = ast.parse("list[Match]", mode="eval").body
_READ = {"one": _ROW, "fetchone": _ROW, "all": _ROWS, "all_values": _ROWS, "query": _ROWS, "fetchall": _ROWS}
_READ |= {"execute": _ROWS, "rows": _ROWS, "get_description": _ROWS, "groups": _ROW, "guess_type": _ROW}
_READ |= {"partition": _ROW, "rpartition": _ROW} | dict.fromkeys(("match", "fullmatch", "search"), _MATCH)
_READ["finditer"] = _MATCHES
_ONE_OF = {"next", "min", "max", "get", "pop", "popleft"}
_SAME = {"list", "sorted", "reversed", "tuple", "iter", "filter", "set", "copy", "islice"}
_MAPS = {"dict", "Mapping", "defaultdict", "OrderedDict"}
_PLAIN = {name for kind in (str, bytes, list, dict, set) for name in vars(kind)}  # methods that everything has
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class House:
    """What the files, by their names, say of theirs: aliases, NamedTuples, and what functions and attributes are."""

    def __init__(self, sources: Iterable[tuple[str, str]]) -> None:
        self.records: set[str] = set()
        self.aliases: dict[str, ast.expr] = {}
        self._answers: dict[tuple[str, str], Types] = {}
        self._attributes: dict[tuple[str, str], Types] = {}
        self._known: dict[ast.expr, bool] = {}
        for module, source in sources:
            for node in ast.walk(ast.parse(source)):
                self._learn(module, node)

    def _learn(self, module: str, node: ast.AST) -> None:
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "NamedTuple" for base in node.bases):
            self.records.add(node.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            is_value = any(ast.unparse(each).endswith("property") for each in node.decorator_list)
            _note(self._attributes if is_value else self._answers, module, node.name, node.returns)
        elif isinstance(node, ast.AnnAssign):
            name = node.target.attr if isinstance(node.target, ast.Attribute) else ast.unparse(node.target)
            _note(self._attributes, module, name, node.annotation)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_type(node.value):
            self.aliases[node.targets[0].id] = node.value

    def answer(self, module: str, name: str) -> Types:
        """What a function of a file answers; of any file, without one."""
        return self._agreed(self._answers.get((module, name), []))

    def attribute(self, module: str, name: str) -> Types:
        """What an attribute is in this file or, failing that, in any."""
        return self._agreed(self._attributes.get((module, name)) or self._attributes.get(("", name), []))

    def _agreed(self, types: Types) -> Types:
        """Functions or attributes of one name may be many: they are records if all are."""
        are = [any(map(self.is_record, self.parts(each))) for each in types]
        return types if all(are) or not any(are) else []

    def parts(self, given: ast.expr) -> Iterator[ast.expr]:
        """The alternatives of `A | None`, and what aliases stand for."""
        if isinstance(given, ast.BinOp):
            yield from self.parts(given.left)
            yield from self.parts(given.right)
        elif isinstance(given, ast.Name) and given.id in self.aliases:
            yield from self.parts(self.aliases[given.id])
        else:
            yield given

    def is_record(self, given: ast.expr) -> bool:
        """A tuple whose places mean something."""
        if given not in self._known:
            self._known[given] = self._is_record(given)
        return self._known[given]

    def _is_record(self, given: ast.expr) -> bool:
        if isinstance(given, ast.Subscript) and ast.unparse(given.value) == "tuple":
            inside = given.slice.elts if isinstance(given.slice, ast.Tuple) else [given.slice]
            return ast.unparse(inside[-1]) != "..." or ast.unparse(inside[0]) == "Any"
        return ast.unparse(given).rpartition(".")[2] in self.records

    def inside(self, types: Types) -> Types:
        """What going through it, or a place or a key of it, answers."""
        found = [part for each in types for part in self.parts(each) if isinstance(part, ast.Subscript)]
        return [self._value(each) for each in found if not self.is_record(each)]

    def _value(self, given: ast.Subscript) -> ast.expr:
        held = given.slice.elts if isinstance(given.slice, ast.Tuple) else [given.slice]
        is_map = ast.unparse(given.value) in _MAPS
        return held[-1] if is_map else held[0]


def _note(known: dict[tuple[str, str], Types], module: str, name: str, told: ast.expr) -> None:
    for where in (module, ""):
        known.setdefault((where, name), []).append(told)


def _is_type(value: ast.expr) -> bool:
    return isinstance(value, ast.Subscript | ast.BinOp) and ast.unparse(value).startswith(("tuple[", "list[", "dict["))


class Scope:
    """The names of one function, and the places in it where a tuple is read by a number."""

    def __init__(self, house: House, module: str, function: Function, outer: dict[str, Types]) -> None:
        self._house = house
        self._module = module
        self._names = dict(outer)
        given = function.args
        for arg in [*given.posonlyargs, *given.args, *given.kwonlyargs]:
            self._names[arg.arg] = [arg.annotation] if arg.annotation else outer.get(arg.arg, [])
        own = list(_own(function))
        for _ in range(2):  # a name of a name
            for node in own:
                self._bind_all(node)
        self._own = own

    def found(self) -> Iterator[ast.Subscript]:
        for node in self._own:
            if isinstance(node, ast.Subscript) and _is_number(node.slice):
                types = [part for each in self.of(node.value) for part in self._house.parts(each)]
                if any(map(self._house.is_record, types)) or (any(map(_is_match, types)) and not _is_whole(node)):
                    yield node
            elif isinstance(node, Function):
                yield from Scope(self._house, self._module, node, self._names).found()

    def _bind_all(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            self._bind(node.targets[0], self.of(node.value))
        elif isinstance(node, ast.AnnAssign):
            self._bind(node.target, [node.annotation])
        elif isinstance(node, ast.NamedExpr):
            self._bind(node.target, self.of(node.value))
        elif isinstance(node, ast.For | ast.comprehension):
            self._bind(node.target, self._house.inside(self.of(node.iter)))
        elif isinstance(node, ast.Call) and node.args:
            for given in (each.value for each in node.keywords if each.arg == "key"):
                self._bind(_parameter(given), self._house.inside(self.of(node.args[0])))
            if isinstance(node.func, ast.Attribute) and node.func.attr == "sub":
                self._bind(_parameter(node.args[0]), [_MATCH])

    def _bind(self, target: ast.expr, types: Types) -> None:
        if isinstance(target, ast.Name) and types:
            self._names[target.id] = types
        elif isinstance(target, ast.Tuple | ast.List):
            for each in types:
                for part in self._house.parts(each):
                    held = part.slice if isinstance(part, ast.Subscript) else None
                    if isinstance(held, ast.Tuple) and len(held.elts) == len(target.elts):
                        for name, kind in zip(target.elts, held.elts, strict=True):
                            self._bind(name, [kind])

    def of(self, node: ast.expr) -> Types:
        """What an expression may be."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id, [])
        if isinstance(node, ast.Attribute):
            return self._house.attribute(self._module, node.attr)
        if isinstance(node, ast.Call):
            return self._answer(node)
        if isinstance(node, ast.BoolOp):
            return [each for value in node.values for each in self.of(value)]
        if isinstance(node, ast.IfExp):
            return [*self.of(node.body), *self.of(node.orelse)]
        if isinstance(node, ast.NamedExpr | ast.Await):
            return self.of(node.value)
        if isinstance(node, ast.Tuple):
            return [_ROW]
        if isinstance(node, ast.Subscript):
            types = self.of(node.value)
            return types if isinstance(node.slice, ast.Slice) else self._house.inside(types)
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
            return [_list_of(each) for each in self.of(node.elt)]
        return []

    def _answer(self, call: ast.Call) -> Types:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
        module = owner.id if isinstance(owner, ast.Name) and owner.id != "self" else self._module
        told = self._house.answer(module, name) if owner is None or isinstance(owner, ast.Name) else []
        if told or name in _READ:
            return told or [_READ[name]]
        of = self.of(owner) if owner is not None else []
        given = of or (self.of(call.args[0]) if call.args else [])
        if name in _ONE_OF:
            return self._house.inside(given)
        if name in _SAME:
            return given
        if name == "values":
            return [_list_of(each) for each in self._house.inside(of)]
        if name in self._house.records:
            return [ast.Name(name)]
        return [] if name in _PLAIN else self._house.answer("", name)


def _own(function: Function) -> Iterator[ast.AST]:
    """What is in a function, the functions in it as they are."""
    waiting = [*ast.iter_child_nodes(function)][::-1]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function):
            waiting += [*ast.iter_child_nodes(node)][::-1]


def _parameter(function: ast.expr) -> ast.expr:
    """The name of what a `lambda` is given."""
    return ast.Name(function.args.args[0].arg) if isinstance(function, ast.Lambda) else function


def _is_match(given: ast.expr) -> bool:
    return ast.unparse(given).removeprefix("re.").startswith("Match")


def _is_whole(node: ast.Subscript) -> bool:
    """All that a pattern matched, which has no name."""
    return isinstance(node.slice, ast.Constant) and node.slice.value == 0


def _is_number(index: ast.expr) -> bool:
    value = index.operand if isinstance(index, ast.UnaryOp) else index
    return isinstance(value, ast.Constant) and type(value.value) is int


def _list_of(given: ast.expr) -> ast.expr:
    return ast.Subscript(ast.Name("list"), given)


def counted(source: str, house: House | None = None, module: str = "here") -> list[str]:
    """The places where a column or a field is read by its number."""
    house = house or House([(module, source)])
    scopes = (Scope(house, module, each, {}) for each in _functions(ast.parse(source)))
    return sorted({ast.unparse(node) for each in scopes for node in each.found()})


def _functions(node: ast.AST) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield child
        else:
            yield from _functions(child)
