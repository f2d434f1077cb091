"""A template's code for one case: what is known of the case is folded into its syntax tree.

A template is ordinary Python (`template.py`). Some of its parameters, a rule's `plan` first of all,
are known before it runs: questions about them are answered, loops over them unrolled, and what is
left is the straight-line code that a person would write by hand for that case. It keeps the
template's line numbers, which a traceback or a debugger shows. In a template

    values: Named = {}          makes values["x"] a variable, x_value; the parameter's are x alone
    values.update(zip(a, b))    unpacks b, if a is known
    text: Folded = ...          stands wherever `text` is read
    own.function                is the name `function`, which the code finds by itself
    own.reverse["x"]            is the name `reverse_x`
    any(... for n in known)     is a chain of `or`, and with `all` of `and`
    f(*[... for n in known])    gives the arguments one by one
    put(formula, array)         is the expression of a lambda, of the variables that it names
    handed_on(own.function)     is a call with all parameters of the head, as they came

and a function that is `inline` stands where it is called.
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import importlib.util
import marshal
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from wengert.history import cache
from wengert.history.surroundings import unheard
from wengert.history.uncollected import parsed

if TYPE_CHECKING:
    from wengert.autograd.plan import Plan

Named: TypeAlias = dict[str, Any]
"""Values by the names of arguments; in folded code each is a local variable."""
Folded: TypeAlias = Any
"""An expression that is put in where its name is read."""

F = TypeVar("F", bound=Callable[..., Any])


def folded(
    template: Any, space: dict[str, Any], own: dict[str, Any], head: str, plan: Plan,
    others: tuple[str, ...] = (), **known: Any,
) -> Any:  # fmt: skip
    """A template for one rule, as the function `def head`; the names it finds are put into `space`.

    `own` are the rule's functions, by name; `others` parameters of the head that are no arguments
    of the rule. Rules with equal plans share what was folded, but each has a code object of its
    own, in which Python keeps what it learns of the names.
    """
    space |= {**template.__globals__, **own}
    for n in (*plan.variables.values(), *others):  # the template's own names give way
        if n in space or hasattr(builtins, n):
            space[f"{n}_"] = space.get(n, getattr(builtins, n, None))
    code = unheard(_code, template, head, plan, others, tuple(known.items()))
    return FunctionType(code.replace(), space, code.co_name)


@functools.cache
def _code(
    template: Any,
    head: str,
    plan: Plan,
    others: tuple[str, ...],
    known: tuple[tuple[str, Any], ...],
) -> CodeType:
    """The code of a function; a process before may have kept it."""
    file = template.__code__.co_filename
    asked = template.__name__, file, head, plan, others, known
    key = f"folded.{_digest(repr((_digests({__file__, file, *plan.files}), asked)).encode())}"
    data = cache.read(key)
    if data is not None:
        kept: CodeType = marshal.loads(data)
        return kept
    names = {**plan.variables, **{name: name for name in others}}
    code = _opened(template).code(head, {"plan": plan, **dict(known)}, names)
    cache.write(key, marshal.dumps(code))
    return code


def _digests(files: set[str]) -> object:
    """All that folded code depends on besides what is asked for."""
    texts = [_digest_of_file(_TEXTS[file]) for file in sorted(files)]
    return importlib.util.MAGIC_NUMBER, sys.flags.optimize, texts


def _digest(data: bytes) -> str:
    return cache.digest(data, 20).hex()


_digest_of_file = functools.cache(_digest)


def text_of(template: Any, head: str, plan: Plan, **known: Any) -> str:
    """What `folded` gives, as text."""
    definition = _opened(template).folded(head, {"plan": plan, **known}, plan.variables)
    return ast.unparse(definition)


def template(function: F) -> F:
    """A function to fold. Its file is read now: in a trace of the compiler no file is asked for."""
    _read(function.__code__.co_filename, function.__module__)
    return function


def _read(file: str, module: str) -> None:
    if file not in _TEXTS:
        loader: Any = sys.modules[module].__loader__
        _TEXTS[file] = loader.get_data(file)


_TEXTS: dict[str, bytes] = {}
_read(__file__, __name__)


def inline(function: F) -> F:
    """A function of one expression, which stands where templates call it."""
    vars(function)["inline"] = True
    return function


class Formula(NamedTuple):
    """A function of one expression, found in its file when it is put into a template."""

    file: str
    line: int
    parameters: tuple[str, ...]
    item: int | None = None  # of the tuple that it returns

    def expression(self) -> ast.expr:
        (body,) = (
            function.body if isinstance(function, ast.Lambda) else _returned(function)
            for function in _around(self.line, _parsed(self.file))
            if isinstance(function, (ast.Lambda, ast.FunctionDef))
            and function.lineno == self.line
            and tuple(a.arg for a in function.args.args) == self.parameters
        )
        if self.item is None:
            return body
        assert isinstance(body, ast.Tuple)
        return body.elts[self.item]


def formula(function: Any) -> Formula:
    """A lambda, or another function of one expression, as a formula."""
    code = template(function).__code__
    return Formula(code.co_filename, code.co_firstlineno, code.co_varnames[: code.co_argcount])


def _returned(function: ast.FunctionDef) -> ast.expr:
    (statement,) = function.body
    assert isinstance(statement, ast.Return)
    assert statement.value is not None
    return statement.value


def put(formula: Formula | None, *first: Any) -> Any:
    """A formula's value; its parameters are `first`, then variables of the names that they have."""
    raise NotImplementedError(f"only folded code has the value of {formula}")


