"""Messages of all verbs about input that is no text. Oracle: UTF-8's decoder and the character classes of Python."""
import subprocess
import sys
import unittest

from command_case import TRIDENT, CommandCase


class Messages(CommandCase):
    def test_input_that_a_message_quotes_is_printable(self):
        bad = bytes(range(1, 256)) + b"\xc2\x9b31m \xe2\x82 \xed\xa0\x80 \x1b[2J"
        with open(self.at("bad"), "wb") as handle:
            handle.write(bad)
        word = bad.replace(b"\n", b" ")
        lines = [("loop", self.at("bad")), ("loop", "--hex", word), ("run", word), ("explain", word), ("check", word), (word,),
                 ("run", b"--" + word), ("run", "x", "-i", b"x=" + word), ("build", self.at("bad")), ("lower", self.at("bad")),
                 ("oracle", "loops", self.at("bad")), ("rules", "check", self.at("bad")), ("library", "test", self.at("bad")),
                 ("bench", self.at("bad")), ("run", "x", "--load-rules", b"/" + word)]
        for line in lines:
            with self.subTest(line=line):
                ended = subprocess.run([TRIDENT, *line], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
                self.assertNotEqual(ended.returncode, 0)
                message = ended.stderr.decode("utf-8")  # fails for bytes that are none
                self.assertEqual([], [c for c in message if not c.isprintable() and c not in "\n\t"], message)
        self.assertIn("'\\x1b\\x9b'", self.trident("loop", "--hex", b"\x1b\x9b", status=2).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
