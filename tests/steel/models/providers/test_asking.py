"""Every way in which a server can answer, over real HTTP, by both protocols.

The price of the scripted model is 2 US dollars for a million tokens in and 10 for a million out: an
answer of 100 and 50 tokens costs 0.0007.
"""

from __future__ import annotations

import json
import threading

import pytest
from steel.model_server import fails, kernel, refuses, says
from steel.models.providers.sources import BETTER, SOURCE

from agent_steel.models.providers import RequestLimits
from agent_steel.proposal import NothingLeft, ProposerError, RefusedError, SpentError, Usage

GOOD = kernel(BETTER)
ONE = Usage(100, 50, pytest.approx(0.0007), 1)


def test_an_answer_becomes_a_proposal(asking, brief):
    it = asking([GOOD])
    proposal = it.propose(brief)
    assert proposal.source == BETTER
    assert proposal.technique == "a new way"
    assert proposal.summary == "It is new. It is better."
    assert proposal.wording == "slow"
    assert proposal.usage == ONE
    assert it.proposer.usage == ONE
    assert it.proposer.name == it.server.asked[0].api
    assert it.proposer.model == "scripted"
    assert it.waited == []
    assert it.said[0] == "asked scripted"


def test_a_connection_ends_with_its_answer(asking, brief):
    it = asking([GOOD, fails(503), says("no JSON"), GOOD])
    it.propose(brief)
    it.propose(brief)
    ports = [each.port for each in it.server.asked]
    assert len(set(ports)) == len(ports) == 4


def test_the_request_has_the_brief(asking, brief):
    it = asking([GOOD])
    it.propose(brief)
    (asked,) = it.server.asked
    ((role, text),) = asked.turns
    assert role == "user"
    for told in (
        SOURCE.strip(),
        "40 GPU cores, 546 GB/s",
        "mx.maximum(x, 0)",
        "bytes moved: 2 MiB",
    ):
        assert told in text
    assert "`metalbench/softmax.h`: " in asked.system
    assert asked.fields == ["summary", "technique", "wording", "source"]
    if asked.api == "openai":
        assert asked.body["max_completion_tokens"] == 1000
        assert asked.body["response_format"]["json_schema"]["strict"] is True
    else:
        assert asked.body["max_tokens"] == 1000


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (says('{"summary": "cut'), "it is not JSON"),
        (says("Here it is."), "expected a JSON object, got 'Here it is.'"),
        (says(""), "it is empty"),
        (says('["a list"]'), "expected a JSON object"),
        (says('{"summary": "a"}'), "`technique` is missing"),
        (kernel(BETTER, extra="more"), "`extra` was not asked for"),
        (kernel(f"```metal\n{SOURCE}``` and so on"), "2 times ```"),
        (kernel("[[kernel]] void relu() {}"), "no dispatch line"),
        (kernel(BETTER.replace("threads=(TG)", "threads=TG")), "relu.metal:2:"),
        (kernel(BETTER.replace("<metal_stdlib>", '"/etc/passwd"')), "expected a header of Metal"),
        (says(GOOD.text, then="limit"), "the answer was cut off at 50 tokens"),
    ],
)
def test_a_malformed_answer_is_sent_back_once_with_its_reason(asking, brief, answer, reason):
    it = asking([answer, GOOD])
    proposal = it.propose(brief)
    assert proposal.source == BETTER
    assert proposal.usage == Usage(200, 100, pytest.approx(0.0014), 2)
    first, second = it.server.asked
    assert len(first.turns) == 1
    assert [role for role, _ in second.turns] == ["user", "assistant", "user"]
    assert reason in second.turns[2][1]
    assert second.turns[1][1] == (answer.text[:100_000] or "(nothing)")
    assert it.waited == []


def test_a_kernel_that_is_too_long_is_sent_back(asking, brief):
    it = asking([kernel(BETTER + "/" * 200_001), GOOD], max_tokens=100_000)
    assert it.propose(brief).source == BETTER
    assert "expected at most 200000 bytes" in it.server.asked[1].turns[2][1]


@pytest.mark.parametrize(
    "answer",
    [
        says(f"Here it is: {GOOD.text} I hope"),
        says(f"```json\n{GOOD.text}\n```"),
        says(GOOD.text, then="call"),
        kernel(f"```metal\n{BETTER}```"),
        says(f"A better one.\n\n```metal\n{BETTER}```\n"),
    ],
)
def test_other_forms_of_an_answer_need_no_correction(asking, brief, answer):
    it = asking([answer])
    proposal = it.propose(brief)
    assert proposal.source == BETTER
    assert proposal.usage == ONE
    assert proposal.others == ()


