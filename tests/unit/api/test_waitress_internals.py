"""What ``api/server/waitress_loop.py`` relies on in waitress is still there."""

import inspect
import re
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from waitress import channel, parser, receiver, server, task, wasyncore

import api.server
from api.server import waitress_loop

# The source of what is overridden, by what the overrides rely on.
RELIED_ON = {
    channel.HTTPChannel.received: ("self.parser_class(self.adj)", "self.server.add_task(self)"),
    # A suspended task is the first request again, and what it raises closes the connection.
    channel.HTTPChannel.service: (
        "request = self.requests[0]",
        "task = self.task_class(self, request)",
        "task.service()",
        "if not task.wrote_header:",
        "self.error_task_class(",
        "if task.close_on_finish:",
        "self.requests.pop(0)",
        "if self.connected and self.requests:\n                    self.server.add_task(self)",
    ),
    channel.HTTPChannel.handle_write: ("self.total_outbufs_len", "self.handle_close()"),
    channel.HTTPChannel.write_soon: ("with self.outbuf_lock:", "outbuf_high_watermark"),
    channel.HTTPChannel._flush_some: (  # type: ignore[attr-defined]
        "self.send(chunk, do_close=do_close)",
        "# failed to write anything, break out entirely",
    ),
    channel.HTTPChannel.add_channel: ("self.server.active_channels[",),
    channel.HTTPChannel.del_channel: ("if fd in ac:",),
    channel.HTTPChannel.readable: ("len(self.requests) > self.adj.channel_request_lookahead",),
    parser.HTTPRequestParser.parse_header: (
        'headers[key1] += (b", " + value)',
        "self.chunked = True",
        # All that is set, which ``RequestParser._take_simple`` sets too.
        "self.request_uri = ",
        "self.fragment,\n        ) = split_uri(uri)\n        self.url_scheme = ",
        "if cl > 0:\n                buf = ",
    ),
    parser.HTTPRequestParser.received: ("self.parse_header(", "self.error = BadRequest("),
    receiver.ChunkedReceiver.received: ("self.chunk_remainder = sz",),
    server.BaseWSGIServer.handle_accept: (
        "self.set_socket_options(conn)",
        "self.channel_class(self, conn, addr, self.adj, map=self._map)",
    ),
    server.BaseWSGIServer.add_task: ("self.task_dispatcher.add_task(task)",),
    server.BaseWSGIServer.pull_trigger: ("self.trigger.pull_trigger()",),
    # All variables that are not of the headers, or of the connection.
    task.WSGITask.get_environment: (
        "self.channel.check_client_disconnected",
        '"REQUEST_URI": request.request_uri',
        '"PATH_INFO": path',
        '"QUERY_STRING": request.query',
        '"wsgi.input": request.get_body_stream()',
    ),
    wasyncore.dispatcher.close: ("self.del_channel()", "self.socket = None"),
    wasyncore.read: ("obj.handle_read_event()", "obj.handle_error()"),
    wasyncore.write: ("obj.handle_write_event()", "obj.handle_error()"),
}


def test_waitress_works_as_the_overrides_expect() -> None:
    for function, expected in RELIED_ON.items():
        source = inspect.getsource(function)
        for text in expected:
            assert text in source, f"{function.__qualname__} no longer has: {text}"


def test_a_new_waitress_is_tried_before_it_is_used() -> None:
    (bound,) = (
        required.specifier
        for required in map(Requirement, requires("sankofa") or ())
        if required.name == "waitress"
    )
    assert not bound.contains("3.1") and bound.contains("3.0.2")


def test_no_other_module_relies_on_internals_of_waitress() -> None:
    folder = Path(api.server.__file__).parents[1]
    users = {
        path.name
        for path in folder.rglob("*.py")
        if re.search(r"^(?:from|import) waitress", path.read_text("utf-8"), re.MULTILINE)
    }
    assert users == {Path(waitress_loop.__file__).name}