def handed_on(function: Any) -> Any:
    """What another function returns, given the parameters of the folded one as they came."""
    raise NotImplementedError(f"only folded code has parameters to give to {function}")


class Template:
    """A function to fold. `own` names the parameter whose attributes are names of the code."""

    def __init__(self, function: FunctionType) -> None:
        self.file = function.__code__.co_filename
        definitions, self.names = _definitions(self.file)
        self.body = definitions[function.__name__].body
        self.line = definitions[function.__name__].lineno
        annotations = {a.arg: a.annotation for a in definitions[function.__name__].args.args}
        self.tables = [n for n, a in annotations.items() if getattr(a, "id", "") == "Named"]
        space = function.__globals__
        self.inline = {n: d for n, d in definitions.items() if getattr(space[n], "inline", False)}

    def code(self, head: str, known: Mapping[str, Any], names: Mapping[str, str]) -> CodeType:
        """The code of a function `def head`, for what is `known`.

        `names` are the variables that hold the arguments: parameters of the head, or not yet.
        """
        module = compile(ast.Module([self.folded(head, known, names)], []), self.file, "exec")
        return next(c for c in module.co_consts if isinstance(c, CodeType))

    def folded(
        self, head: str, known: Mapping[str, Any], names: Mapping[str, str]
    ) -> ast.FunctionDef:
        """The definition that `code` compiles."""
        (definition,) = parsed(f"def {head}: pass").body
        assert isinstance(definition, ast.FunctionDef)
        for node in ast.walk(definition):
            if hasattr(node, "lineno"):
                node.lineno = node.end_lineno = self.line  # type: ignore[attr-defined]
        definition.body = _Folder(self, known, names, definition.args).block(self.body)
        return definition


_opened = functools.cache(Template)


@functools.cache
def _definitions(file: str) -> tuple[dict[str, ast.FunctionDef], set[str]]:
    """The functions of a file, and all names in them: an argument may have one of these, too."""
    names: set[str] = set()
    definitions = {d.name: d for d in _parsed(file).body if isinstance(d, ast.FunctionDef)}
    for d in definitions.values():
        if ast.get_docstring(d) is not None:
            del d.body[0]
        _Look(d, {"put", "handed_on", "own", *definitions}, names).at(d)
    return definitions, names


@functools.cache
def _parsed(file: str) -> ast.Module:
    return parsed(_TEXTS[file])


def _around(line: int, node: ast.AST) -> Iterator[ast.AST]:
    """What stands on a line, without a look at the rest of the file."""
    for part in ast.iter_child_nodes(node):
        first = (getattr(part, "decorator_list", None) or [part])[0]
        if getattr(first, "lineno", line) <= line <= getattr(part, "end_lineno", line):
            yield part
            yield from _around(line, part)


