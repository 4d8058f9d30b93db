"""The problems by name: topic, one line of what is computed, the inputs, and the function that computes the output."""
import hashlib
import random
from dataclasses import dataclass, field
from typing import Callable


@dataclass
class Run:
    """Inputs of a program; lists are used up from the front."""
    public: list
    secret: list = field(default_factory=list)
    digests: list = field(default_factory=list)
    ram: dict = field(default_factory=dict)

    def read(self, count=None):
        return self._take(self.public, count)

    def hint(self, count=None):
        return self._take(self.secret, count)

    @staticmethod
    def _take(words, count):
        if count is None:
            return words.pop(0)
        taken = words[:count]
        assert len(taken) == count
        del words[:count]
        return taken


@dataclass
class Problem:
    name: str
    topic: str
    what: str
    run: Run
    solve: Callable

    def split(self):
        """By the lowest bit of SHA-256 of the name: 0 is test, 1 is train."""
        return "train" if hashlib.sha256(self.name.encode()).digest()[-1] & 1 else "test"


PROBLEMS = {}


def problem(topic, what, public=(), secret=(), digests=(), ram=None):
    """Registers the function of the decorated name: from a Run to the public output."""
    def register(solve):
        run = Run(list(public), list(secret), [list(d) for d in digests], dict(ram or {}))
        PROBLEMS[solve.__name__] = Problem(solve.__name__, topic, what, run, solve)
        return solve
    return register


def numbers(seed, count, below):
    """Returns numbers that depend on the seed alone."""
    source = random.Random(seed)
    return [source.randrange(below) for _ in range(count)]
