"""Sockets where no daemon listens: the error names the socket and says so. The oracle is what listens there."""
import os
import socket
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import trident


def closes(connection):
    connection.close()


def speaks_http(connection):
    connection.recv(100)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def echoes(connection):
    while data := connection.recv(4096):
        connection.sendall(data)


class Sockets(unittest.TestCase):
    def listening(self, folder, behaviour):
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(os.path.join(folder, behaviour.__name__))
        server.listen()

        def serve():
            kept = []
            while True:
                try:
                    kept.append(server.accept()[0])
                    behaviour(kept[-1])
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        return server.getsockname()

    def test_who_listens_is_no_daemon(self):
        with tempfile.TemporaryDirectory() as folder:
            for behaviour in (closes, speaks_http, echoes):
                path = self.listening(folder, behaviour)
                with self.subTest(path), self.assertRaisesRegex(trident.TridentError, f"{path}: whoever listens there is no daemon"):
                    trident.Context("daemon", path)

    def test_no_socket(self):
        with tempfile.NamedTemporaryFile() as file:
            for path, what in ((file.name, "not a socket"), (file.name + "x", "No such file")):
                with self.assertRaisesRegex(trident.TridentError, f"no daemon: .*{path}.*: {what}"):
                    trident.Context("daemon", path)


if __name__ == "__main__":
    unittest.main()