class _Look:
    """Looks at a definition once, and notes at each node what need not be asked for each rule.

    `node.told` says that all its names may be known, `node.fixed` that it stands as it is.
    """

    def __init__(self, definition: ast.FunctionDef, special: set[str], names: set[str]) -> None:
        self.told, self.special, self.names = set(_ASKED), set(special), names
        for a in definition.args.args:
            kind = getattr(a.annotation, "id", "")
            (self.special if kind in ("Any", "Named") else self.told).add(a.arg)
        for node in ast.walk(definition):
            if isinstance(node, (ast.For, ast.comprehension)) and isinstance(node.target, ast.Name):
                self.told.add(node.target.id)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                self.special.add(node.target.id)

    def at(self, node: Any) -> tuple[bool, bool]:
        if isinstance(node, ast.Name):
            self.names.add(node.id)
            told = node.id in self.told
            fixed = not told and node.id not in self.special
        elif isinstance(node, ast.Constant):
            told, fixed = True, True
        else:
            parts = [self.at(part) for part in ast.iter_child_nodes(node)]
            told = type(node) in _VALUES and all(part[0] for part in parts)
            fixed = all(part[1] for part in parts)
            if isinstance(
                node, (ast.expr_context, ast.operator, ast.cmpop, ast.unaryop, ast.boolop)
            ):
                told = True
        node.told, node.fixed = told, fixed
        return told, fixed


_UNKNOWN = object()
_ASKED: dict[str, Any] = {"len": len, "bool": bool}
_COMPARED: dict[type, Any] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Gt: operator.gt, ast.Lt: operator.lt,
    ast.GtE: operator.ge, ast.LtE: operator.le, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip


class _Folder:
    """Goes through a template, or a function that is put into it, once."""

    def __init__(
        self,
        template: Template,
        known: Mapping[str, Any],
        names: Mapping[str, str],
        head: ast.arguments,
    ) -> None:
        self.template = template
        self.head = head
        self.known = dict(known)
        self.names = names
        self.tables = dict.fromkeys(template.tables, "")  # and what the variables end in
        self.taken = frozenset(names.values())
        self.shares = self.taken.isdisjoint(
            template.names
        )  # nodes, with other code of the template
        self.texts: dict[str, ast.expr] = {}

    # ---- statements ------------------------------------------------------------------------

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        block: list[ast.stmt] = []
        for s in statements:
            block += self.statement(s)
            if block and isinstance(block[-1], (ast.Return, ast.Raise)):
                break
        return block

    def statement(self, s: Any) -> list[ast.stmt]:
        if s.fixed and self.shares:
            return [s]
        if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name) and s.value:
            what = getattr(s.annotation, "id", "")
            if what == "Named":
                self.tables[s.target.id] = "_" + s.target.id.removesuffix("s")
                return []
            if what == "Folded":
                self.texts[s.target.id] = self.expression(s.value)
                return []
        if isinstance(s, ast.If):
            return self.choice(s)
        if isinstance(s, ast.Try):
            return [self.attempt(s)]
        if isinstance(s, ast.For):
            items = self.value(s.iter)
            if items is not _UNKNOWN:
                return [t for item in items for t in self.turn(s, item)]
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call):
            unpacked = self.unpacking(s.value)
            if unpacked is not None:
                return unpacked
        statement = self.rebuilt(s)
        return [] if _says_nothing(statement) else [statement]

    def choice(self, s: ast.If) -> list[ast.stmt]:
        test = self.question(s.test)
        if isinstance(test, ast.Constant):
            return self.block(s.body if test.value else s.orelse)
        body, orelse = self.block(s.body), self.block(s.orelse)
        if not body and not orelse:
            return []
        return [_at(s, ast.If(test, body or [_at(s, ast.Pass())], orelse))]

    def attempt(self, s: ast.Try) -> ast.stmt:
        attempt = self.rebuilt(s)
        last = attempt.handlers[-1].body[0]
        if isinstance(last, ast.Raise) and last.exc is None:  # what it would do by itself
            del attempt.handlers[-1]
        return attempt

    def turn(self, s: ast.For, item: Any) -> list[ast.stmt]:
        assert isinstance(s.target, ast.Name)
        self.known[s.target.id] = item
        return self.block(s.body)

    def unpacking(self, call: ast.Call) -> list[ast.stmt] | None:
        """`values.update(zip(known, given))`: the variables of a table, all at once."""
        function = call.func
        if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
            return None
        if function.attr != "update" or function.value.id not in self.tables:
            return None
        (pairs,) = call.args
        assert isinstance(pairs, ast.Call)
        keys = self.value(pairs.args[0])
        table = function.value.id
        if not keys:
            return []
        targets: list[ast.expr] = [
            _at(call, ast.Name(self.variable(table, key), ast.Store())) for key in keys
        ]
        target = _at(call, ast.Tuple(targets, ast.Store()))
        return [_at(call, ast.Assign([target], self.expression(pairs.args[1])))]

    # ---- expressions -----------------------------------------------------------------------

    def expression(self, e: Any) -> ast.expr:
        if e.fixed and self.shares:
            return e
        if e.told:
            value = _VALUES[type(e)](self, e)
            if value is not _UNKNOWN:
                return _at(e, _literal(value))
        special = _SPECIAL.get(type(e))
        return special(self, e) if special else self.rebuilt(e)

    def question(self, e: ast.expr) -> ast.expr:
        """An expression whose truth is asked."""
        value = self.value(e)
        return self.expression(e) if value is _UNKNOWN else _at(e, ast.Constant(bool(value)))

    def name(self, e: ast.Name) -> ast.expr:
        return self.texts.get(e.id) or _at(e, ast.Name(self.own(e.id), e.ctx))

    def own(self, name: str) -> str:
        """A name of the template's, which is none of an argument's variable."""
        return f"{name}_" if name in self.taken else name

    def variable(self, table: str, key: str) -> str:
        assert isinstance(key, str), f"the name in {table} is not known"
        end = self.tables[table]
        return self.own(key + end) if end else self.names.get(key, key)

    def attribute(self, e: ast.Attribute) -> ast.expr:
        if isinstance(e.value, ast.Name) and e.value.id == "own":
            return _at(e, ast.Name(self.own(e.attr), e.ctx))
        return self.rebuilt(e)

    def subscript(self, e: ast.Subscript) -> ast.expr:
        key = self.value(e.slice)
        if isinstance(e.value, ast.Name) and e.value.id in self.tables:
            return _at(e, ast.Name(self.variable(e.value.id, key), e.ctx))
        if isinstance(e.value, ast.Attribute) and getattr(e.value.value, "id", "") == "own":
            return _at(e, ast.Name(self.own(f"{e.value.attr}_{key}"), e.ctx))
        return self.rebuilt(e)

    def together(self, e: ast.BoolOp) -> ast.expr:
        return self.joined(e, e.op, [self.question(v) for v in e.values])

    def joined(self, e: ast.expr, op: ast.boolop, parts: Sequence[ast.expr]) -> ast.expr:
        decided = isinstance(op, ast.Or)  # what ends the chain; its opposite falls out
        kept: list[ast.expr] = []
        for part in parts:
            if not isinstance(part, ast.Constant):
                kept.append(part)
            elif bool(part.value) is decided:
                kept.append(part)
                break
        if not kept:
            return _at(e, ast.Constant(not decided))
        return kept[0] if len(kept) == 1 else _at(e, ast.BoolOp(op, kept))

    def negation(self, e: ast.UnaryOp) -> ast.expr:
        if not isinstance(e.op, ast.Not):
            return self.rebuilt(e)
        operand = self.question(e.operand)
        if isinstance(operand, ast.Constant):
            return _at(e, ast.Constant(not operand.value))
        return _at(e, ast.UnaryOp(e.op, operand))

    def chosen(self, e: ast.IfExp) -> ast.expr:
        test = self.question(e.test)
        if isinstance(test, ast.Constant):
            return self.expression(e.body if test.value else e.orelse)
        return _at(e, ast.IfExp(test, self.expression(e.body), self.expression(e.orelse)))

    def call(self, e: ast.Call) -> ast.expr:
        name = getattr(e.func, "id", "")
        if name in ("any", "all") and isinstance(e.args[0], ast.GeneratorExp):
            items = self.items(e.args[0])
            if items is not None:
                return self.joined(e, ast.Or() if name == "any" else ast.And(), items)
        if name == "put":
            return self.value_of_formula(e)
        if name == "handed_on":
            return _at_all(e, _call_of(self.expression(e.args[0]), self.head))
        if name == "getattr" and self.value(e.args[1]) is not _UNKNOWN:
            attribute = self.value(e.args[1])
            return _at(e, ast.Attribute(self.expression(e.args[0]), attribute, ast.Load()))
        if name in self.template.inline:
            return self.put_in(self.template.inline[name], e)
        keywords = [k for given in e.keywords for k in self.keyword(given)]
        return _at(e, ast.Call(self.expression(e.func), self.elements(e.args), keywords))

    def put_in(self, definition: ast.FunctionDef, call: ast.Call) -> ast.expr:
        """The expression of a function that is called, with its arguments in it."""
        within = _Folder(self.template, {}, self.names, self.head)
        within.tables = {}
        for parameter, argument in zip(definition.args.args, call.args, strict=True):
            value = self.value(argument)
            if value is not _UNKNOWN:
                within.known[parameter.arg] = value
            elif isinstance(argument, ast.Name) and argument.id in self.tables:
                within.tables[parameter.arg] = self.tables[argument.id]
            elif parameter.arg != "own":
                within.texts[parameter.arg] = self.expression(argument)
        return within.expression(_returned(definition))

    def value_of_formula(self, call: ast.Call) -> ast.expr:
        formula = self.value(call.args[0])
        first = [self.expression(argument) for argument in call.args[1:]]
        own = dict.fromkeys(formula.parameters) | dict(zip(formula.parameters, first, strict=False))

        class Renamed(ast.NodeTransformer):
            def visit_Name(_, name: ast.Name) -> ast.expr:
                if name.id in own:
                    return own[name.id] or name
                return ast.Name(self.own(name.id), name.ctx)

        return _at_all(call, Renamed().visit(copy.deepcopy(formula.expression())))

    def keyword(self, given: ast.keyword) -> Iterator[ast.keyword]:
        """An argument by name; or several, `**{n: ... for n in known}`."""
        if given.arg is None and isinstance(given.value, ast.DictComp):
            for _ in self.turns(given.value.generators[0]):
                key = self.value(given.value.key)
                yield _at(given.value, ast.keyword(key, self.expression(given.value.value)))
        else:
            yield _at(given.value, ast.keyword(given.arg, self.expression(given.value)))

    def elements(self, parts: Sequence[ast.expr]) -> list[ast.expr]:
        elements: list[ast.expr] = []
        for part in parts:
            inner = part.value if isinstance(part, ast.Starred) else None
            items = self.items(inner) if isinstance(inner, ast.ListComp) else None
            elements += [self.expression(part)] if items is None else items
        return elements

    def items(self, e: ast.ListComp | ast.GeneratorExp) -> list[ast.expr] | None:
        """The items of a list over what is known."""
        (generator,) = e.generators
        if self.value(generator.iter) is _UNKNOWN:
            return None
        return [self.expression(e.elt) for _ in self.turns(generator)]

    def turns(self, generator: ast.comprehension) -> Iterator[None]:
        assert isinstance(generator.target, ast.Name)
        name = generator.target.id
        outer = self.known.get(name, _UNKNOWN)
        for item in self.value(generator.iter):
            self.known[name] = item
            if all(self.value(test) for test in generator.ifs):
                yield
        self.known[name] = outer
        if outer is _UNKNOWN:
            del self.known[name]

    def sequence(self, e: ast.Tuple) -> ast.expr:
        return _at(e, ast.Tuple(self.elements(e.elts), e.ctx))

    # ---- what is known ---------------------------------------------------------------------

    def value(self, e: Any) -> Any:
        """What an expression is, if it can be told now."""
        return _VALUES[type(e)](self, e) if e.told else _UNKNOWN

    def value_of_name(self, e: ast.Name) -> Any:
        return self.known.get(e.id, _UNKNOWN)

    def value_of_attribute(self, e: ast.Attribute) -> Any:
        value = self.value(e.value)
        return _UNKNOWN if value is _UNKNOWN else getattr(value, e.attr)

    def value_of_subscript(self, e: ast.Subscript) -> Any:
        value, key = self.value(e.value), self.value(e.slice)
        return _UNKNOWN if value is _UNKNOWN or key is _UNKNOWN else value[key]

    def value_of_slice(self, e: ast.Slice) -> Any:
        ends = [None if end is None else self.value(end) for end in (e.lower, e.upper)]
        return _UNKNOWN if _UNKNOWN in ends else slice(*ends)

    def value_of_comparison(self, e: ast.Compare) -> Any:
        values = self.value(e.left), self.value(e.comparators[0])
        if _UNKNOWN in values or len(e.ops) > 1:
            return _UNKNOWN
        return _COMPARED[type(e.ops[0])](*values)

    def value_of_chain(self, e: ast.BoolOp) -> Any:
        values = [self.value(part) for part in e.values]
        if _UNKNOWN in values:
            return _UNKNOWN
        return (all if isinstance(e.op, ast.And) else any)(values)

    def value_of_negation(self, e: ast.UnaryOp) -> Any:
        value = self.value(e.operand)
        return _UNKNOWN if value is _UNKNOWN or not isinstance(e.op, ast.Not) else not value

    def value_of_call(self, e: ast.Call) -> Any:
        function = _ASKED.get(getattr(e.func, "id", ""), self.value(e.func))
        values = [self.value(argument) for argument in e.args]
        return _UNKNOWN if function is _UNKNOWN or _UNKNOWN in values else function(*values)

    # ---- the rest --------------------------------------------------------------------------

    def rebuilt(self, node: Any) -> Any:
        """A node with its parts folded."""
        kind, part = type(node), self.part
        return _at(node, kind(*[part(getattr(node, name)) for name in kind._fields]))

    def part(self, value: Any) -> Any:
        if isinstance(value, ast.expr):
            return self.expression(value)
        if isinstance(value, list):
            if value and isinstance(value[0], ast.stmt):
                return self.block(value) or [_at(value[0], ast.Pass())]
            return [self.part(v) for v in value]
        if isinstance(value, (ast.excepthandler, ast.comprehension, ast.keyword)):
            return self.rebuilt(value)
        return value


