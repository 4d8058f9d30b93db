"""Runs the blocks of code of docs/*.md and compares what they print. argv: TRIDENT TRIDENTD LIBTRIDENT."""
import concurrent.futures
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

TRIDENT, TRIDENTD, LIBRARY = sys.argv[1:4] if len(sys.argv) > 3 else ("", "", "")
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))
INDEX = os.path.join(ROOT, "docs", "README.md")
SECONDS = 240  # a busy machine is not a fault
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
FILE_NAME = re.compile(r"(?://|#|;) ((?:~/)?[\w./-]+\.\w+)\n")
SAVED = ("c", "cpp", "tasm", "tir", "toml", "rules")
MARK = "@@ block "


def blocks_of(text):
    """(language, content) of each fenced block."""
    return [match.groups() for match in BLOCK.finditer(text)]


def steps_of(blocks):
    """(shell text, what it prints) of each block that does something. Bad pages: ValueError."""
    steps = []
    for language, content in blocks:
        name = FILE_NAME.match(content)
        if language == "text":
            if not steps or steps[-1][1]:
                raise ValueError(f"an output without a block before it: {content!r}")
            steps[-1] = (steps[-1][0], content)
        elif name and language != "sh":
            folder = os.path.dirname(name.group(1)) or "."
            steps.append((f"mkdir -p {folder}\ncat > {name.group(1)} <<'@@'\n{content}@@\n", ""))
        elif language == "python":
            steps.append((f"python3 - <<'@@'\n{content}@@\n", ""))
        elif language == "sh":
            steps.append((content, ""))
        else:
            cure = "; name its file in its first line" if language in SAVED else ""
            raise ValueError(f"a block of '{language}' that nobody runs{cure}")
    return steps


def script_of(steps):
    """One shell for all steps. What a page leaves running ends with it."""
    lines = ["exec 2>&1", "trap 'kill $(jobs -p) 2> /dev/null || true; wait' EXIT", "set -e -o pipefail"]
    for i, (command, _) in enumerate(steps):
        lines += [f"echo '{MARK}{i}'", command]
    return "\n".join(lines) + "\n"


def matches(expected, printed):
    """Returns whether `printed` is `expected`, where "..." stands for any text of a line or, alone, for any lines."""
    pattern = "".join("(?:.*\n)*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + "\n"
                      for line in expected.splitlines())
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in printed.splitlines())) is not None


def private_environment(folder):
    """The variables of a reader with an installation, a home of its own and no daemon."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TRIDENT_", "XDG_"))}
    tools = os.path.join(folder, "bin")
    for place in (tools, os.path.join(folder, "home"), os.path.join(folder, "run")):
        os.mkdir(place, 0o700)
    for path, name in ((sys.executable, "python3"), (TRIDENT, "trident"), (TRIDENTD, "tridentd")):
        os.symlink(path, os.path.join(tools, name))
    libraries = os.path.dirname(LIBRARY)
    environment.update(PATH=tools + os.pathsep + os.environ["PATH"], HOME=os.path.join(folder, "home"),
                       XDG_RUNTIME_DIR=os.path.join(folder, "run"), LC_ALL="C.UTF-8", TRIDENT_LIBRARY=LIBRARY,
                       CPATH=os.pathsep.join(os.path.join(ROOT, "clients", part) for part in ("c", "cpp")),
                       LIBRARY_PATH=libraries, LD_LIBRARY_PATH=libraries,
                       PYTHONPATH=os.path.join(ROOT, "clients", "python"),
                       PYTHONDONTWRITEBYTECODE="1", PYTHONUNBUFFERED="1")
    return environment


def run(steps):
    """Returns the output of each step, as far as the script came, and the exit status of the script."""
    with tempfile.TemporaryDirectory() as folder:
        work = os.path.join(folder, "work")
        os.mkdir(work)
        with subprocess.Popen(["bash", "-c", script_of(steps)], cwd=work, env=private_environment(folder), text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True) as shell:
            try:
                printed = shell.communicate(timeout=SECONDS)[0]
            except subprocess.TimeoutExpired:
                os.killpg(shell.pid, signal.SIGKILL)
                printed = shell.communicate()[0] + f"{SECONDS} seconds were over\n"
    return re.split(re.escape(MARK) + r"\d+\n", printed)[1:], shell.returncode


def steps_of_page(page):
    with open(page, encoding="utf-8") as handle:
        return steps_of(blocks_of(handle.read()))


class Pages(unittest.TestCase):
    def test_every_block_prints_what_the_page_shows(self):
        pages = [(page, steps) for page in PAGES for steps in [steps_of_page(page)] if steps]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            runs = list(pool.map(lambda page: run(page[1]), pages))
        for (page, steps), (printed, status) in zip(pages, runs):
            for (command, expected), output in zip(steps, printed):
                with self.subTest(page=os.path.basename(page), block=command):
                    self.assertTrue(matches(expected, output), f"the page shows\n{expected}\nand it prints\n{output}")
            self.assertEqual((0, len(steps)), (status, len(printed)), f"{page}: a block failed: {printed[-1:]}")

    def test_every_page_has_a_line_in_the_index_and_an_example(self):
        with open(INDEX, encoding="utf-8") as handle:
            linked = re.findall(r"^- \[.*?\]\((.*?)\): ", handle.read(), re.M)
        pages = [os.path.basename(page) for page in PAGES if page != INDEX]
        self.assertEqual(pages, sorted(linked))
        for page in pages:
            self.assertTrue(any(expected for _, expected in steps_of_page(os.path.join(ROOT, "docs", page))), page)


class Comparison(unittest.TestCase):
    """The test can fail."""

    def test_texts_that_differ(self):
        for expected, printed in (("1\n", "2\n"), ("1\n", ""), ("", "1\n"), ("1\n2\n", "1\n"), ("1\n", "1\n2\n"),
                                  ("1.5\n", "125\n")):
            self.assertFalse(matches(expected, printed), (expected, printed))

    def test_texts_that_agree(self):
        for expected, printed in (("1\n", "1  \n"), ("a ... z\n", "a b c z\n"), ("1\n...\n9\n", "1\n2\n3\n9\n"),
                                  ("...\n", "")):
            self.assertTrue(matches(expected, printed), (expected, printed))

    def test_pages_that_nobody_could_run(self):
        for text in ("```text\n1\n```\n", "```java\n1\n```\n", "```c\nint x;\n```\n",
                     "```sh\ntrue\n```\n```text\n1\n```\n```text\n2\n```\n"):
            with self.assertRaises(ValueError, msg=text):
                steps_of(blocks_of(text))

    def test_a_failing_block_ends_the_page(self):
        printed, status = run([("echo 1", ""), ("false", ""), ("echo 2", "")])
        self.assertEqual((["1\n", ""], 1), (printed, status))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
