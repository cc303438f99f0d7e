"""A jail's end of the way out: takes connections on the jail's loopback to the lead's socket file.

It is run inside, as a program of its own: `egress_relay.py SOCKET -- COMMAND …`. The relay goes on
in the background and the command takes its place, so it sees nothing of it. The kernel gives the
jail no other network; the relay decides nothing.
"""

import os
import socket
import sys
import threading

PORT = 3128
"""On the jail's own loopback, where nothing else listens when it begins."""
SOCKET = "/run/crewyard-egress"
"""Where the jail shows the lead's socket file."""
_CHUNK_BYTES = 65_536


def main(arguments: list[str]) -> None:
    """Starts the relay and becomes the command."""
    path, command = arguments[0], arguments[2:]
    listener = socket.create_server(("127.0.0.1", PORT))
    if os.fork() == 0:
        # Nobody's child, so that the command need not wait for it; it ends with the jail.
        if os.fork() == 0:
            _serve(listener, path)
        os._exit(0)
    os.wait()
    listener.close()
    os.execvp(command[0], command)


def _serve(listener: socket.socket, path: str) -> None:
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    while True:
        inner, _ = listener.accept()
        threading.Thread(target=_relay, args=(inner, path), daemon=True).start()


def _relay(inner: socket.socket, path: str) -> None:
    with inner, socket.socket(socket.AF_UNIX) as outer:
        outer.connect(path)
        back = threading.Thread(target=_copy, args=(outer, inner), daemon=True)
        back.start()
        _copy(inner, outer)
        back.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(_CHUNK_BYTES):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        # One side is gone; the other must hear of it.
        for end in (source, sink):
            end.close()


if __name__ == "__main__":
    main(sys.argv[1:])
