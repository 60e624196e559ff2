"""Mutants of formulas: found in the source and written into a copy of it, which a number chooses from.

There is no such tool for Cython.  But without types, casts and addresses its statements are Python: a formula is parsed
as Python, every operator and constant becomes a call with the number of its mutant, and the result is Cython again.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path

# Functions whose arithmetic is mutated, and the targets of the assignments that are formulas; an empty tuple is all
# statements, None is all functions.
FORMULAS: dict[str, dict[str, tuple[str, ...]] | None] = {
    "cwlearn/_rules.pxd": None,
    "cwlearn/_cells.pxd": dict.fromkeys(
        (
            "add_gradients",
            "centre_of",
            "change_of_mean",
            "entry",
            "length_of",
            "margin_of_weights",
            "weighing_of",
            "weight_of",
            "margin_of",
            "variance_of",
            "shift_of",
            "fill_shares",
            "step_of",
            "is_sound",
            "moved",
        ),
        (),
    ),
    "cwlearn/_exact_labels.pxi": None,
    "cwlearn/_parallel_labels.pxi": {
        "average_steps": ("", "alpha", "change[p]", "ratio[p]", "mean[p]", "variance[p]"),  # "": conditions
        "move_to_average": (),
    },
    "cwlearn/_label_scores.pxi": {
        "score_labels": ("scores[z]", "square", "variances[z]"),
        "score_by_gradients": ("scores[z]",),
    },
    "cwlearn/_label_row.pxi": {
        "outranks": (),
        "add_block_to_average": ("average[at.cell[p] // 2 + label]",),
        **dict.fromkeys(("find_steps", "find_exact_steps", "move_rivals", "learn_labels"), ()),
    },
    "cwlearn/_averages.pxd": {"add_to_average": ("average[0]", "average[j + 1]")},
    "cwlearn/_kernels.pyx": {
        "learn_row": (),
        "learn_in_order": ("square", "scale", "C", "statistics.loss", "statistics.surprise", "statistics.squares"),
    },
    **dict.fromkeys(
        ("cwlearn/core/rule.py", "cwlearn/core/rules.py"),
        dict.fromkeys(
            ("kernel_fields", "prior_variance", "probability", "score", "score_variance", "second_order", "strength"),
            (),
        ),
    ),
}
BINARY = {  # name, operator, and what becomes of it
    ast.Add: ("add", "+", "-", ast.Sub()),
    ast.Sub: ("sub", "-", "+", ast.Add()),
    ast.Mult: ("mul", "*", "/", ast.Div()),
    ast.Div: ("div", "/", "*", ast.Mult()),
}
COMPARED = {  # at the border, and everywhere else
    ast.Lt: ("lt", "<", "<=", ">"),
    ast.LtE: ("le", "<=", "<", ">"),
    ast.Gt: ("gt", ">", ">=", "<"),
    ast.GtE: ("ge", ">=", ">", "<"),
    ast.Eq: ("eq", "==", "!="),
    ast.NotEq: ("ne", "!=", "=="),
}
SWAPPED = {"larger": "smaller", "smaller": "larger"}  # wherever they are called
# Functions whose arguments are places or counts.
COUNTS = ("rival_row", "move_to_average", "average_steps", "exact_step", "change_of_mean")
CHOICE = re.compile(r"\b(?!INFINITY)[A-Z][A-Z_0-9]+\b")  # a choice between rules or modes, not a formula


@dataclass(frozen=True)
class Mutant:
    number: int
    rule: str  # the function; in a branch of `rule_step`, the kind
    place: str
    statement: str
    change: str

    def __str__(self) -> str:
        return f"{self.number:4} {self.place:20} {self.rule}: `{self.statement}`: {self.change}"


class Mutator(ast.NodeTransformer):
    """Replaces the arithmetic of a statement by calls, from outside to inside."""

    def __init__(self, found: list[Mutant], rule: str, place: str, statement: str):
        self.found, self.rule, self.place, self.statement = found, rule, place, statement

    def new(self, before: ast.expr, after: str) -> ast.Constant:
        """The number of one more mutant."""
        change = f"{spelled(ast.unparse(before))} -> {spelled(after)}"
        alike = (self.rule, self.statement, change)
        again = sum((each.rule, each.statement, each.change.partition(" #")[0]) == alike for each in self.found)
        change += f" #{again + 1}" if again else ""
        self.found.append(Mutant(len(self.found) + 1, self.rule, self.place, self.statement, change))
        return ast.Constant(len(self.found))

    def call(self, name: str, before: ast.expr, afters: list[str], *operands: ast.expr) -> ast.Call:
        """A call with the number of its first mutant; others have the following numbers."""
        first, *_ = [self.new(before, after) for after in afters]
        return ast.Call(ast.Name(f"mutant_{name}"), [first, *operands], [])

    def binary(self, operator: ast.operator, left: ast.expr, right: ast.expr) -> ast.expr:
        name, _, _, there = BINARY[type(operator)]
        node = self.call(
            name, ast.BinOp(left, operator, right), [ast.unparse(ast.BinOp(left, there, right))], left, right
        )
        node.args[1:] = [self.visit(operand) for operand in (left, right)]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return self.binary(node.op, node.left, node.right) if type(node.op) in BINARY else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        target = ast.parse(ast.unparse(node.target), mode="eval").body
        return ast.copy_location(ast.Assign([node.target], self.binary(node.op, target, node.value)), node)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if any(type(operator) not in COMPARED for operator in node.ops) or CHOICE.search(ast.unparse(node)):
            return node
        operands = [node.left, *node.comparators]
        parts = []
        for operator, left, right in zip(node.ops, operands, operands[1:], strict=False):
            name, _, *there = COMPARED[type(operator)]
            one, other = ast.unparse(left), ast.unparse(right)
            whole = ast.Compare(left, [operator], [right])
            part = self.call(name, whole, [f"{one} {sign} {other}" for sign in there], left, right)
            part.args[1:] = [self.visit(ast.parse(text, mode="eval").body) for text in (one, other)]
            parts.append(part)
        return parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if not isinstance(node.op, ast.USub):
            return self.generic_visit(node)
        negated = self.call("neg", node, [ast.unparse(node.operand)], node.operand)
        negated.args[1:] = [self.visit(node.operand)]
        return negated

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if type(node.value) not in (int, float):
            return node
        return self.call("const", node, [f"{node.value * 1.1:.3g}" if node.value else "1"], node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = ast.unparse(node.func)
        if name in COUNTS:
            node.args = [self.visit(each) if isinstance(each, ast.UnaryOp) else each for each in node.args]
            return node
        if name not in SWAPPED:
            return self.generic_visit(node)
        swapped = self.call(name, node, [ast.unparse(ast.Call(ast.Name(SWAPPED[name]), node.args, []))], *node.args)
        swapped.args[1:] = [self.visit(operand) for operand in node.args]
        return swapped

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return node  # an index is no formula


def plain(text: str) -> str:
    """Cython's casts and addresses as calls and names of Python."""
    return re.sub(
        r"& (\w)",
        r"ref_\1",
        re.sub(r"< (\w+) > (\w+(?: \. \w+)*)", r"cast_\1(\2)", re.sub(r"< const (\w+) \* > ", "", text)),
    )