def test_two_kernels_of_one_answer_are_two_proposals(asking, brief):
    other = kernel(SOURCE.replace("256, 64", "64, 256"), technique="another")
    it = asking([says(f"{GOOD.text}\n{other.text}")])
    proposal = it.propose(brief)
    (second,) = proposal.others
    assert (proposal.source, proposal.technique) == (BETTER, "a new way")
    assert (second.technique, second.usage) == ("another", Usage())
    assert proposal.usage == it.proposer.usage == ONE


def test_malformed_answers_end_after_two_corrections(asking, brief):
    it = asking([says("no")] * 9)
    with pytest.raises(ProposerError, match=r"in 3 attempts; the last one: expected a JSON") as e:
        it.propose(brief)
    assert len(it.server.asked) == 3
    assert e.value.usage == Usage(300, 150, pytest.approx(0.0021), 3)
    assert it.proposer.usage == e.value.usage


def test_a_refusal_is_reported_and_not_repeated(asking, brief):
    it = asking([refuses("I would rather not."), GOOD])
    with pytest.raises(
        ProposerError, match=r"scripted refused to answer: I would rather not\."
    ) as e:
        it.propose(brief)
    assert len(it.server.asked) == 1
    assert e.value.usage == ONE


def test_propose_without_an_idea_returns_none(asking, brief):
    it = asking([kernel("", technique="none")])
    assert isinstance(it.propose(brief), NothingLeft)
    assert it.proposer.usage == ONE


def test_retry_after_is_waited_for(asking, brief):
    it = asking([fails(429, retry_after="7"), fails(529), GOOD])
    assert it.propose(brief).usage == Usage(100, 50, pytest.approx(0.0007), 3)
    # What the server asks for, then the client's second wait: 1 s doubled once.
    assert it.waited == [7.0, 2.0]
    assert "HTTP 429: scripted; asking again in 7.0 s" in it.said[1]


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503])
def test_errors_of_the_server_are_retried(asking, brief, status):
    it = asking([fails(status), fails(status), GOOD])
    assert it.propose(brief).source == BETTER
    assert it.waited == [1.0, 2.0]


def test_retries_are_limited(asking, brief):
    it = asking([fails(500)] * 9)
    with pytest.raises(ProposerError, match="in 5 requests; the last one: HTTP 500: scripted") as e:
        it.propose(brief)
    assert it.waited == [1.0, 2.0, 4.0, 8.0]
    assert e.value.usage == Usage(0, 0, 0.0, 5)


def test_too_long_requested_waits_are_refused(asking, brief):
    it = asking([fails(429, retry_after="3600"), GOOD])
    with pytest.raises(ProposerError, match="it asks to come back in 3600 s"):
        it.propose(brief)
    assert it.waited == []


@pytest.mark.parametrize(
    ("status", "step"),
    [(400, "--structured text"), (401, "key"), (402, "credit"), (403, "key"), (404, "--model")],
)
def test_permanent_errors_are_not_retried(asking, brief, status, step):
    it = asking([fails(status, "no such thing"), GOOD])
    with pytest.raises(ProposerError, match=rf"HTTP {status}: no such thing.*{step}") as e:
        it.propose(brief)
    # Only a wrong request says nothing about the next one.
    assert isinstance(e.value, RefusedError) == (status != 400)
    assert len(it.server.asked) == 1
    assert it.waited == []


@pytest.mark.parametrize("more", [dict(kind="insufficient_quota"), dict(x_should_retry="false")])
def test_a_permanent_rate_limit_is_not_retried(asking, brief, more):
    it = asking([fails(429, "no money", **more), GOOD])
    with pytest.raises(RefusedError, match="HTTP 429: no money"):
        it.propose(brief)
    assert len(it.server.asked) == 1


@pytest.mark.parametrize("then", ["cut", "stop", "error", "silence"])
def test_an_interrupted_stream_is_requested_again(asking, brief, then):
    begun = says(GOOD.text[:200], then=then)
    it = asking([begun, GOOD])
    proposal = it.propose(brief)
    assert proposal.source == BETTER
    assert it.waited == [1.0]
    # Of the first answer the server reported no tokens, or not all: 200 bytes count for 100.
    assert proposal.usage.requests == 2
    assert proposal.usage.tokens_out == 150
    api = it.server.asked[0].api
    assert proposal.usage.tokens_in == 200 if api == "anthropic" else proposal.usage.tokens_in > 200


