"""Reads a C++ source as tokens in brackets and statements, and knows which tokens are ops of jit/expr/ops.def: members of
the enum under any name that the file gives it, or texts. For op_lists.py."""
import bisect
import functools
import os
import re

OPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "jit", "expr", "ops.def")
ROW = re.compile(r'^X\(\s*\d+,\s*(\w+),\s*"(\w+)"', re.M)
ALIAS = re.compile(r"using (\w+) = ((?:\w+::)*\w+);|typedef ((?:\w+::)*\w+) (\w+);")
USING_ENUM = re.compile(r"using enum ((?:\w+::)*\w+);")
NAMESPACE = re.compile(r"namespace (\w+) = (?:::)?(?:trident::)?expr;")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|'
                   r"^[ \t]*#(?:[^\\\n]|\\.|\\\n)*|(?:\w+::)*[A-Za-z_]\w*|\.?\d(?:[\w.']|[eEpP][-+])*|->|&&|\|\||==|!=|<=|>=|<<=?|"
                   r"[-+*/%&|^]=|::|\S", re.S | re.M)
OPENING, CLOSING = "({[", ")}]"
LITERAL = re.compile(r"-?(?:[\d.].*|\".*|'.*|true|false|nullptr)$", re.S)
CONSTANT = r"(?:- )?(?:[\d.\"'][^;:]*|true|false|(?:\w+::)*k[A-Z]\w*|\w+::\w+)"
NAME = re.compile(r"[\w\"]")
OPERATORS = {"or": "||", "and": "&&", "bitor": "|", "not_eq": "!="}  # written as words
DEFINED = re.compile(r"(?:::|\()\s*([A-Z]\w*)\b")
NOT_PLAIN = {"return", "if", "else", "case", "for", "while", "switch", "const", "constexpr", "static", "auto", "using", "default"}


@functools.cache
def ops():
    """Returns {name: text} of the rows of ops.def."""
    with open(OPS, encoding="utf-8") as handle:
        return dict(ROW.findall(handle.read()))


@functools.cache
def ops_by_text():
    return {text: name for name, text in ops().items()}


def ops_in_text(text):
    """Returns the names of the ops that a text lists, if it has nothing else."""
    words = re.split(r"[\s,;|]+", text.strip())
    return {ops_by_text()[word] for word in words} if all(word in ops_by_text() for word in words) else set()


class Token:
    """`partner` is the index of the other bracket, `parent` that of the bracket around it."""
    __slots__ = ("text", "line", "op", "is_text", "parent", "partner", "statement")

    def __init__(self, text, line, op, parent):
        self.text, self.line, self.op, self.parent = text, line, op, parent
        self.is_text, self.partner, self.statement = text.startswith('"'), None, None


class Spelling:
    """How a file writes ops: the names of the enums there, and whether their members stand alone."""

    def __init__(self, text):
        self.enums, self.spaces = {"Op", "RealOp", "IntegerOp"}, {"", "expr", "trident::expr", "::trident::expr"}
        self.spaces.update(NAMESPACE.findall(text))
        for match in ALIAS.finditer(text):
            if self.is_enum(match.group(2) or match.group(3)):
                self.enums.add(match.group(1) or match.group(4))
        self.bare = any(map(self.is_enum, USING_ENUM.findall(text)))

    def is_enum(self, name):
        space, _, last = name.rpartition("::")
        return last in self.enums and space in self.spaces

    def op_of(self, word):
        if word.startswith('"'):
            return ops_by_text().get(word[1:-1])
        enum, _, name = word.rpartition("::")
        if name not in ops():
            return None
        return name if (self.is_enum(enum) if enum else self.bare) else None


