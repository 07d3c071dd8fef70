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
    channel.HTTPChannel.service: ("self.task_class(self, request)", "self.error_task_class("),
    channel.HTTPChannel.handle_write: ("self.total_outbufs_len", "self.handle_close()"),
    channel.HTTPChannel.write_soon: ("with self.outbuf_lock:", "outbuf_high_watermark"),
    channel.HTTPChannel._flush_some: ("self.send(chunk, do_close=do_close)",),  # type: ignore[attr-defined]
    channel.HTTPChannel.add_channel: ("self.server.active_channels[",),
    parser.HTTPRequestParser.parse_header: (
        'headers[key1] += (b", " + value)',
        "self.chunked = True",
    ),
    parser.HTTPRequestParser.received: ("self.parse_header(", "self.error = BadRequest("),
    receiver.ChunkedReceiver.received: ("self.chunk_remainder = sz",),
    server.BaseWSGIServer.handle_accept: ("self.channel_class(self, conn, addr",),
    server.BaseWSGIServer.add_task: ("self.task_dispatcher.add_task(task)",),
    task.WSGITask.execute: ("self.write(chunk)", "self.content_length"),
    task.Task.write: ("self.build_response_header()", "channel.write_soon("),
    task.Task.build_response_header: (
        "self.chunked_response = True",
        'self.request.headers.get("CONNECTION", "")',
    ),
    wasyncore.loop: ("count",),
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