_SPECIAL: dict[type, Any] = {
    ast.Name: _Folder.name,
    ast.Attribute: _Folder.attribute,
    ast.Subscript: _Folder.subscript,
    ast.BoolOp: _Folder.together,
    ast.UnaryOp: _Folder.negation,
    ast.IfExp: _Folder.chosen,
    ast.Call: _Folder.call,
    ast.Tuple: _Folder.sequence,
}
_VALUES: dict[type, Any] = {
    ast.Constant: lambda folder, e: e.value,
    ast.Name: _Folder.value_of_name,
    ast.Attribute: _Folder.value_of_attribute,
    ast.Subscript: _Folder.value_of_subscript,
    ast.Slice: _Folder.value_of_slice,
    ast.Compare: _Folder.value_of_comparison,
    ast.BoolOp: _Folder.value_of_chain,
    ast.UnaryOp: _Folder.value_of_negation,
    ast.Call: _Folder.value_of_call,
}


def _literal(value: Any) -> ast.expr:
    return (
        parsed(repr(value), mode="eval").body if isinstance(value, tuple) else ast.Constant(value)
    )


def _says_nothing(s: ast.stmt) -> bool:
    """x = x"""
    if not (isinstance(s, ast.Assign) and isinstance(s.value, ast.Name)):
        return False
    return all(isinstance(t, ast.Name) and t.id == s.value.id for t in s.targets)


def _call_of(function: ast.expr, head: ast.arguments) -> ast.Call:
    """A call of a function with the parameters of another."""

    def read(parameter: ast.arg) -> ast.expr:
        return ast.Name(parameter.arg, ast.Load())

    given = [read(p) for p in (*head.posonlyargs, *head.args)]
    named = [ast.keyword(p.arg, read(p)) for p in head.kwonlyargs]
    if head.vararg:
        given.append(ast.Starred(read(head.vararg), ast.Load()))
    if head.kwarg:
        named.append(ast.keyword(None, read(head.kwarg)))
    return ast.Call(function, given, named)


Node = TypeVar("Node", bound=ast.AST)


def _at(place: Any, node: Node) -> Node:
    """A node in the place of another."""
    if isinstance(node, (ast.expr, ast.stmt, ast.excepthandler, ast.keyword)):
        node.lineno, node.col_offset = place.lineno, place.col_offset
        node.end_lineno, node.end_col_offset = place.end_lineno, place.end_col_offset
    return node


def _at_all(place: Any, node: Node) -> Node:
    for part in ast.walk(node):
        _at(place, part)
    return node
