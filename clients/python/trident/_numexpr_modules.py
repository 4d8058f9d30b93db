"""numexpr's modules utils, necompiler and expressions, with those of their names that have a counterpart: trident.utils and so on."""
import sys
import types

from . import _evaluate, _numexpr, _symbols, _threads


def _picked(names, *sources):
    return {n: getattr(source, n) for source in sources for n in names.split() if hasattr(source, n)}


def _made(name, members):
    def refuse(asked):
        if asked.startswith("__"):
            raise AttributeError(f"module '{module.__name__}' has no attribute '{asked}'")
        raise AttributeError(f"trident has no counterpart of numexpr.{name}.{asked}: {_numexpr.reason(asked)}. trident.{name} has "
                             f"{', '.join(sorted(members))}")

    module = types.ModuleType(f"{__package__}.{name}", f"The names of numexpr.{name} that have a counterpart.")
    module.__dict__.update(members, __getattr__=refuse)
    sys.modules[module.__name__] = module
    return module


utils = _made("utils", {"_init_num_threads": _threads.init_num_threads, **_picked(
    "MAX_THREADS detect_number_of_cores detect_number_of_threads get_num_threads set_num_threads get_vml_num_threads "
    "get_vml_version set_vml_accuracy_mode set_vml_num_threads", _threads, _numexpr)})
necompiler = _made("necompiler", {"getExprNames": _numexpr.get_expr_names, **_picked(
    "evaluate re_evaluate NumExpr validate", _evaluate, _numexpr)})
expressions = _made("expressions", {"E": _symbols.E})