class Source:
    def __init__(self, text):
        self.tokens, self.macros, self.word_lists = [], [], []  # the last two: (line, names of ops in one text)
        self.read(text)
        self.tokens.append(Token("", text.count("\n") + 1, None, None))  # every token has a next one
        self.cut_statements()
        self.indexed_by_op = {self.tokens[at - 1].text for at, token in enumerate(self.tokens)
                              if token.text == "[" and token.partner and self.converts_op(at)}

    def read(self, text):
        spelling, open_at, line, seen = Spelling(text), [], 1, 0
        for match in TOKEN.finditer(text):
            word = match.group(0)
            line, seen = line + text.count("\n", seen, match.start()), match.start()
            if word.startswith(("//", "/*")) or word.lstrip().startswith("#"):
                self.macros.append((line, {name for name in DEFINED.findall(word) if name in ops() and "#define" in word}))
                continue
            if word.startswith('"'):
                self.word_lists.append((line, ops_in_text(word[1:-1])))
            word = OPERATORS.get(word, word)
            if word in CLOSING and open_at:
                opening = open_at.pop()
                self.tokens.append(Token(word, line, None, self.tokens[opening].parent))
                self.tokens[opening].partner, self.tokens[-1].partner = len(self.tokens) - 1, opening
                continue
            self.tokens.append(Token(word, line, spelling.op_of(word), open_at[-1] if open_at else None))
            if word in OPENING:
                open_at.append(len(self.tokens) - 1)

    def cut_statements(self):
        """Numbers the statements by their first tokens. Braces that hold statements end one; others are a part of it."""
        holds = {token.parent for token in self.tokens if token.text == ";"}
        at, self.begins = 0, []
        for i, token in enumerate(self.tokens):
            if not self.begins or self.begins[-1] != at:
                self.begins.append(at)
            token.statement = at
            opens_block = token.text == "{" and (i in holds or self.tokens[i - 1].text in (")", "else"))
            closes_block = token.text == "}" and token.partner is not None \
                and (token.partner in holds or self.tokens[token.partner - 1].text in (")", "else"))
            ends = token.text == ";" and not (token.parent is not None and self.tokens[token.parent].text == "(")
            if opens_block or closes_block or ends or (token.text == ":" and self.tokens[at].text in ("case", "default")):
                at = i + 1

    def statements(self):
        return list(zip(self.begins, [*self.begins[1:], len(self.tokens)]))

    def text(self, begin, end):
        return " ".join(token.text for token in self.tokens[begin:end])

    def elements(self, group):
        """Returns (begin, end) of each part between the commas of a bracket."""
        parts, begin = [], group + 1
        for at in range(group + 1, self.tokens[group].partner + 1):
            ends = at == self.tokens[group].partner or (self.tokens[at].text == "," and self.tokens[at].parent == group)
            if ends and at > begin:
                parts.append((begin, at))
            if ends:
                begin = at + 1
        return parts

    def is_literal(self, begin, end):
        return bool(LITERAL.match("".join(token.text for token in self.tokens[begin:end]))) and end - begin <= 2

    def operand_back(self, end):
        """Returns where the operand begins that ends before `end`: names, members and brackets."""
        at = end
        while at > 0:
            token = self.tokens[at - 1]
            if token.text in (")", "]") and token.partner is not None:
                at = token.partner
            elif token.text in (".", "->") or (NAME.match(token.text) and token.text not in ("return", "case")):
                at -= 1
            else:
                break
        return at

    def operand_forward(self, begin):
        """Returns the place behind the operand that begins there."""
        at = begin
        while at < len(self.tokens) - 1:
            token = self.tokens[at]
            if token.text in ("(", "[") and token.partner is not None:
                at = token.partner + 1
            elif token.text in (".", "->") or NAME.match(token.text):
                at += 1
            else:
                break
        return at

    def unit_around(self, at):
        """Returns (begin, end) of an op with the conversions, calls and shifts that have it as their only operand."""
        begin, end, tokens = at, at + 1, self.tokens
        while True:
            if tokens[begin - 1].text == "(" and tokens[end].text == ")" and tokens[begin - 1].partner == end:
                begin, end = begin - 1, end + 1
                if tokens[begin - 1].text == ">":
                    while begin > 0 and tokens[begin].text != "<":
                        begin -= 1
                if NAME.match(tokens[begin - 1].text) and tokens[begin - 1].text != "return":
                    begin -= 1
            elif tokens[begin - 1].text == "<<":
                begin -= 1
                if tokens[begin - 1].text == "}" and tokens[begin - 1].partner:
                    begin = tokens[begin - 1].partner
                begin = self.operand_back(begin)
            else:
                return begin, end

    def begins_if(self, statement):
        first = self.tokens[statement].text
        return first == "if" or (first == "else" and self.tokens[statement + 1].text == "if")

    def end_of(self, statement):
        """Returns the index of the last token of a statement."""
        after = bisect.bisect_right(self.begins, statement)
        return (self.begins[after] if after < len(self.begins) else len(self.tokens)) - 1

    def answers_at_once(self, statement):
        """True if a statement is `if (..) return C;` or `return .. ? C : C;` with literals or constants: a row of a table."""
        text = self.text(statement, self.end_of(statement) + 1)
        if self.tokens[statement].text == "return":
            return re.search(rf"\? {CONSTANT} : {CONSTANT} ;$", text) is not None
        return self.begins_if(statement) and re.search(rf"\) return {CONSTANT} ;$", text) is not None

    def is_plain(self, begin):
        """True if a statement is a call or an assignment."""
        token = self.tokens[begin]
        return bool(NAME.match(token.text)) and token.text not in NOT_PLAIN

    def shape(self, begin, end):
        """Returns the words of a statement with @ for ops and # for literals, and the places of the ops."""
        words, places = [], []
        for at in range(begin, end):
            token = self.tokens[at]
            word = "@" if token.op else "#" if LITERAL.match(token.text) else token.text
            if token.op:
                places.append(at)
            if word == "@" and words[-2:] == ["@", ","]:
                words.pop()
                continue
            words.append(word)
        return words, places

    def converts_op(self, group):
        """True if the brackets turn an op into a number: [static_cast<std::size_t>(op)]."""
        inside = self.text(group + 1, self.tokens[group].partner)
        return bool(re.search(r"(?:static_cast < [\w: ]+ >|\w) \( (?:\w+(?: \( \w* \))? (?:\.|->) )*op(?: \( \))? \)$", inside))

    def array_name(self, group):
        """Returns the name of the array that braces give values to."""
        at = group - 1
        if self.tokens[at].text == "=":
            at -= 1
        while self.tokens[at].text == "]" and self.tokens[at].partner is not None:
            at = self.tokens[at].partner - 1
        return self.tokens[at].text if re.match(r"[A-Za-z_]\w*$", self.tokens[at].text) else None

    def has_element_for_each_op(self, group):
        statement = self.tokens[group].statement
        return re.search(r"[\[,] (?:\w+::)*kOpCount [\]>]", self.text(statement, group)) is not None
