"""A server of models that follows a script, over real HTTP: it speaks both protocols.

Chat completions as OpenAI has them, at /v1/chat/completions, and messages as Anthropic has them, at
/v1/messages; streamed as server-sent events or whole, with structured output. Every request takes
the next step of the script, or what a function makes of it.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PIECE = 40
KEY = "sk-scripted-0123456789abcdef"


@dataclass(frozen=True)
class Step:
    """How one request is answered.

    `then` is what follows the text: its 'end', a 'cut' of the connection, a 'stop' of the stream
    without an end, 'silence' until the server is closed, an 'error' event, or what the protocols
    call a 'limit' and a 'refusal'. With another `status` than 200 `text` is the error's message,
    and `kind` its type.
    """

    text: str = ""
    then: str = "end"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""
    tokens_in: int = 100
    tokens_out: int = 50


def says(text: str, **more: Any) -> Step:
    """An answer of this text."""
    return Step(text, **more)


def refuses(why: str) -> Step:
    """A refusal."""
    return Step(why, then="refusal")


def fails(status: int, message: str = "scripted", *, kind: str = "", **headers: str) -> Step:
    """An error; underscores in names of headers stand for hyphens."""
    return Step(
        message,
        status=status,
        kind=kind,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


def kernel(source: str, **fields: str) -> Step:
    """The optimizer's answer with this source."""
    reply = {"summary": "It is new. It is better.", "technique": "a new way", "wording": "slow"}
    return says(json.dumps({**reply, **fields, "source": source}))


@dataclass(frozen=True)
class Asked:
    """A request as it came: `api` is 'openai' or 'anthropic', headers in small letters."""

    api: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def system(self) -> str:
        """What the model was told to be."""
        if self.api == "anthropic":
            return str(self.body["system"])
        return str(self.body["messages"][0]["content"])

    @property
    def fields(self) -> list[str]:
        """What the answer is to have, by which the role that asks can be told."""
        form = self.body.get("output_config", {}).get("format", {})
        if self.api == "openai":
            form = self.body.get("response_format", {}).get("json_schema", {})
        return list(form.get("schema", {}).get("required", ()))

    @property
    def turns(self) -> list[tuple[str, str]]:
        """Role and text of every turn of the conversation."""
        messages = self.body["messages"]
        return [(each["role"], each["content"]) for each in messages if each["role"] != "system"]


Script = Sequence[Step] | Callable[[Asked], Step]


class ModelServer:
    """Serves `script` on the loopback address until the context ends. `asked` is what came."""

    def __init__(self, script: Script, *, key: str = KEY) -> None:
        self.key = key
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self._script = script
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.models = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def url(self, api: str) -> str:
        """The base URL for clients of that protocol."""
        root = f"http://127.0.0.1:{self._server.server_address[1]}"
        return root if api == "anthropic" else f"{root}/v1"

    def next_step(self, asked: Asked) -> Step:
        """Note a request, and say what becomes of it."""
        with self._lock:
            self.asked.append(asked)
            place = len(self.asked) - 1
        if callable(self._script):
            return self._script(asked)
        return self._script[place] if place < len(self._script) else fails(400, "it is over")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    models: ModelServer

    def handle_error(self, *_: Any) -> None:
        """Clients that hang up are part of the script."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Be quiet."""

    def do_POST(self) -> None:
        models = self.server.models
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        apis = {"/v1/chat/completions": "openai", "/v1/messages": "anthropic"}
        api = apis.get(self.path)
        if api is None:
            return self._whole(404, {"error": {"message": f"no such path: {self.path}"}}, {})
        step = models.next_step(Asked(api, headers, body))
        fault = _wrong_key(api, headers, models.key) or _wrong_request(api, body)
        if fault:
            step = fault
        if step.status != 200:
            return self._whole(step.status, _error(api, step), step.headers)
        if not body.get("stream"):
            return self._whole(200, _whole_answer(api, step, body), step.headers)
        return self._stream(api, step, body)

    def _whole(self, status: int, answer: Any, headers: Mapping[str, str]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, api: str, step: Step, body: Mapping[str, Any]) -> None:
        if step.then == "silence" and not step.text:
            self.server.models.closing.wait()
            self.close_connection = True
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        events = _openai_events if api == "openai" else _anthropic_events
        with suppress(OSError):
            for event in events(step, str(body["model"])):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            if step.then == "silence":
                self.server.models.closing.wait()
            if step.then in ("cut", "silence"):
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.wfile.write(b"0\r\n\r\n")


