"""Costs are counted for every request, and a limit holds however many ask at once."""

from __future__ import annotations

import json
import threading
from contextlib import suppress

import pytest

from agent_steel.history.history import SpendingRecord
from agent_steel.models.ledger import Ledger, Price, Prices, read
from agent_steel.proposal import ProposerError, SpentError, Usage

# A million tokens are a dollar, in or out.
PRICES = Prices({"m": Price(1.0, 1.0)})
MILLION = 10**6


def ask(ledger, worst, real, model="m"):
    with ledger.request(model, worst * MILLION, 0) as charge:
        charge.settle(0, real * MILLION)


def test_requests_are_added_up():
    ledger = Ledger(PRICES, 10.0)
    ask(ledger, 3, 2)
    ask(ledger, 5, 1)
    assert ledger.usage == Usage(0, 3 * MILLION, 3.0, 2)


def test_a_request_beyond_the_limit_is_refused():
    ledger = Ledger(PRICES, 5.0)
    ask(ledger, 5, 2)
    with pytest.raises(SpentError, match=r"--max-cost 5: 2\.0000 US dollars.* may cost 4\.0000"):
        ask(ledger, 4, 0)
    ask(ledger, 3, 3)
    assert ledger.usage.cost == 5.0
    assert ledger.usage.requests == 2


def test_a_failed_request_counts_with_its_cost():
    ledger = Ledger(PRICES)
    with suppress(ValueError), ledger.request("m", 1, 1) as charge:
        charge.settle(MILLION, 0)
        raise ValueError
    assert ledger.usage == Usage(MILLION, 0, 1.0, 1)


def test_a_request_waits_for_the_reservation_of_another():
    ledger = Ledger(PRICES, 4.0)
    begun, may_end = threading.Event(), threading.Event()

    def first():
        with ledger.request("m", 3 * MILLION, 0) as charge:
            begun.set()
            may_end.wait(30)
            charge.settle(MILLION, 0)

    threads = [threading.Thread(target=first)]
    threads[0].start()
    begun.wait(30)
    # 3 are set aside, of which 1 will be spent: only then there is room for these.
    threads.append(threading.Thread(target=ask, args=(ledger, 2, 2)))
    threads[1].start()
    assert ledger.usage.requests == 0
    may_end.set()
    for each in threads:
        each.join(30)
    assert ledger.usage == Usage(MILLION, 2 * MILLION, 3.0, 2)


def test_concurrent_requests_never_exceed_the_limit():
    ledger = Ledger(PRICES, 7.0)
    refused = []

    def several():
        for _ in range(5):
            try:
                ask(ledger, 1, 1)
            except SpentError:
                refused.append(1)

    threads = [threading.Thread(target=several) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    assert ledger.usage.cost == 7.0
    assert len(refused) == 13


def test_concurrent_requests_never_exceed_the_token_budget():
    ledger = Ledger(Prices(), token_budget=7 * MILLION)
    refused = []

    def several():
        for _ in range(5):
            try:
                ask(ledger, 1, 1)
            except SpentError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=several) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    assert ledger.usage == Usage(0, 7 * MILLION, None, 7)
    assert len(refused) == 13
    assert all(each.startswith("--token-budget 7000000: 7000000") for each in refused)
    with pytest.raises(ProposerError, match="--token-budget: expected 1 or more"):
        Ledger(PRICES, token_budget=0)


def test_a_model_without_a_price_has_no_cost():
    ledger = Ledger(PRICES)
    ask(ledger, 1, 1, model="other")
    assert ledger.usage == Usage(0, MILLION, None, 1)
    with pytest.raises(ProposerError, match="no price of other is known"):
        Ledger(PRICES, 1.0).check("other")


def test_a_name_may_end_with_a_day():
    assert PRICES.of("m-20260423") == PRICES.of("m-2026-04-23") == Price(1.0, 1.0)
    assert PRICES.of("m-mini") is None


def test_the_packaged_table_is_read():
    assert read().of("claude-opus-5-5") == Price(4.0, 20.0)


def test_a_table_of_the_users_own(tmp_path, monkeypatch):
    path = tmp_path / "own.json"
    path.write_text(json.dumps({"models": {"x": {"input": 1, "output": 2}}}))
    assert read(path).of("x") == Price(1.0, 2.0)
    monkeypatch.setenv("AGENT_STEEL_PRICES", str(path))
    assert read().of("x") == Price(1.0, 2.0)
    assert read().of("claude-opus-5-5") is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"models": {"x": {"input": 1}}}', '{"models": {"x": {"input": -1, "output": 1}}}'],
)
def test_a_wrong_price_table_is_reported_with_its_name(tmp_path, text):
    path = tmp_path / "own.json"
    path.write_text(text)
    with pytest.raises(ProposerError, match=r"own\.json: expected \{"):
        read(path)
    with pytest.raises(ProposerError, match="No such file"):
        read(tmp_path / "none.json")


def test_requests_never_exceed_their_number():
    ledger = Ledger(Prices(free=True), max_requests=5)
    made, refused = [], []

    def several():
        for _ in range(3):
            try:
                with ledger.request("m", 10, 10) as charge:
                    made.append(1)
                    charge.settle(1, 1)
            except SpentError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=several) for _ in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    assert len(made) == ledger.usage.requests == 5
    assert len(refused) == 13
    assert all("--max-requests 5: 5 requests were made" in each for each in refused)
    with pytest.raises(ProposerError, match="--max-requests: expected 1 or more, got 0"):
        Ledger(Prices(), max_requests=0)


def test_limits_count_what_was_spent_before():
    spent = Usage(tokens_in=90, tokens_out=5, cost=0.0, requests=3)
    tokens = Ledger(Prices(), token_budget=100, spent=spent)
    with pytest.raises(SpentError, match="95 tokens are used"), tokens.request("m", 4, 4):
        pass
    requests = Ledger(Prices(), max_requests=3, spent=spent)
    with pytest.raises(SpentError, match="3 requests were made"), requests.request("m", 4, 4):
        pass


def test_requests_are_recorded_before_they_are_sent(session):
    number = session.history.begin({})
    ledger = Ledger(Prices(free=True))
    ledger.recorder = SpendingRecord(session.history, number)
    with ledger.request("m", 40, 50) as charge:
        # What is left if the process is killed now.
        assert session.history.usage(number) == Usage(40, 50, 0.0, 1)
        charge.settle(30, 20)
    assert session.history.usage(number) == Usage(30, 20, 0.0, 1)
    with pytest.raises(ZeroDivisionError), ledger.request("m", 40, 50):
        raise ZeroDivisionError
    assert session.history.usage(number) == Usage(30, 20, 0.0, 2)