def spelled(text: str) -> str:
    """And back."""
    return re.sub(r"\bref_(\w)", r"&\1", re.sub(r"cast_(\w+)\(([\w.]+)\)", r"<\1> \2", text))


def declared(text: str) -> list[str]:
    """The variables of a declaration, each with its value."""
    parts, open_brackets = [""], 0
    for word in text.split():
        open_brackets += word.count("(") - word.count(")")
        if word == "," and not open_brackets:
            parts.append("")
        else:
            parts[-1] += f" {word}"
    return [part.strip() for part in parts]


def changed(text: str, mutator: Mutator, targets: tuple[str, ...]) -> str:
    """A statement with all its mutants; unchanged if it is not a formula."""
    if re.match(r"cdef double \w", text):
        parts = declared(text.removeprefix("cdef double "))
        return "cdef double " + ", ".join(changed(part, mutator, targets) for part in parts)
    if re.match(r"(cdef|for|else|with|try|finally|break|continue|pass|from|import|raise)\b|[\"']", text):
        return text
    head = match.group() if (match := re.match(r"(if|elif|while|return) ", text)) else ""
    tail = ":" if text.endswith(":") else ""
    tree = ast.parse(plain(text.removeprefix(head).removesuffix(tail)).strip())
    statement = tree.body[0]
    assigned = getattr(statement, "targets", [getattr(statement, "target", ast.Name(""))])
    if targets and not {ast.unparse(each) for each in assigned} & set(targets):
        return text
    tree.body[0] = mutator.visit(statement)
    return spelled(head + ast.unparse(ast.fix_missing_locations(tree)) + tail)


