"""The rules of the house, each a function (root, files) -> list of complaints. `files` are paths relative to root.

A complaint is "path:line: what is wrong". tidy_test.py runs every rule on the repository and, as a test of the rule
itself, on a small tree that breaks it.
"""
import os
import re
import tomllib

import class_sizes
import op_lists

SOURCE = (".cpp", ".h", ".hpp", ".c")
LAYERS = ("runtime", "jit", "daemon", "schemas", "clients")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)
FILE_LINES_MAX = 900
README_LINES_MAX = 40
ROOT_README_LINES_MAX = 100


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as handle:
        return handle.read()


def sources(files, tests=False):
    found = [f for f in files if f.endswith(SOURCE) and f.split("/")[0] in LAYERS]
    return found if tests else [f for f in found if not f.endswith("_test.cpp") and "/campaign/" not in f]


def load_layers(root):
    """module -> set of modules that it may include, from tests/tidy/layers.txt."""
    allowed = {}
    for line in read(root, "tests/tidy/layers.txt").splitlines():
        line = line.split("#")[0].strip()
        if line:
            module, _, targets = line.partition(":")
            allowed[module.strip()] = set(targets.split())
    return allowed


def module_of(path, allowed):
    """The longest module of the allow-list that is a prefix of the file's folder (daemon/main.cpp is daemon/main)."""
    stem = os.path.splitext(path)[0]
    best = None
    for module in allowed:
        if (path.startswith(module + "/") or stem == module) and (best is None or len(module) > len(best)):
            best = module
    return best


def reachable(module, allowed):
    """Returns the modules that a module includes, and all that these include."""
    seen, stack = set(), list(allowed.get(module, ()))
    while stack:
        target = stack.pop()
        if target not in seen:
            seen.add(target)
            stack.extend(allowed.get(target, ()))
    return seen


def arrows(root, path, allowed):
    """Returns (line, module) of each include of another module in a file."""
    text, module, found = read(root, path), module_of(path, allowed), []
    for match in INCLUDE.finditer(text):
        target = match.group(2)
        if match.group(1) == '"' and target.split("/")[0] in LAYERS:
            other = module_of(target, allowed) or os.path.dirname(target)
            if other != module:
                found.append((text.count("\n", 0, match.start()) + 1, other))
    return found


def rule_layers(root, files):
    """A file includes nothing but its own module and those of its row; CMake links the row (cmake/modules.cmake)."""
    allowed = load_layers(root)
    complaints = []
    for module in allowed:
        if module in reachable(module, allowed):
            complaints.append(f"tests/tidy/layers.txt:1: {module} can reach itself: the arrows must be acyclic")
    for path in sources(files):
        module = module_of(path, allowed)
        if module is None:
            complaints.append(f"{path}:1: belongs to no module of tests/tidy/layers.txt")
            continue
        complaints += [f"{path}:{line}: {module} may not include {other} (tests/tidy/layers.txt)"
                       for line, other in arrows(root, path, allowed) if other not in allowed[module]]
    return complaints


def rule_unused_layers(root, files):
    """A row holds what the module's sources include and no more; a row without sources goes."""
    allowed = load_layers(root)
    used = {}
    for path in sources(files):
        used.setdefault(module_of(path, allowed), set()).update(other for _, other in arrows(root, path, allowed))
    complaints = []
    for number, line in enumerate(read(root, "tests/tidy/layers.txt").splitlines(), 1):
        module = line.split("#")[0].partition(":")[0].strip()
        if module and module not in used:
            complaints.append(f"tests/tidy/layers.txt:{number}: {module} has no sources: remove the row")
        elif module:
            complaints += [f"tests/tidy/layers.txt:{number}: {module} does not include {other}: remove it from the row"
                           for other in sorted(allowed[module] - used[module])]
    return complaints