def _wrong_key(api: str, headers: Mapping[str, str], key: str) -> Step | None:
    # Anthropic's server takes both, of which clients have used one or the other.
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    got = headers.get("x-api-key", bearer) if api == "anthropic" else bearer
    # Real servers quote part of a wrong key; this one quotes all of it.
    return None if got == key else fails(401, f"incorrect API key provided: {got}")


def _wrong_request(api: str, body: Mapping[str, Any]) -> Step | None:
    """What the real servers refuse of requests with structured output."""
    if api == "openai":
        form = body.get("response_format", {"type": "text"})
        schema = form.get("json_schema", {}).get("schema")
        wanted = form["type"] == "json_schema" and form["json_schema"].get("strict")
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
    else:
        schema = body.get("output_config", {}).get("format", {}).get("schema")
        wanted, limit = schema is not None, body.get("max_tokens")
    if not limit:
        return fails(400, "max_tokens: missing")
    if wanted and (
        schema.get("additionalProperties") is not False
        or sorted(schema["required"]) != sorted(schema["properties"])
    ):
        return fails(400, "schema: every property must be required, and no other allowed")
    return None


def _error(api: str, step: Step) -> dict[str, Any]:
    kinds = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}
    kind = step.kind or kinds.get(step.status, "api_error")
    error = {"type": kind, "message": step.text}
    return {"error": error} if api == "openai" else {"type": "error", "error": error}


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def _event(data: Any, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    text = data if isinstance(data, str) else json.dumps(data)
    return f"{head}data: {text}\n\n".encode()


def _openai_events(step: Step, model: str) -> Iterator[bytes]:
    def chunk(delta: Mapping[str, Any], reason: str | None = None, **more: Any) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        return _event({**_chunk(model), "choices": choices, **more})

    yield chunk({"role": "assistant", "content": ""})
    key = "refusal" if step.then == "refusal" else "content"
    for piece in _pieces(step.text):
        yield chunk({key: piece})
    if step.then == "error":
        yield _event({"error": {"type": "server_error", "message": "scripted"}})
    ends = {"end": "stop", "limit": "length", "refusal": "stop"}
    if step.then in ends:
        yield chunk({}, ends[step.then])
        yield _event({**_chunk(model), "choices": [], "usage": _openai_usage(step)})
        yield _event("[DONE]")


def _chunk(model: str) -> dict[str, Any]:
    return {"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": model}


def _openai_usage(step: Step) -> dict[str, int]:
    total = step.tokens_in + step.tokens_out
    return {
        "prompt_tokens": step.tokens_in,
        "completion_tokens": step.tokens_out,
        "total_tokens": total,
    }


def _anthropic_events(step: Step, model: str) -> Iterator[bytes]:
    def event(kind: str, **data: Any) -> bytes:
        return _event({"type": kind, **data}, kind)

    yield event("message_start", message=_message(step, model, []))
    yield event("ping")
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    text = "" if step.then == "refusal" else step.text
    for piece in _pieces(text):
        yield event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
    if step.then == "error":
        error = {"type": "overloaded_error", "message": "scripted"}
        yield event("error", error=error)
    ends = {"end": "end_turn", "limit": "max_tokens", "refusal": "refusal"}
    if step.then in ends:
        yield event("content_block_stop", index=0)
        delta: dict[str, Any] = {"stop_reason": ends[step.then], "stop_sequence": None}
        if step.then == "refusal":
            delta["stop_details"] = {"type": "refusal", "category": None, "explanation": step.text}
        yield event("message_delta", delta=delta, usage={"output_tokens": step.tokens_out})
        yield event("message_stop")


def _message(step: Step, model: str, content: list[Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": step.tokens_in, "output_tokens": 1},
    }


def _whole_answer(api: str, step: Step, body: Mapping[str, Any]) -> dict[str, Any]:
    model = str(body["model"])
    if api == "anthropic":
        message = _message(step, model, [{"type": "text", "text": step.text}])
        return {**message, "stop_reason": "end_turn"}
    said = {"role": "assistant", "content": step.text}
    choices = [{"index": 0, "message": said, "finish_reason": "stop"}]
    return {
        **_chunk(model),
        "object": "chat.completion",
        "choices": choices,
        "usage": _openai_usage(step),
    }
