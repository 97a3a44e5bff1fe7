"""From a query's text to a test of offers. Nothing of a query is ever run: it is read by hand into comparisons.

::

    query      = all { "or" all }
    all        = one { "and" one }
    one        = "not" one | "(" query ")" | comparison
    comparison = FIELD OP VALUE | VALUE OP FIELD | FIELD [ "not" ] "in" "(" VALUE { "," VALUE } ")"
               | VALUE [ "not" ] "in" LIST | FIELD "is" ( "known" | "unknown" )

What an offer does not say is unknown, and so is every test of it, its opposite too: such an offer does not pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from emporion.market.errors import UserError, did_you_mean
from emporion.market.offer import Offer
from emporion.market.query.fields import FIELDS, HINTS, Field
from emporion.market.query.kinds import Value
from emporion.market.query.tokens import Token, problem, tokens
from emporion.market.units import plain, shown

__all__ = ["Query", "parse_query"]

_MAX_DEPTH = 40
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
_WORDS = frozenset({"and", "or", "not", "in", "is"})
_OTHER_WORDS = {"&&": "and", "&": "and", "||": "or", "|": "or"}
Test = Callable[[Offer, datetime], "bool | None"]


@dataclass(frozen=True, slots=True)
class Query:
    """A query that was read."""

    text: str
    """Normalised: equal for all spellings of one query."""
    fields: tuple[str, ...]
    """The fields that it names, sorted."""
    test: Test
    """Return whether an offer passes at a time; None: it does not say enough."""
    parts: tuple[Query, ...] = ()
    """What all must hold, one by one; empty: it is one part."""
    loose: bool = False
    """Whether its text needs brackets within `and` and `not`."""

    @property
    def scope(self) -> str:
        """What of an offer decides it: `place`, `machine`, or `offer` when it looks at its price, or at several."""
        scopes = {FIELDS[name].scope for name in self.fields}
        return scopes.pop() if len(scopes) == 1 else "offer"

    def unknown(self, offer: Offer, now: datetime) -> tuple[str, ...]:
        """Return the fields of the query that an offer does not tell."""
        return tuple(name for name in self.fields if FIELDS[name].of(offer, now) is None)

    def shown(self, name: str, offer: Offer, now: datetime) -> str:
        """Return what an offer says of one of the fields, `?` for what it does not say."""
        seen = FIELDS[name].of(offer, now)
        if isinstance(seen, tuple):
            return ", ".join(map(str, seen)) or "none"
        return "?" if seen is None else plain(seen) if isinstance(seen, Decimal) else str(seen)


def parse_query(text: str) -> Query:
    """Return the query that a text says.

    Raises: UserError E-WHERE: when it does not say one; `where` begins with a line end, then shows the place under the
    text: the caller writes before it where the text stands.
    """
    return _Parser(text).query()


class _Parser:
    """Recursive descent over the tokens."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(tokens(text))
        self._next = 0
        self._depth = 0

    def query(self) -> Query:
        if self._peek.kind == "end":
            raise self._problem("the query is empty", "write a comparison, as vram_gb >= 80")
        found = self._any()
        left = self._peek
        if left.kind != "end":
            raise self._unexpected(left)
        return found

    @property
    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += token.kind != "end"
        return token

    def _problem(self, what: str, fix: str | None = None, token: Token | None = None) -> UserError:
        token = token or self._peek
        return problem(self._text, token.start, token.end, what, fix)

    def _unexpected(self, token: Token) -> UserError:
        if token.text in _OTHER_WORDS and token.kind == "word":
            return self._problem(f"{token.text} joins nothing", f"write {_OTHER_WORDS[token.text]}", token)
        if token.kind == "mark":
            return self._problem(f"{token.text!r} is not expected here", "check the brackets", token)
        return self._problem(
            f"{shown(token.text)} is not expected here", "join comparisons with and, or; quote text with blanks", token
        )

    def _word(self, *words: str) -> str | None:
        token = self._peek
        if token.kind == "word" and token.text.lower() in words:
            self._next += 1
            return token.text.lower()
        return None

    def _any(self) -> Query:
        parts = [self._all()]
        while self._word("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else _joined("or", parts)

    def _all(self) -> Query:
        parts = [self._one()]
        while self._word("and"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else _joined("and", parts)

    def _one(self) -> Query:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._problem(f"brackets and nots are nested deeper than {_MAX_DEPTH}", "write a simpler query")
        if self._word("not"):
            found = _negated(self._one())
        elif self._peek.text == "(" and self._peek.kind == "mark":
            opened = self._take()
            found = self._any()
            if self._peek.text != ")" or self._peek.kind != "mark":
                if self._peek.kind != "end":
                    raise self._unexpected(self._peek)
                raise self._problem("a bracket is not closed", "write ) at the end", opened)
            self._take()
        else:
            found = self._comparison()
        self._depth -= 1
        return found

    def _comparison(self) -> Query:
        left = self._operand()
        negated = self._word("not") is not None
        if self._word("in"):
            found = self._in(left)
            return _negated(found) if negated else found
        if negated:
            raise self._problem("`not` stands where `in` or an operator is expected", "write not before the comparison")
        if self._word("is"):
            return self._known(left)
        return self._compared(left)

    def _operand(self) -> Token:
        token = self._peek
        if token.kind == "end":
            raise self._problem("the query ends where a comparison is expected", "write a comparison, as gpus >= 8")
        if token.kind not in ("word", "text") or (token.kind == "word" and token.text.lower() in _WORDS):
            raise self._problem(f"{shown(token.text)} stands where a field or a value is expected", None, token)
        return self._take()

    def _compared(self, left: Token) -> Query:
        op = self._peek
        if op.kind != "op":
            field = self._field(left)
            example = f'"{field.kind.example}" in {field.name}' if field.kind.listed else _example(field)
            raise self._problem(f"{field.name} is compared with nothing", f"write {example}", op)
        self._take()
        right = self._operand()
        if _is_field(left) or not _is_field(right):
            field = self._field(left)
            if _is_field(right):
                raise self._problem("two fields are compared", f"compare {field.name} with a value", right)
            return self._test(field, op, op.text, right)
        return self._test(self._field(right), op, _TURNED[op.text], left)

    def _test(self, field: Field, place: Token, op: str, token: Token) -> Query:
        if field.kind.listed:
            raise self._problem(
                f"{field.name} is a list, {place.text} compares single values",
                f'write "{field.kind.example}" in {field.name}',
                place,
            )
        if op not in field.kind.operators:
            allowed = ", ".join(field.kind.operators)
            raise self._problem(f"{field.name} has no order, {place.text} compares by order", f"write {allowed}", place)
        value = self._value(field, token)
        return _of_field(field, f"{field.name} {op} {_quoted(value.text)}", lambda seen: value.test(op, seen))

    def _in(self, left: Token) -> Query:
        opened = self._peek
        if opened.kind == "mark" and opened.text in "([":
            return self._among(self._field(left), self._values())
        right = self._operand()
        field = self._field(right)
        if not field.kind.listed:
            fix = f"write {_example(field)}, or {field.name} in (a, b)"
            raise self._problem(f"{field.name} is one value, not a list", fix, right)
        value = self._value(field, left)
        return _of_field(
            field, f"{_quoted(value.text, always=True)} in {field.name}", lambda seen: value.test("in", seen)
        )

    def _among(self, field: Field, written: Sequence[Token]) -> Query:
        if field.kind.listed:
            example = f'"{field.kind.example}" in {field.name}'
            raise self._problem(f"{field.name} is a list itself", f"write {example}", written[0])
        values = [self._value(field, token) for token in written]
        text = f"{field.name} in ({', '.join(sorted({_quoted(value.text) for value in values}))})"

        def test(seen: object) -> bool | None:
            answers = [value.test("==", seen) for value in values]
            return True if True in answers else None if None in answers else False

        return _of_field(field, text, test)

    def _values(self) -> list[Token]:
        opened = self._take()
        close = ")" if opened.text == "(" else "]"
        found = [self._operand()]
        while self._peek.text == "," and self._peek.kind == "mark":
            self._take()
            found.append(self._operand())
        if self._peek.text != close or self._peek.kind != "mark":
            if self._peek.kind == "end":
                raise self._problem("a list is not closed", f"write {close} at its end", opened)
            raise self._problem(f"{shown(self._peek.text)} stands in a list", f"write , between values, {close} after")
        self._take()
        return found

    def _known(self, left: Token) -> Query:
        field = self._field(left)
        word = self._word("known", "unknown")
        if word is None:
            raise self._problem("`is` asks only whether a field is known", f"write {field.name} is known, or ==")
        wanted = word == "known"
        return Query(
            f"{field.name} is {word}", (field.name,), lambda offer, now: (field.of(offer, now) is not None) == wanted
        )

    def _field(self, token: Token) -> Field:
        name = token.text.lower()
        if token.kind == "word" and name in FIELDS:
            return FIELDS[name]
        near = HINTS.get(name) or did_you_mean(name, set(FIELDS))
        fix = f"did you mean {near}" if near else f"fields are {', '.join(FIELDS)}"
        raise self._problem(f"no field is called {shown(token.text)}", fix, token)

    def _value(self, field: Field, token: Token) -> Value:
        try:
            return field.kind.read(token.text)
        except UserError as error:
            raise self._problem(f"{field.name}: {error.what}", error.fix, token) from None


def _is_field(token: Token) -> bool:
    return token.kind == "word" and token.text.lower() in FIELDS


def _example(field: Field) -> str:
    op = ">=" if ">=" in field.kind.operators else "=="
    return f"{field.name} {op} {_quoted(field.kind.example)}"


def _quoted(text: str, *, always: bool = False) -> str:
    """Return a value as a query can hold it."""
    if not always and text not in FIELDS and text not in _WORDS:
        found = list(tokens(text))
        if found[0].kind == "word" and found[0].end == len(text):
            return text
    return f"'{text}'" if '"' in text else f'"{text}"'


def _of_field(field: Field, text: str, test: Callable[[object], bool | None]) -> Query:
    def of(offer: Offer, now: datetime) -> bool | None:
        seen = field.of(offer, now)
        return None if seen is None else test(seen)

    return Query(text, (field.name,), of)


def _joined(word: str, parts: Sequence[Query]) -> Query:
    """Return several queries joined by `and` or `or`, by the logic of three values."""
    decides = word == "or"
    tests = [part.test for part in parts]

    def test(offer: Offer, now: datetime) -> bool | None:
        unknown = False
        for one in tests:
            answer = one(offer, now)
            if answer is decides:
                return decides
            unknown = unknown or answer is None
        return None if unknown else not decides

    flat = [piece for part in parts for piece in (part.parts or (part,))] if word == "and" else []
    texts = [f"({part.text})" if part.loose and word == "and" else part.text for part in flat or parts]
    fields = sorted({name for part in parts for name in part.fields})
    return Query(f" {word} ".join(texts), tuple(fields), test, tuple(flat), loose=word == "or")


def _negated(query: Query) -> Query:
    def test(offer: Offer, now: datetime) -> bool | None:
        answer = query.test(offer, now)
        return None if answer is None else not answer

    text = f"not ({query.text})" if query.loose or query.parts else f"not {query.text}"
    return replace(query, text=text, test=test, parts=(), loose=False)
