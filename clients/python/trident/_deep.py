"""Texts that chain or nest deeper than Python's own parser goes, into the tree that it would make: operator precedence with
a stack of its own instead of recursion. Numbers, names, operators, comparisons, calls, attributes and parentheses only."""
import ast
import keyword
import re
import unicodedata

TOKEN = re.compile(r"""[ \t\f\r\n]*(?:
    (?P<number>0[xXbBoO][0-9a-fA-F_]+|(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9][0-9_]*)?[jJ]?)
  | (?P<name>[^\W\d]\w*)
  | (?P<sign>\*\*|//|<<|>>|<=|>=|==|!=|[-+*/%@&|^~<>(),.=])
  | (?P<end>\Z))""", re.VERBOSE)
_LOAD = ast.Load()
_WORDS = {"True": True, "False": False, "None": None}
_PREFIX = {"+": ast.UAdd(), "-": ast.USub(), "~": ast.Invert()}
_COMPARE = {"<": ast.Lt(), "<=": ast.LtE(), ">": ast.Gt(), ">=": ast.GtE(), "==": ast.Eq(), "!=": ast.NotEq()}
BINARY = {  # sign: (precedence, operator)
    "|": (2, ast.BitOr()), "^": (3, ast.BitXor()), "&": (4, ast.BitAnd()), "<<": (5, ast.LShift()), ">>": (5, ast.RShift()),
    "+": (6, ast.Add()), "-": (6, ast.Sub()), "*": (7, ast.Mult()), "/": (7, ast.Div()), "//": (7, ast.FloorDiv()),
    "%": (7, ast.Mod()), "@": (7, ast.MatMult()), "**": (9, ast.Pow())}
_OPEN, _COMPARED, _SIGNED, _POWER = 0, 1, 8, 9


class Unread(Exception):
    """Reports a part of the text that is not read here."""


def parse(text):
    """The tree of `text`; Unread with the place of what only Python's parser reads, or nobody."""
    return _Parser(text).parse()


class _Parser:
    """`stack`: operators that wait for their right operand and open parentheses, each with its precedence; an open
    parenthesis has _OPEN and its call, or None."""

    def __init__(self, text):
        self.text, self.place, self.depth, self.stack, self.numbers = text, 0, 0, [(_OPEN, None)], {}

    def parse(self):
        operand = None
        while True:
            kind, token = self.next()
            operand = self.first(kind, token) if operand is None else self.then(kind, token, operand)
            if kind == "end":
                return operand

    def next(self):
        """The next token; a new line outside of parentheses ends the text for Python."""
        match = TOKEN.match(self.text, self.place)
        if match is None or self.depth == 0 and re.search("[\r\n]", self.text[self.place:match.start(match.lastgroup)]):
            self.refuse()
        kind, self.place = match.lastgroup, match.end()
        self.depth += (match[kind] == "(") - (match[kind] == ")")
        return kind, match[kind]

    def refuse(self):
        raise Unread(f"at character {self.place}: {self.text[max(0, self.place - 20):self.place + 20]!r}")

    def first(self, kind, token):
        """Reads the beginning of an operand. Returns it if it is whole, else None."""
        if kind == "number":
            return ast.Constant(self.number(token))
        if kind == "name":
            return self.name(token)
        if token in _PREFIX:
            self.stack.append((_SIGNED, ast.UnaryOp(_PREFIX[token], None)))
        elif token == "(":
            self.stack.append((_OPEN, None))
        elif token == ")" and self.stack[-1][0] == _OPEN and self.stack[-1][1] is not None and len(self.stack) > 1:  # f(), f(x,), (x,)
            return self.stack.pop()[1]
        elif kind == "end" and len(self.stack) == 1 and self.stack[0][1] is not None:  # x,
            return self.stack[0][1]
        else:
            self.refuse()
        return None

    def number(self, token):
        if token not in self.numbers:
            try:
                self.numbers[token] = ast.literal_eval(token)
            except (SyntaxError, ValueError):
                self.refuse()
        return self.numbers[token]

    def name(self, token):
        token = unicodedata.normalize("NFKC", token)
        if token in _WORDS:
            return ast.Constant(_WORDS[token])
        if keyword.iskeyword(token) or not token.isidentifier():
            self.refuse()
        return ast.Name(token, _LOAD)

    def then(self, kind, token, operand):
        """Reads on behind an operand. Returns what is a whole operand now, or None where another one must follow."""
        if kind == "sign" and token in BINARY:
            return self.binary(*BINARY[token], operand)
        if kind == "sign" and token in _COMPARE:
            return self.compare(_COMPARE[token], operand)
        if token == "(":
            self.stack.append((_OPEN, ast.Call(operand, [], [])))
            return None
        if token == ".":
            kind, token = self.next()
            if kind != "name" or token in _WORDS or keyword.iskeyword(token):
                self.refuse()
            return ast.Attribute(operand, unicodedata.normalize("NFKC", token), _LOAD)
        if token == "=" and isinstance(operand, ast.Name) and self.call() is not None:
            self.stack.append((_OPEN, ast.keyword(operand.id, None)))
            return None
        return self.close(kind, token, self.reduced(operand, _COMPARED))

    def call(self):
        return self.stack[-1][1] if self.stack[-1][0] == _OPEN and isinstance(self.stack[-1][1], ast.Call) else None

    def close(self, kind, token, operand):
        """Ends a part of the text at a comma, a closing parenthesis or the end."""
        if kind == "end" and len(self.stack) == 1:
            return self.element(self.stack[0][1], operand)
        _, opened = self.stack.pop()
        if isinstance(opened, ast.keyword):
            opened.value = operand
            operand, (_, opened) = opened, self.stack.pop()
        if isinstance(opened, ast.Call):
            if opened.keywords and not isinstance(operand, ast.keyword):
                self.refuse()
            (opened.keywords if isinstance(operand, ast.keyword) else opened.args).append(operand)
        if token == "," and isinstance(opened, ast.Call):
            self.stack.append((_OPEN, opened))
            return None
        if token == ",":
            self.stack.append((_OPEN, self.element(opened or ast.Tuple([], _LOAD), operand)))
            return None
        if token != ")" or not self.stack:
            self.refuse()
        return self.element(opened, operand)

    @staticmethod
    def element(opened, operand):
        """Ends an operand of a parenthesis that is open: returns the tuple or the call with it, else the operand."""
        if isinstance(opened, ast.Tuple):
            opened.elts.append(operand)
        return operand if opened is None else opened

    def reduced(self, operand, precedence):
        """Gives `operand` to the operators that bind at least as tightly, and returns the last of them."""
        while self.stack[-1][0] >= precedence:
            node = self.stack.pop()[1]
            if isinstance(node, ast.BinOp):
                node.right = operand
            elif isinstance(node, ast.UnaryOp):
                node.operand = operand
            else:
                node.comparators.append(operand)
            operand = node
        return operand

    def binary(self, precedence, op, operand):
        left = self.reduced(operand, precedence + (precedence == _POWER))  # a ** b ** c is a ** (b ** c)
        self.stack.append((precedence, ast.BinOp(left, op, None)))

    def compare(self, op, operand):
        operand = self.reduced(operand, _COMPARED + 1)
        if self.stack[-1][0] == _COMPARED:  # a < b < c is one comparison
            self.stack[-1][1].comparators.append(operand)
            self.stack[-1][1].ops.append(op)
        else:
            self.stack.append((_COMPARED, ast.Compare(operand, [op], [])))