CONFINED = [
    # pattern of the include, folders or files that may have it, why
    (re.compile(r"^asmjit/"), ("jit/codegen/", "jit/image/", "runtime/tensor/"), "asmjit stays in jit/codegen and runtime/tensor"),
    (re.compile(r"^flatbuffers/|control_generated"), ("daemon/", "clients/"), "FlatBuffers stays at the wire"),
    (re.compile(r"^(sys/|linux/)"), ("runtime/os/", "clients/c/", "clients/emu/"),
     "system headers stay in runtime/os, and in clients/emu, which answers system calls"),
    (re.compile(r"^(immintrin|x86intrin|arm_neon)\.h|^xsimd/"), ("runtime/simd/", "runtime/field/", "jit/kir/", "bench/", "runtime/os/"),
     "intrinsics stay in the vector code of runtime/simd, runtime/field and jit/kir"),
    (re.compile(r"^mpfr\.h|^gmp"), ("jit/equiv/", "jit/rulecheck/"), "MPFR is the reference, kept out of what it checks"),
    (re.compile(r"^openssl/"), ("runtime/store/",), "libcrypto stays in runtime/store"),
    # Headers that take seconds to compile.
    (re.compile(r"^CLI/"), ("runtime/command_line/command.cpp",), "CLI11 stays behind runtime/command_line/command.h"),
    (re.compile(r"^nlohmann/"), ("runtime/json/json.cpp",), "nlohmann's JSON stays behind runtime/json/json.h"),
    (re.compile(r"^spdlog/"), ("runtime/log/log.cpp",), "spdlog stays behind runtime/log/log.h"),
    (re.compile(r"^mimalloc"), ("daemon/",), "an allocator must never reach the client library"),
]


def rule_confined_includes(root, files):
    complaints = []
    for path in sources(files):
        text = read(root, path)
        for match in INCLUDE.finditer(text):
            for pattern, folders, why in CONFINED:
                if pattern.search(match.group(2)) and not path.startswith(folders):
                    line = text.count("\n", 0, match.start()) + 1
                    complaints.append(f"{path}:{line}: <{match.group(2)}>: {why}")
    return complaints


# Words that say nothing, and adjectives of forks. (`runtime/base` is a place; a base of logarithms is called Base.)
EMPTY_WORDS = "utils?|helpers?|managers?|handlers?|processors?|misc|common|impl|wrappers?|data|info"
BANNED_STEMS = re.compile(rf"(^|_)({EMPTY_WORDS}|v2|new|old|fast|optimized|legacy|ultra)$|^base_")
BANNED_TYPES = re.compile(r"(Utils?|Helpers?|Managers?|Handlers?|Processors?|Misc|Common|[a-z]Base|Impl|Wrappers?|Data|Info)$"
                          r"|^(Misc|Common|Base)[A-Z]")
OLDER_TYPES = {"OpInfo", "VRegInfo"}  # than the rule; no more of them
TYPE_NAME = re.compile(r"^\s*(?:template\s*<[^;{]*>\s*)?(?:class|struct|enum class|enum struct|enum|union|using)\s+"
                       r"(?:\[\[\w+\]\]\s+)?([A-Z]\w*)\b(?!::)", re.M)


def rule_file_names(root, files):
    del root
    complaints = []
    for path in files:
        for part in path.split("/"):
            if BANNED_STEMS.search(part.split(".")[0]):
                complaints.append(f"{path}:1: the name says nothing or forks something: '{part}'")
    return complaints


def rule_type_names(root, files):
    """The words that file names may not end in say as little in the name of a type."""
    complaints = []
    for path in files:
        if not path.endswith(SOURCE) or path.split("/")[0] not in LAYERS + ("tests", "bench"):
            continue
        text = read(root, path)
        for match in TYPE_NAME.finditer(text):
            if BANNED_TYPES.search(match.group(1)) and match.group(1) not in OLDER_TYPES:
                line = text.count("\n", 0, match.start(1)) + 1
                complaints.append(f"{path}:{line}: the name says nothing: '{match.group(1)}'")
    return complaints


UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|not implemented|placeholder", re.I)


def rule_unfinished(root, files):
    complaints = []
    for path in files:
        if path.startswith("tests/tidy/") or not path.endswith(SOURCE + (".py", ".def", ".fbs", ".md", ".txt", ".cmake")):
            continue
        for number, line in enumerate(read(root, path).splitlines(), 1):
            match = UNFINISHED.search(line)
            if match and match.group(0) not in ("hack", "xxx"):
                complaints.append(f"{path}:{number}: unfinished work: '{match.group(0)}'")
    return complaints


