"""Stands for the module numexpr: gives Trident's names, and for those that Trident refuses an object that refuses its use.
Numexpr's own test-suite is run against it (numexpr_suite.py), in processes that it starts, too."""
import sys

import trident


class Refused(Exception):
    """The suite uses something that Trident refuses by name."""


class Missing:
    """A name that Trident refuses, with its attributes: whatever else is done with it raises Refused with Trident's words."""

    def __init__(self, message):
        object.__setattr__(self, "_message", message)

    def _refuse(self, *args, **kwargs):
        raise Refused(self._message)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(self._message)

    __call__ = __getitem__ = __bool__ = __iter__ = _refuse


class Place(type(sys)):
    """A module of numexpr's, whose names are those of one of Trident's."""

    def __init__(self, name, source):
        super().__init__(name)
        self.__dict__.update(_source=source, __path__=[])

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return getattr(self._source, name)
        except AttributeError as error:
            if "no counterpart" not in str(error):
                raise
            return Missing(str(error))


def take_place():
    """Puts the stand-ins where the suite imports numexpr's modules from."""
    sys.modules[__name__] = whole = Place(__name__, trident)
    whole.__dict__["Refused"] = Refused
    for name in ("expressions", "utils", "necompiler"):
        part = getattr(whole, name)
        place = part if isinstance(part, Missing) else Place(f"{__name__}.{name}", part)
        sys.modules[f"{__name__}.{name}"] = whole.__dict__[name] = place


take_place()
