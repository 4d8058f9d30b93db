"""The functions that a translated function calls: their texts in one folder, each under a name of its own.

A function of a folder brings what its text calls there, a translated one what it calls. Two of them may have one name and
different texts. Then the one that comes later gets another name, in the texts of all that come with it.
"""
import itertools
import re


class Callees:
    """Texts by name, and for each name the Function that brings it and its name there (origins)."""

    def __init__(self, own_name):
        self._own_name, self._names = own_name, {}
        self.texts, self.origins = {}, {}

    def __bool__(self):
        return bool(self._names)

    def name_of(self, callee):
        """The name under which a call of this Function is written."""
        if callee not in self._names:
            self._names[callee] = self._add(callee)
        return self._names[callee]

    def _add(self, callee):
        texts, others = callee.texts, {}
        while (clashing := self._clashing(texts, others)):
            for name in clashing:
                others[name] = self._other_name(name, texts, others)
        for name, text in texts.items():
            written = others.get(name, name)
            self.texts[written] = _renamed(text, others)
            self.origins.setdefault(written, (callee, name))
        return others.get(callee.__name__, callee.__name__)

    def _clashing(self, texts, others):
        """Names that mean something else here already."""
        return [name for name, text in texts.items() if not self._is_free(others.get(name, name), _renamed(text, others))]

    def _is_free(self, name, text):
        return name != self._own_name and self.texts.get(name, text) == text

    def _other_name(self, name, texts, others):
        """A name that nothing has, or the same text."""
        taken = {*texts, *others.values()}
        candidates = (f"{name}_{number}" for number in itertools.count(2))
        return next(other for other in candidates
                    if other not in taken and self._is_free(other, _renamed(texts[name], {**others, name: other})))


def _renamed(text, others):
    """The text with other names where it calls or heads a function of that name."""
    return re.sub(r"\b[A-Za-z_]\w*(?=\s*\()", lambda found: others.get(found[0], found[0]), text)
