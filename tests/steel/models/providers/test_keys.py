"""A key is in the headers of requests alone: not in what is raised, said, written or asked."""

from __future__ import annotations

import logging
import traceback
from dataclasses import replace

import pytest
from steel.model_server import KEY, ModelServer, fails, kernel, refuses, says
from steel.models.providers.sources import BETTER, VARIABLES

from agent_steel.models.providers import NAMES, create, create_model
from agent_steel.models.providers.api import ChatMessage, Failed, Question
from agent_steel.models.replies import object_schema
from agent_steel.proposal import ProposerError

# Replies of a server that could make the client print the key.
ENDINGS = [
    fails(401, f"incorrect API key provided: {KEY}"),
    fails(400, f"Authorization: Bearer {KEY}"),
    refuses(f"You sent me {KEY}."),
    says(f"{KEY}"),
    kernel(BETTER, **{KEY: "more"}),
    fails(500, KEY),
]


def chain(error):
    """An error and all that it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("ending", ENDINGS, ids=range(len(ENDINGS)))
def test_no_error_has_the_key(asking, brief, ending, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    it = asking([ending] * 5)
    with pytest.raises(ProposerError) as caught:
        it.propose(brief)
    for error in chain(caught.value):
        assert KEY not in f"{error} {error!r} {error.args} {vars(error)}"
        # Errors of client libraries hold the request, and with it the key.
        assert not hasattr(error, "request")
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert KEY not in "\n".join(it.said)
    assert KEY not in caplog.text
    assert KEY not in "".join(capfd.readouterr())
    assert any(VARIABLES[it.server.asked[0].api] in each for each in (str(caught.value), *it.said))


def test_a_failed_request_has_no_reference_to_the_library(api, prices):
    with ModelServer([fails(401, KEY)]) as server:
        asked = create_model(api, model="scripted", prices=prices, base_url=server.url(api)).api
        question = Question(
            "", (ChatMessage("user", "?"),), "form", object_schema({"a": "one"}), 10
        )
        with pytest.raises(Failed) as caught:
            asked.ask(question, str)
    assert list(chain(caught.value)) == [caught.value]


def test_the_key_is_asked_with_but_not_asked_about(asking, brief):
    leaking = replace(brief.parent, number=2, summary=f"It used {KEY}.", error=KEY)
    it = asking([says(KEY), kernel(BETTER)])
    it.propose(replace(brief, attempts=(leaking,), reference=KEY))
    for asked in it.server.asked:
        told = [name for name, value in asked.headers.items() if KEY in value]
        assert told in (["authorization"], ["x-api-key"])
        assert KEY not in str(asked.body)


def test_no_file_has_the_key(asking, brief, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    asking([kernel(BETTER)]).propose(brief)
    assert all(KEY not in path.read_text() for path in tmp_path.rglob("*") if path.is_file())


def test_a_missing_key_is_reported_with_its_variable(api, monkeypatch):
    monkeypatch.delenv(VARIABLES[api])
    with pytest.raises(ProposerError, match=rf"no key: set {VARIABLES[api]} in the environment"):
        create(api)


@pytest.mark.parametrize("provider", NAMES)
def test_a_key_is_sent_to_its_provider_only(provider, monkeypatch, brief):
    for variable in VARIABLES.values():
        monkeypatch.setenv(variable, "sk-of-another")
    own = f"{provider.upper()}_API_KEY"
    monkeypatch.setenv(own, KEY)
    for name in ("ORG_ID", "PROJECT_ID", "ADMIN_KEY"):
        monkeypatch.setenv(f"OPENAI_{name}", "sk-of-another" if provider != "openai" else "mine")
    api = "anthropic" if provider == "anthropic" else "openai"
    with ModelServer([kernel(BETTER)]) as server:
        proposer = create(provider, model="any", base_url=server.url(api))
        proposer.propose(brief, lambda _: None)
    sent = str(server.asked[0].headers)
    assert KEY in sent
    assert "sk-of-another" not in sent


@pytest.mark.parametrize("provider", ["ollama", "vllm"])
def test_local_servers_need_no_key_and_cost_nothing(provider, brief, monkeypatch):
    for name in (*VARIABLES.values(), "OLLAMA_API_KEY", "VLLM_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with ModelServer([kernel(BETTER)], key="none") as server:
        proposer = create(provider, model="any", base_url=server.url("openai"), max_cost=0.01)
        proposal = proposer.propose(brief, lambda _: None)
    assert proposal.usage.cost == 0.0
    assert "max_tokens" in server.asked[0].body


def test_a_user_or_password_in_the_address_is_refused(api):
    with pytest.raises(ProposerError, match="no user or password") as caught:
        create(api, base_url="http://me:secret@localhost/v1")
    assert "secret" not in str(caught.value)
