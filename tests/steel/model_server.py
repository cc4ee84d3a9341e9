"""A server of models that follows a script, over real HTTP: it speaks both protocols.

Chat completions as OpenAI has them, at /v1/chat/completions, and messages as Anthropic has them, at
/v1/messages; streamed as server-sent events or whole, with structured output. Every request takes
the next step of the script, or what a function makes of it.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from steel.model_answers import Step, anthropic_events, openai_events, whole_answer

KEY = "sk-scripted-0123456789abcdef"


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
    """A request as it came: `api` is 'openai' or 'anthropic', headers in small letters.

    `port` is the client's, which identifies its connection.
    """

    api: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    port: int

    @property
    def system(self) -> str:
        """Return the system prompt of the request."""
        if self.api == "anthropic":
            return str(self.body["system"])
        return str(self.body["messages"][0]["content"])

    @property
    def fields(self) -> list[str]:
        """Return the required fields of the answer, which identify the role that asks."""
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
    """Serves `script` on the loopback address until the context ends. `asked` is what came.

    `checked` is the answer to the requests of a check: the list of models, or the facts of a key;
    `checks` are their paths.
    """

    def __init__(self, script: Script, *, key: str = KEY, checked: Step | None = None) -> None:
        self.key = key
        self.checked = checked or Step()
        self.checks: list[str] = []
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

    def do_GET(self) -> None:
        """Answer a check, which takes no step of the script. Anyone may read a public list."""
        models = self.server.models
        models.checks.append(self.path)
        if models.checked.then == "silence":
            models.closing.wait()
            self.close_connection = True
            return None
        if models.checked.then == "public" and self.path.endswith("/models"):
            return self._whole(200, {"object": "list", "data": []}, {})
        headers = {name.lower(): value for name, value in self.headers.items()}
        api = "anthropic" if "x-api-key" in headers else "openai"
        step = _wrong_key(api, headers, models.key) or models.checked
        if step.status != 200:
            return self._whole(step.status, _error(api, step), step.headers)
        return self._whole(200, {"object": "list", "data": [], "has_more": False}, {})

    def do_POST(self) -> None:
        models = self.server.models
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        apis = {"/v1/chat/completions": "openai", "/v1/messages": "anthropic"}
        api = apis.get(self.path)
        if api is None:
            return self._whole(404, {"error": {"message": f"no such path: {self.path}"}}, {})
        step = models.next_step(Asked(api, headers, body, self.client_address[1]))
        fault = _wrong_key(api, headers, models.key) or _wrong_request(api, body)
        if fault:
            step = fault
        if step.status != 200:
            return self._whole(step.status, _error(api, step), step.headers)
        if not body.get("stream"):
            return self._whole(200, whole_answer(api, step, body), step.headers)
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
        events = openai_events if api == "openai" else anthropic_events
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
    """Return the error that real servers give for a malformed request with structured output."""
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