def rule_sizes(root, files):
    complaints = []
    for path in files:
        if path.endswith(SOURCE + (".py",)):
            lines = read(root, path).count("\n")
            if lines > FILE_LINES_MAX:
                complaints.append(f"{path}:1: {lines} lines frighten: at most {FILE_LINES_MAX}")
        elif os.path.basename(path) == "README.md":
            lines = read(root, path).count("\n")
            bound = ROOT_README_LINES_MAX if path == "README.md" else README_LINES_MAX
            if lines > bound:
                complaints.append(f"{path}:1: {lines} lines: at most {bound}")
    return complaints


def rule_versions(root, files):
    """Headers and documents say since when a part is there: no part is newer than the project's version."""
    if "CMakeLists.txt" not in files:
        return []
    project = version_in(re.search(r"project\(\w+ VERSION ([\d.]+)", read(root, "CMakeLists.txt")).group(1))
    complaints = []
    for path in files:
        if path.endswith(SOURCE + (".md",)):
            for number, line in enumerate(read(root, path).splitlines(), 1):
                newer = [v for v in re.findall(r"\b[Ss]ince (\d+\.\d+\.\d+)", line) if version_in(v) > project]
                complaints += [f"{path}:{number}: version {v} is newer than the project's (CMakeLists.txt)" for v in newer]
    return complaints


def version_in(text):
    return tuple(map(int, text.split(".")))


def rule_readmes(root, files):
    """Every folder with sources in a layer, and every folder of tests and bench, says what it is for."""
    del root
    folders = {os.path.dirname(f) for f in files if f.endswith(SOURCE + (".def", ".fbs")) and "/" in f}
    have = {os.path.dirname(f) for f in files if os.path.basename(f) == "README.md"}
    return [f"{folder}:1: no README.md" for folder in sorted(folders - have)]


def rule_dead_headers(root, files):
    """A header that nothing includes is dead."""
    included = set()
    for path in files:
        if path.endswith(SOURCE + (".def", ".inc")):
            included |= {match.group(2) for match in INCLUDE.finditer(read(root, path))}
            included |= {os.path.normpath(os.path.join(os.path.dirname(path), m.group(2)))
                         for m in INCLUDE.finditer(read(root, path))}
    public = ("clients/c/trident.h", "clients/cpp/trident.hpp")
    return [f"{path}:1: nothing includes it" for path in files
            if path.endswith((".h", ".hpp", ".def", ".inc")) and path not in included and path not in public
            and "/samples/" not in path]


MODULE = re.compile(r"trident_module\(\s*([\w/]+)")


def rule_dead_sources(root, files):
    """A source that no module takes in, no build file names and no README of its folder explains is dead."""
    builds = [f for f in files if f.endswith(("CMakeLists.txt", ".cmake", ".sh")) or os.path.basename(f) == "Makefile"]
    texts = [read(root, f) for f in builds]
    modules = {match.group(1) for text in texts for match in MODULE.finditer(text)}
    named = {word for text in texts for word in re.findall(r"\w+", re.sub(r"#.*", "", text))}
    explained = {os.path.join(os.path.dirname(f), name) for f in files if os.path.basename(f) == "README.md"
                 for name in re.findall(r"[\w.]+", read(root, f))}
    return [f"{path}:1: no build takes it in" for path in files
            if path.endswith((".cpp", ".c")) and os.path.splitext(os.path.basename(path))[0] not in named
            and path not in explained and (os.path.dirname(path) not in modules or os.path.basename(path) == "main.cpp")]


PATH_SPAN = re.compile(r"`((?:runtime|jit|daemon|schemas|clients|tests|bench|systemd|cmake|docs|\.ci)/[A-Za-z0-9_./-]*)`")