def rewritten(path: str, source: str, found: list[Mutant]) -> str:
    """A file with all its mutants, which are added to those found."""
    lines = source.splitlines()
    wanted = FORMULAS[path]
    function, cls, branch, depth = "", "", "", 0
    tokens: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            continue
        if token.type != tokenize.NEWLINE:
            tokens.append(token)
            continue
        (top, indent), bottom = tokens[0].start, tokens[-1].end[0]
        text, tokens = " ".join(each.string for each in tokens), []
        if function and indent <= depth:
            function = ""
        if match := re.match(r"class (\w+)", text):
            cls = match.group(1) + "."
        if match := re.match(r"(?:cdef|def) [^=(]*?(\w+) \(.*:$", text):
            function, depth, branch = match.group(1), indent, ""
            continue
        if not function or function in SWAPPED or (wanted is not None and function not in wanted):
            continue
        if function == "rule_step":
            match = re.match(r"if kind == (\w+)", text)
            branch = match.group(1).lower() if match else branch if indent > 4 else "logistic_sgd"
        shown = " ".join("".join(lines[top - 1 : bottom]).partition("  #")[0].split())
        mutator = Mutator(found, branch or cls + function, f"{path.removeprefix('cwlearn/')}:{top}", shown)
        before = len(found)
        new = changed(text, mutator, wanted[function] if wanted else ())
        if len(found) > before:
            lines[top - 1 : bottom] = [" " * indent + new] + [""] * (bottom - top)
    return "\n".join(lines) + "\n"


def mutants_of(root: Path) -> list[Mutant]:
    found: list[Mutant] = []
    for path in FORMULAS:
        rewritten(path, (root / path).read_text(), found)
    return found


def mutate(root: Path) -> None:
    """Write all mutants into a copy of the project, and the operators that choose between them."""
    found: list[Mutant] = []
    for path in FORMULAS:
        python = path.endswith(".py")
        verb = "from cwlearn.mutant_operators import" if python else "from cwlearn._mutant_operators cimport"
        text = rewritten(path, (root / path).read_text(), found)
        if not path.endswith(".pxi"):  # these are included where the operators are known
            first = re.search(r"^from (?!__future__)", text, re.MULTILINE).start()
            text = f"{text[:first]}{verb} *\n{text[first:]}"
        (root / path).write_text(text)
    (root / "cwlearn/_mutant_operators.pxd").write_text(_native_operators())
    (root / "cwlearn/mutant_operators.py").write_text(_python_operators())


def _operators() -> list[tuple[str, str, str, list[str]]]:
    """Of each: its name, what it returns, what it is, and what it is as a mutant."""
    listed = [(name, "double", f"a {here} b", [f"a {there} b"]) for name, here, there, _ in BINARY.values()]
    listed += [(name, "int", f"a {here} b", [f"a {t} b" for t in there]) for name, here, *there in COMPARED.values()]
    return listed


def _native_operators() -> str:
    lines = ["cdef extern from *:", '    """', "    #include <stdlib.h>"]
    lines.append("    static int cwlearn_mutant(void) { static int n = -1; if (n < 0) { const char *text = ")
    lines[-1] += 'getenv("CWLEARN_MUTANT"); n = text ? atoi(text) : 0; } return n; }'
    head = "    static inline {} mutant_{}(int n, double a{}) {{ int k = cwlearn_mutant() - n; return {}; }}"
    choose = [(*each, ", double b") for each in _operators()]
    choose += [("neg", "double", "-a", ["a"], ""), ("const", "double", "a", ["a == 0 ? 1 : a * 1.1"], "")]
    choose += [("larger", "double", "a > b ? a : b", ["a < b ? a : b"], ", double b")]
    choose += [("smaller", "double", "a < b ? a : b", ["a > b ? a : b"], ", double b")]
    for name, kind, value, others, more in choose:
        chosen = "".join(f"k == {k} ? ({other}) : " for k, other in enumerate(others)) + f"({value})"
        lines.append(head.format(kind, name, more, chosen))
    lines.append('    """')
    for name, kind, _, _, more in choose:
        lines.append(f"    {kind} mutant_{name}(int n, double a{more}) noexcept nogil")
    return "\n".join(lines) + "\n"


def _python_operators() -> str:
    lines = ["import os"]
    choose = [*_operators(), ("neg", "", "-a", ["a"]), ("const", "", "a", ["a * 1.1 if a else 1"])]
    for name, _, value, others in choose:
        chosen = "".join(f"({other}) if k == {k} else " for k, other in enumerate(others)) + f"({value})"
        lines.append(f"def mutant_{name}(n, a, b=None):")
        lines.append(f'    k = int(os.environ.get("CWLEARN_MUTANT", 0)) - n\n    return {chosen}')
    return "\n".join(lines) + "\n"