def test_a_silent_server_times_out(asking, brief):
    it = asking([says("", then="silence"), GOOD])
    assert it.propose(brief).usage == Usage(100, 50, pytest.approx(0.0007), 2)
    assert "silent for too long" in it.said[1]


def test_a_too_long_answer_times_out(asking, brief):
    ticks = iter(range(0, 10_000, 100))
    it = asking(
        [GOOD] * 2, limits=RequestLimits(silence_s=5, answer_s=250, clock=lambda: next(ticks))
    )
    with pytest.raises(ProposerError, match="not whole after 250 s; raise --answer-seconds"):
        it.propose(brief)
    assert len(it.server.asked) == 1


def test_a_missing_server_is_reported(asking, brief):
    it = asking([], base_url="http://127.0.0.1:9")
    with pytest.raises(ProposerError, match="in 5 requests; the last one: no connection"):
        it.propose(brief)
    assert it.waited == [1.0, 2.0, 4.0, 8.0]


def test_progress_is_reported_during_an_answer(asking, brief):
    it = asking([kernel(BETTER + "// " + 6500 * "x")])
    it.propose(brief)
    assert it.said[1].startswith("asked scripted, about 0.5 k tokens so far")
    assert 4 <= len(it.said) <= 6


def test_the_worst_case_cost_is_checked_before_a_request(asking, brief):
    # 1000 tokens out are 0.01 at most, and the prompt is more than nothing.
    it = asking([GOOD], max_cost=0.01)
    with pytest.raises(SpentError, match=r"--max-cost 0\.01: 0\.0000 US dollars are spent"):
        it.propose(brief)
    assert it.server.asked == []


def test_spent_money_counts_against_the_limit(asking, brief):
    it = asking([says("no", tokens_in=10_000, tokens_out=1000)] * 9, max_cost=0.085)
    with pytest.raises(SpentError, match="raise the limit") as e:
        it.propose(brief)
    # Each costs 0.03, and a third may cost 0.04: 0.01 for its answer, the rest for its question.
    assert len(it.server.asked) == 2
    assert e.value.usage == Usage(20_000, 2000, pytest.approx(0.06), 2)


def test_an_answer_beyond_the_limit_is_cut_off_here(asking, brief):
    """A server that does not keep to the limit of the request: 1000 tokens, 8 bytes each."""
    it = asking([kernel(BETTER + "// " + 20_000 * "x"), GOOD])
    assert it.propose(brief).source == BETTER
    correction = it.server.asked[1].turns[-1][1]
    assert "the answer was cut off at" in correction
    assert len(it.server.asked[1].turns[1][1]) < 8200


def test_the_token_budget_is_checked_before_a_request(asking, brief):
    # A request may take about 16 000 tokens: two fit, and a third does not.
    it = asking([says("no", tokens_in=9_000, tokens_out=900)] * 9, token_budget=30_000)
    with pytest.raises(SpentError, match=r"--token-budget 30000: 19800 tokens are used") as e:
        it.propose(brief)
    assert len(it.server.asked) == 2
    assert e.value.usage == Usage(18_000, 1800, pytest.approx(0.054), 2)
    none = asking([GOOD], token_budget=1000)
    with pytest.raises(SpentError, match="0 tokens are used"):
        none.propose(brief)
    assert none.server.asked == []


def test_a_model_without_a_price(asking, brief):
    it = asking([GOOD], model="unheard-of")
    assert it.propose(brief).usage == Usage(100, 50, None, 1)
    assert it.proposer.usage.cost is None


def test_several_requests_run_concurrently(asking, brief):
    together = threading.Barrier(4, timeout=30)

    def script(_):
        together.wait()
        return GOOD

    it = asking(script, limits=RequestLimits(silence_s=30))
    found = []
    threads = [threading.Thread(target=lambda: found.append(it.propose(brief))) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [each.usage for each in found] == [ONE] * 4
    assert it.proposer.usage == Usage(400, 200, pytest.approx(0.0028), 4)


@pytest.mark.parametrize("api", ["openai"])
@pytest.mark.parametrize(("structured", "form"), [("object", "json_object"), ("text", None)])
def test_servers_without_schemas(asking, brief, structured, form):
    it = asking([GOOD], structured=structured)
    it.propose(brief)
    assert it.server.asked[0].body.get("response_format", {}).get("type") == form


def test_the_stored_answer_is_a_candidate_only(asking, brief):
    """A model's text is reported, and nothing of it is run."""
    it = asking([says(json.dumps({**json.loads(GOOD.text), "summary": "$(rm -rf /) `x`"}))])
    assert it.propose(brief).summary == "$(rm -rf /) `x`"
