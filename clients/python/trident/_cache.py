"""Caches that threads, signal handlers and children of fork share.

Values are made outside of the lock, so nobody waits for a kernel that somebody else compiles, and a handler that
interrupts the making may make the same one. Where two make a value, both get the one that was stored first. The lock
guards some dictionary operations only; it is re-entrant for handlers, and a child of fork gets a new one, because the
thread that held the old one may not exist there.
"""
import collections
import os
import threading

_lock = threading.RLock()


def _renew_lock():
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)


def keep_first(table, key, value):
    """The value of `key` in a dictionary, weak or not, that others may fill at the same time; `value` if there is none."""
    with _lock:
        return table.setdefault(key, value)


class Cache:
    """The last `entries_max` values by use."""

    def __init__(self, entries_max):
        self._entries_max = entries_max
        self._entries = collections.OrderedDict()

    def find(self, key, make):
        """The value of `key`, by `make()` when there is none; None is no value."""
        with _lock:
            found = self._entries.get(key)
            if found is not None:
                try:
                    self._entries.move_to_end(key)
                except KeyError:  # a signal handler has dropped it just now
                    pass
                return found
        made = make()
        dropped = []  # freed after the lock: the end of a kernel is native code
        with _lock:
            kept = self._entries.setdefault(key, made)
            if len(self._entries) > self._entries_max:
                dropped.append(self._entries.popitem(last=False))
        return kept
