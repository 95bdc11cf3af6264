"""What a mutant changes: each operator names a node's replacements, or what of it is left out.

A replacement is an expression that takes the node's place; a cut is a part of the node that goes
with its comma; a removed statement leaves ``pass``.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
}
UNNOTICED = {"check", "encoding", "frozen", "strict"}
"""Keywords that say what Python does here anyway, or that only a mistake elsewhere would show."""

Placed = ast.expr | ast.stmt | ast.keyword
"""The nodes that have a place in the file."""


class Change(NamedTuple):
    """One change: ``node`` becomes ``new``; where that is None, it is cut out with its comma."""

    operator: str
    node: Placed
    new: ast.AST | None


def changes(node: ast.AST) -> Iterator[Change]:
    """Yield what can be changed in a node itself, its children left as they are."""
    match node:
        case ast.Compare(ops=[one], left=left, comparators=comparators):
            other = COMPARISONS[type(one)]()
            yield Change("comparison", node, ast.Compare(left, [other], comparators))
        case ast.BoolOp(op=one, values=values):
            swapped = ast.Or() if isinstance(one, ast.And) else ast.And()
            yield Change("and, or", node, ast.BoolOp(swapped, values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield Change("not", node, operand)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield Change("sign", node, operand)
        case ast.BinOp(op=one, left=left, right=right) if type(one) in ARITHMETIC:
            if not (_is_text(left) or _is_text(right)):
                yield Change("arithmetic", node, ast.BinOp(left, ARITHMETIC[type(one)](), right))
        case ast.BinOp(op=ast.BitOr(), left=left):
            yield Change("one side of |", node, left)
        case ast.AugAssign(op=one, target=target, value=value) if type(one) in ARITHMETIC:
            other_way = ast.AugAssign(target, ARITHMETIC[type(one)](), value)
            yield Change("arithmetic", node, other_way)
        case ast.Constant(value=value):
            yield from (Change("constant", node, ast.Constant(new)) for new in _others(value))
        case ast.Call(keywords=keywords):
            for keyword in keywords:
                if keyword.arg is not None and keyword.arg not in UNNOTICED:
                    yield Change("keyword dropped", keyword, None)
        case ast.Break():
            yield Change("break, continue", node, ast.Continue())
        case ast.Continue():
            yield Change("break, continue", node, ast.Break())
        case ast.Expr() | ast.Raise():
            yield Change("statement removed", node, ast.Pass())
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Delete():
            yield Change("statement removed", node, ast.Pass())
        case ast.Return(value=value) if value is not None and not _is_falsy(value):
            yield Change("return None", value, ast.Constant(None))
    yield from _conditions(node)
    yield from _elements(node)


def _conditions(node: ast.AST) -> Iterator[Change]:
    """Yield conditions turned round, where they have no operator that is changed itself."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            tests = [test]
        case ast.comprehension(ifs=tests):
            pass
        case _:
            return
    for test in tests:
        # A mutation of its comparison, or of its `not`, is the same one.
        has_own = isinstance(test, ast.UnaryOp) or (
            isinstance(test, ast.Compare) and len(test.ops) == 1
        )
        if not has_own and not isinstance(test, ast.Constant):
            yield Change("condition", test, ast.UnaryOp(ast.Not(), test))


def _elements(node: ast.AST) -> Iterator[Change]:
    """Yield loops that run over nothing, and collections that lack one element."""
    match node:
        case ast.For(iter=values) if not isinstance(values, ast.Tuple):
            yield Change("loop over nothing", values, ast.Tuple([], ast.Load()))
        case ast.List(elts=elements) | ast.Set(elts=elements):
            yield from (Change("element dropped", element, None) for element in elements)
        case ast.Tuple(elts=elements, ctx=ast.Load()) if len(elements) > 2:
            yield from (Change("element dropped", element, None) for element in elements)
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                if key is not None:
                    yield Change("element dropped", _pair(key, value), None)


def _pair(key: ast.expr, value: ast.expr) -> ast.expr:
    """Return a node that stands where an entry of a dictionary stands."""
    pair = ast.Tuple([key, value], ast.Load())
    pair.lineno, pair.col_offset = key.lineno, key.col_offset
    pair.end_lineno, pair.end_col_offset = value.end_lineno, value.end_col_offset
    return pair


def _others(value: object) -> list[str | int | float]:
    """Return the constants that may stand in the place of this one."""
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [value + 1, value - 1]
        case str() if value and not any(character.isspace() for character in value):
            return [""]
        case "":
            return ["mutant"]
    return []


def _is_text(node: ast.expr) -> bool:
    """Tell whether arithmetic with the node can only be about text or collections."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp)


def _is_falsy(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return not node.value
    return isinstance(node, ast.List | ast.Tuple | ast.Dict) and ast.unparse(node) in "()[]{}"
