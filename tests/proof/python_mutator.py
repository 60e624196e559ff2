"""Mutants of Python: one change in the body of one function, as the abstract syntax tree of the whole module.

Changed are operators, comparisons, conditions, numbers, words, arguments by name, and results; calls, `raise` and
`break` are left out.  Not changed are texts for people (with a space, or part of an f-string), messages of exceptions,
and what runs once when a module is imported: its tests cannot import it again.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.proof.mutator import Mutant

BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {  # at the border, and everywhere else
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Step = tuple[str, int | None]  # a field of a node, and the place in it if it is a list


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What may become of a node."""
    match node:
        case ast.BinOp(op=operator) if type(operator) in BINARY and not _is_text(node):
            yield _with(node, op=BINARY[type(operator)]())
        case ast.AugAssign(op=operator):
            if type(operator) in BINARY:
                yield _with(node, op=BINARY[type(operator)]())
        case ast.Compare(ops=operators):
            for place, operator in enumerate(operators):
                for other in COMPARED[type(operator)]:
                    yield _with(node, ops=[*operators[:place], other(), *operators[place + 1 :]])
        case ast.BoolOp(op=operator):
            yield _with(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if isinstance(
            test, ast.Name | ast.Call | ast.Attribute | ast.Subscript | ast.NamedExpr
        ):
            yield _with(node, test=ast.UnaryOp(ast.Not(), test))
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float() as value):
            yield ast.Constant(value * 1.1 if value else 1.0)
        case ast.Constant(value=str() | bytes() as value):
            if len(value.split()) == 1 and value == value.strip():  # no text for people
                yield ast.Constant(value + ("X" if isinstance(value, str) else b"X"))
        case ast.Call(keywords=keywords):
            for place, keyword in enumerate(keywords):
                if keyword.arg and keyword.arg != "strict":
                    yield _with(node, keywords=[*keywords[:place], *keywords[place + 1 :]])
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield _with(node, value=ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Delete():
            yield ast.Pass()
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Pass()


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in sides
    )


def _children(node: ast.AST) -> Iterator[tuple[Step, ast.AST]]:
    """The nodes below that may change."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "args") and not isinstance(node, ast.Call):
            continue  # a function's own arguments: their defaults are made with the function
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.MatchValue):
            continue
        # `strict` of zip asserts what is true; of the kind of a sort NumPy reads the first letter only.
        if isinstance(node, ast.keyword) and node.arg in ("strict", "kind"):
            continue
        for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not (
                isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            ):
                yield (name, place), child


def _functions(
    tree: ast.AST, path: tuple[Step, ...] = (), names: str = ""
) -> Iterator[tuple[str, tuple[Step, ...], ast.AST]]:
    """Functions and methods, but not those within functions: these are parts of them."""
    for name in ("body", "orelse", "handlers"):
        for place, child in enumerate(getattr(tree, name, [])):
            here = (*path, (name, place))
            if isinstance(child, FUNCTIONS):
                yield names + child.name, here, child
            elif not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
                yield from _functions(
                    child, here, names + (f"{child.name}." if isinstance(child, ast.ClassDef) else "")
                )


def _found(
    node: ast.AST, path: tuple[Step, ...], statement: ast.stmt
) -> Iterator[tuple[tuple[Step, ...], ast.stmt, ast.AST, ast.AST]]:
    if isinstance(node, ast.stmt):
        statement = node
    for changed in changes(node):
        yield path, statement, node, changed
    for step, child in _children(node):
        yield from _found(child, (*path, step), statement)


def _head(node: ast.AST) -> str:
    """A node in a line: of a statement with a block, its head."""
    return ast.unparse(node).partition("\n")[0]


def _mutations(tree: ast.Module, module: str) -> Iterator[tuple[Mutant, tuple[Step, ...], ast.AST, tuple[int, int]]]:
    count, seen = 0, Counter[tuple[str, str, str]]()
    for name, where, function in _functions(tree):
        for place, child in enumerate(function.body):
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue
            for path, statement, before, after in _found(child, (*where, ("body", place)), child):
                after = ast.copy_location(after, before)
                change = f"{_head(before)} -> {_head(ast.fix_missing_locations(after))}"
                rule = f"{module}.{name}"
                seen[rule, _head(statement), change] += 1
                again = seen[rule, _head(statement), change]
                count += 1
                mutant = Mutant(
                    count,
                    rule,
                    f"{module.replace('.', '/')}.py:{before.lineno}",
                    _head(statement),
                    change + (f" #{again}" if again > 1 else ""),
                )
                last = before.end_lineno if isinstance(before, ast.expr) else before.lineno
                yield mutant, path, after, (before.lineno, last or before.lineno)


def mutants_of(source: str, module: str) -> list[tuple[Mutant, tuple[int, int]]]:
    """All mutants of a module, each with the lines of which one must run for a test to notice it."""
    return [(mutant, lines) for mutant, _, _, lines in _mutations(ast.parse(source), module)]


def mutated(source: str, module: str, number: int) -> ast.Module:
    """The module with one of them."""
    tree = ast.parse(source)
    path, after = next((path, after) for mutant, path, after, _ in _mutations(tree, module) if mutant.number == number)
    nodes: list[ast.AST] = [tree]
    for name, place in path:
        child = getattr(nodes[-1], name)
        nodes.append(child if place is None else child[place])
    before = nodes.pop()
    name, place = path[-1]
    if place is None:
        setattr(nodes[-1], name, after)
    else:
        getattr(nodes[-1], name)[place] = after
    function = next(node for node in reversed(nodes) if isinstance(node, FUNCTIONS))
    function.body.append(_never_run(before))
    return ast.fix_missing_locations(tree)


def _never_run(before: ast.AST) -> ast.stmt:
    """What was there, where it does nothing: a function must go on to share the variables that it shared."""
    if isinstance(before, ast.If | ast.While):
        before = before.test
    statement = before if isinstance(before, ast.stmt) else ast.Expr(before)
    loop = ast.While(ast.Constant(False), [statement], [])  # `break` may stand in it
    return ast.copy_location(loop, before)


def module_of(path: Path, root: Path) -> str:
    """cwlearn/core/rows.py is core.rows."""
    return ".".join(path.relative_to(root / "cwlearn").with_suffix("").parts)