def rule_doc_paths(root, files):
    """A path named in a document must exist."""
    complaints = []
    for path in files:
        if path.endswith(".md"):
            for number, line in enumerate(read(root, path).splitlines(), 1):
                for match in PATH_SPAN.finditer(line):
                    if not os.path.exists(os.path.join(root, match.group(1))):
                        complaints.append(f"{path}:{number}: `{match.group(1)}` does not exist")
    return complaints


GAP = r"(?:\s|//+|#)+"  # a line may end between two words of a comment
TARGET = re.compile(r"^([a-z-]+):", re.M)
MAKE_SPAN = re.compile(rf"`make{GAP}([a-z][\w-]*)|\bmake{GAP}([a-z]+-[a-z-]+)")
NAMED = re.compile(r"\b(bench|campaign|weights)(?:\s+[A-Z_]+=\S+)*\s+NAME=([a-z][\w,-]*)")
TABLES = {"bench": "bench/benches.toml", "campaign": "tests/campaigns.toml", "weights": "bench/weights.toml"}
TELLS = SOURCE + (".md", ".py", ".def", ".fbs", ".txt", ".tsv", ".toml", ".cmake", ".js", "Makefile", "/check", "/run")


def rule_make_targets(root, files):
    """A make target named anywhere must be in the Makefile, and a NAME= in its table."""
    targets = set(TARGET.findall(read(root, "Makefile")))
    rows = {kind: set(tomllib.loads(read(root, path))) if path in files else set() for kind, path in TABLES.items()}
    complaints = []
    for path in files:
        if path.startswith("tests/tidy/") or not path.endswith(TELLS):
            continue
        text = read(root, path)
        wrong = [(m.start(), f"make {m.group(1) or m.group(2)}") for m in MAKE_SPAN.finditer(text)
                 if (m.group(1) or m.group(2)) not in targets]
        wrong += [(m.start(), f"{m.group(1)} NAME={name}") for m in NAMED.finditer(text)
                  for name in m.group(2).split(",") if name not in rows[m.group(1)]]
        complaints += [f"{path}:{text.count(chr(10), 0, at) + 1}: there is no '{what}'" for at, what in wrong]
    return complaints


COMMENT_LINE = {"//": re.compile(r"\s*(?:///?|/\*\*?)(?:\s|$)"), "#": re.compile(r"\s*#(?!!)")}
COMMENT_START = {"//": re.compile(r"(?:^\s*(?:///?|/\*\*?)|///<)\s*"), "#": re.compile(r'^\s*(?:#(?!!)|""")\s*')}
OPENING = re.compile(r"(?:Of|What|Whose|Any of|The same)\b")


def comment_mark(path):
    if path.endswith(SOURCE + (".def", ".inc", ".fbs")):
        return "//"
    return "#" if path.endswith((".py", ".cmake", "CMakeLists.txt")) else None


def opening_of(mark, line, follows_comment):
    """Returns the refused words that a comment begins with on this line, or None. Further lines of a block are free."""
    start = COMMENT_START[mark].search(line)
    if not start or (follows_comment and COMMENT_LINE[mark].match(line)):
        return None
    return OPENING.match(line[start.end():])


def rule_comment_openings(root, files):
    """A comment begins with a verb, or with a noun and a verb: these openings hide the thing that they are about."""
    complaints = []
    for path in files:
        mark, follows_comment = comment_mark(path), False
        for number, line in enumerate(read(root, path).splitlines() if mark else (), 1):
            opening = opening_of(mark, line, follows_comment)
            if opening:
                complaints.append(f"{path}:{number}: a comment begins with '{opening.group()}': "
                                  "begin with a verb, or with a noun and a verb")
            follows_comment = COMMENT_LINE[mark].match(line) is not None
    return complaints


def rule_op_lists(root, files):
    """A fact about ops is a column of ops.def; lists of ops by hand are those of op_lists.txt."""
    return op_lists.complaints(root, sources(files))


def rule_class_sizes(root, files):
    """A class fits a reader's head; those of long_classes.txt may be longer, but may not grow."""
    return class_sizes.complaints(root, sources(files))


RULES = [value for name, value in sorted(globals().items()) if name.startswith("rule_")]
