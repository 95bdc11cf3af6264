"""All mutants of a source file, without those that the syntax tree shows to be the same program."""

from __future__ import annotations

import ast
import difflib
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.mutants.operators import UNNOTICED, Change, Placed, changes

if TYPE_CHECKING:
    from collections.abc import Iterator

LEFT = {"description", "timeout"} | UNNOTICED
"""Keywords whose value is left as it is: text for readers, how long something takes, and those."""
DURATION = re.compile(r"[A-Z_]*(SECONDS|TIMEOUT)")
"""Constants for how long something takes: a second more or less is not another behaviour."""
STANDS_ALONE = (ast.stmt, ast.Constant, ast.Name, ast.JoinedStr, ast.Tuple)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Mutant:
    """One change of one source file."""

    path: str
    line: int
    lines: range
    """The lines of the statement that is changed; of its head, where it has a body."""
    operator: str
    name: str
    """Where it is and what it changes, without line numbers: the same when lines come before it."""
    span: tuple[int, int]
    """The bytes that go."""
    new: str
    """What stands there instead."""

    def applied(self, text: str) -> str:
        """Return the file with the change, and every other character as it was."""
        data = text.encode()
        start, end = self.span
        return (data[:start] + self.new.encode() + data[end:]).decode()

    def is_another_program(self, text: str) -> bool:
        """Tell whether the changed file can be compiled, to something else than the file."""
        try:
            return ast.dump(ast.parse(self.applied(text))) != ast.dump(ast.parse(text))
        except SyntaxError:
            return False

    def diff(self, text: str) -> str:
        """Return the change as a unified diff."""
        lines = difflib.unified_diff(
            text.splitlines(),
            self.applied(text).splitlines(),
            f"a/{self.path}",
            f"b/{self.path}",
            lineterm="",
            n=1,
        )
        return "\n".join(lines)


def mutants(path: str, text: str) -> list[Mutant]:
    """Return all mutants of a source file."""
    data = text.encode()
    starts = [0, *(found.end() for found in re.finditer(b"\n", data))]
    seen: Counter[str] = Counter()
    found = []
    for function, statement, change in _changes(ast.parse(text)):
        after = "" if change.new is None else ast.unparse(change.new)
        name = f"{path}{function} {change.operator}: {ast.unparse(change.node)} -> {after}"
        seen[name] += 1
        span = _span(starts, change.node)
        if change.new is None:
            span = _with_comma(data, *span)
        elif not isinstance(change.new, STANDS_ALONE):
            after = f"({after})"
        name = f"{name} ({seen[name]})"
        line, head = change.node.lineno, _head(statement)
        found.append(Mutant(path, line, head, change.operator, name, span, after))
    return found


def _changes(tree: ast.Module) -> Iterator[tuple[str, ast.stmt, Change]]:
    """Yield the changes in a file, each with its function's name and its statement."""
    for statement in tree.body:
        yield from _below(statement, "", statement)


def _below(
    node: ast.AST, function: str, statement: ast.stmt
) -> Iterator[tuple[str, ast.stmt, Change]]:
    if isinstance(node, ast.stmt):
        if _has_no_behaviour(node):
            return
        statement = node
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        function = f"{function}.{node.name}"
    if isinstance(node, ast.JoinedStr):
        yield from ((function, statement, change) for change in _in_text(node))
        return
    yield from ((function, statement, change) for change in changes(node))
    for child in _children(node):
        yield from _below(child, function, statement)


def _has_no_behaviour(statement: ast.stmt) -> bool:
    """Tell whether no test can see a change: imports, docstrings, assertions, types, durations."""
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.Expr(value=ast.Constant()):
            return True
        case ast.If(test=test):
            return "TYPE_CHECKING" in ast.unparse(test)
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name == "__all__" or DURATION.fullmatch(name) is not None
        case ast.Assign(value=ast.Call(func=ast.Name(id="TypeVar"))):
            return True
    return False


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is looked at below a node: annotations only where pydantic reads them."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield from [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            yield from [*node.decorator_list, *node.body]
        case ast.ClassDef():
            fields = (each for each in node.body if isinstance(each, ast.AnnAssign))
            for field in fields:
                yield from _constraints(field.annotation)
            yield from [*node.keywords, *node.decorator_list, *node.body]
        case ast.AnnAssign(value=value):
            yield from filter(None, [value])
        case ast.Call(func=ast.Name(id="cast"), args=[_, value]):
            yield value
        case ast.Call(func=func, args=args, keywords=keywords):
            yield func
            if not ast.unparse(func).endswith("sleep"):
                yield from args
            yield from keywords
        case ast.keyword(arg=name) if name in LEFT:
            return
        case _:
            yield from ast.iter_child_nodes(node)


def _constraints(annotation: ast.expr) -> Iterator[ast.AST]:
    """Yield the limits and the literal values in a field's type."""
    for node in ast.walk(annotation):
        match node:
            case ast.Call() | ast.Subscript(value=ast.Name(id="Literal")):
                yield node


def _in_text(text: ast.JoinedStr) -> Iterator[Change]:
    """Yield the changes of the values in an f-string, each as a change of the whole text.

    Before Python 3.12, what is inside has no place of its own in the file.
    """
    values = (part.value for part in text.values if isinstance(part, ast.FormattedValue))
    for value in values:
        for _, _, change in _below(value, "", ast.Pass()):
            if change.new is None or isinstance(change.node, ast.JoinedStr):
                continue
            _Swap(change.node, change.new).visit(text)
            whole = ast.unparse(text)
            _Swap(change.new, change.node).visit(text)
            yield Change(change.operator, text, ast.parse(whole, mode="eval").body)


class _Swap(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else super().generic_visit(node)


def _head(statement: ast.stmt) -> range:
    """Return a statement's lines without those of its body."""
    last = statement.end_lineno or statement.lineno
    body = getattr(statement, "body", None)
    if body:
        last = max(statement.lineno, body[0].lineno - 1)
    return range(statement.lineno, last + 1)


def _span(starts: list[int], node: Placed) -> tuple[int, int]:
    """Return where a node stands, in bytes, by where each line starts."""
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    start = starts[node.lineno - 1] + node.col_offset
    return start, starts[node.end_lineno - 1] + node.end_col_offset


def _with_comma(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return what is cut out with an argument or element: its comma behind it, or before it."""
    behind = re.match(rb"\s*,", data[end:])
    if behind:
        return start, end + behind.end()
    before = re.search(rb",\s*\Z", data[:start])
    return (before.start() if before else start), end
