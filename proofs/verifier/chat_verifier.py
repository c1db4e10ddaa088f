"""A chat model behind an OpenAI-compatible endpoint as a verifier."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from proofs.verifier.chat_prompt import (
    MAX_CLAIM,
    ReplyError,
    chat_messages,
    parse_reply,
    reply_schema,
    sentences_that_fit,
    with_remark,
)
from proofs.verifier.reading import (
    NOTHING_KNOWN,
    Reading,
    Sentence,
    VerifierError,
    nothing_known,
)

# Seconds that a process waits while another one writes.
_PATIENCE = 30.0


class ReplyCache:
    """Keeps the reply to each question; several threads and processes may share a file.

    Parameters
    ----------
    path
        The file, which is created with its folder if it does not exist.

    Raises
    ------
    VerifierError
        If it cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False)
            with self._database as database:
                database.execute(
                    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL)"
                )
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from None

    def get(self, key: str) -> str | None:
        """Return the reply to the question with a key, if it is there."""
        try:
            with self._lock:
                row = self._database.execute(
                    "SELECT reply FROM replies WHERE key = ?", (key,)
                ).fetchone()
        except sqlite3.Error as error:
            raise self._unusable(error) from None
        return str(row[0]) if row else None

    def put(self, key: str, reply: str) -> None:
        """Keep the reply to the question with a key."""
        try:
            with self._lock, self._database as database:
                database.execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", (key, reply))
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()

    def _unusable(self, error: Exception) -> VerifierError:
        return VerifierError(
            f"{self._path}: cannot be used as a cache of replies ({error}); delete it or give "
            "another file"
        )


def reply_key(address: str, model: str, messages: Sequence[dict[str, str]]) -> str:
    """Return the key of a question to a model at an address."""
    question = json.dumps([address, model, list(messages)])
    return hashlib.sha256(question.encode("ascii")).hexdigest()


DEFAULT_ADDRESS = "https://api.openai.com/v1"
# How often a question is asked if the replies are no answers.
_ATTEMPTS = 3
_SCHEMA = {"name": "verdict", "strict": True, "schema": reply_schema()}
# Formats of replies, from the safest on; not every server knows all.
_FORMATS: tuple[dict[str, Any], ...] = (
    {"response_format": {"type": "json_schema", "json_schema": _SCHEMA}},
    {"response_format": {"type": "json_object"}},
    {},
)
_REFUSED = (400, 422)
_SHOWN = 300
_SECRET = 8
_PER_PRICE = 1_000_000


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """Which model is asked, and how.

    Attributes
    ----------
    api_key
        The key, or any text for a server without keys.
    base_url
        Address of the endpoint, up to ``/v1``.
    timeout
        Seconds after which a request has failed.
    retries
        How often a failed request is repeated, with growing pauses.
    cache
        File of earlier replies; None for none.
    prices
        Prices of a million tokens of questions and of replies, in any currency.
    """

    model: str
    api_key: str
    base_url: str = DEFAULT_ADDRESS
    timeout: float = 60.0
    retries: int = 4
    threads: int = 4
    cache: Path | None = None
    prices: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class ChatUsage:
    """Usage of a chat model so far."""

    requests: int = 0  # replies from the server
    cached: int = 0  # replies from the cache
    prompt_tokens: int = 0  # tokens of questions and of replies, as the server counts them
    completion_tokens: int = 0
    cost: float | None = None  # their price; None if no prices are known


class ChatVerifier:
    """Reads claims with their evidence by asking a chat model.

    Raises
    ------
    VerifierError
        If a setting has no valid value, or the package ``openai`` is not installed.
    """

    def __init__(self, settings: ChatSettings) -> None:
        _check(settings)
        try:
            import openai
        except ImportError as error:
            raise VerifierError(
                f"verifier 'openai': the package openai cannot be imported ({error}); install it "
                "with `pip install 'openai>=3,<4'`"
            ) from None
        self._openai, self._settings = openai, settings
        self._client = openai.OpenAI(
            api_key=settings.api_key,
            base_url=settings.base_url,
            timeout=settings.timeout,
            max_retries=settings.retries,
        )
        self._cache = ReplyCache(settings.cache) if settings.cache else None
        self._usage, self._lock = ChatUsage(), threading.Lock()
        self._format = 0

    @property
    def usage(self) -> ChatUsage:
        """The usage so far, with its cost."""
        with self._lock:
            usage = self._usage
        if self._settings.prices is None:
            return usage
        prompt, completion = self._settings.prices
        total = usage.prompt_tokens * prompt + usage.completion_tokens * completion
        return replace(usage, cost=total / _PER_PRICE)

    def close(self) -> None:
        """Close connections and the cache."""
        self._client.close()
        if self._cache is not None:
            self._cache.close()

    def read(self, claims: Sequence[str], evidences: Sequence[Sequence[Sentence]]) -> list[Reading]:
        """Return what the evidence of each claim does to it (see `Verifier`).

        Raises
        ------
        VerifierError
            If the endpoint does not answer, or not as it was asked, after all retries.
        """
        pairs = [(c, tuple(e)) for c, e in zip(claims, evidences, strict=True)]
        with ThreadPoolExecutor(self._settings.threads) as pool:
            # The same question is asked once.
            futures = {pair: pool.submit(self._read, *pair) for pair in dict.fromkeys(pairs)}
            try:
                return [futures[pair].result() for pair in pairs]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _read(self, claim: str, evidence: tuple[Sentence, ...]) -> Reading:
        count = sentences_that_fit(evidence)
        unread = tuple(range(count, len(evidence)))
        if not count or not claim.strip():
            return replace(nothing_known(len(evidence)), unread=unread)
        labels, known = self._answer(chat_messages(claim[:MAX_CLAIM], evidence[:count]), count)
        sentences = np.tile(NOTHING_KNOWN, (len(evidence), 1))
        sentences[:count] = known
        return Reading(labels, sentences, unread=unread, claim_cut=len(claim) > MAX_CLAIM)

    def _answer(self, messages: list[dict[str, str]], count: int) -> tuple[np.ndarray, np.ndarray]:
        settings = self._settings
        key = reply_key(settings.base_url, settings.model, messages)
        if self._cache is not None and (reply := self._cache.get(key)) is not None:
            try:
                answer = parse_reply(reply, count)
            except ReplyError:
                pass  # of a file that something else has written to: asked again
            else:
                self._count(cached=1)
                return answer
        asked, reason = messages, ""
        for _ in range(_ATTEMPTS):
            try:
                reply = self._complete(asked)
                answer = parse_reply(reply, count)
            except ReplyError as error:
                reason = str(error)
                asked = with_remark(messages, reason)
                continue
            if self._cache is not None:
                self._cache.put(key, reply)
            return answer
        raise VerifierError(
            f"{settings.base_url}: the model {settings.model!r} gave no valid answer in "
            f"{_ATTEMPTS} attempts: {reason}; choose another model by --verifier-model"
        )

    def _complete(self, messages: list[dict[str, str]]) -> str:
        for number in range(self._format, len(_FORMATS)):
            last = number == len(_FORMATS) - 1
            with self._explained():
                try:
                    completion = self._client.chat.completions.create(
                        model=self._settings.model,
                        messages=messages,  # type: ignore[arg-type]
                        temperature=0.0,
                        **_FORMATS[number],
                    )
                except self._openai.APIStatusError as error:
                    if last or error.status_code not in _REFUSED:
                        raise
                    continue
                except (ValueError, RecursionError):  # of the body, which the client decodes
                    raise ReplyError("it is not JSON") from None
            self._format = number
            return self._text(completion)
        raise AssertionError("the last format returns or raises")

    def _text(self, completion: Any) -> str:
        usage = getattr(completion, "usage", None)
        self._count(
            requests=1,
            prompt_tokens=_tokens(usage, "prompt_tokens"),
            completion_tokens=_tokens(usage, "completion_tokens"),
        )
        try:
            choice = completion.choices[0]
            text, finish = choice.message.content, choice.finish_reason
        except (AttributeError, IndexError, TypeError):
            raise ReplyError("it is no chat completion") from None
        if finish == "length":
            raise ReplyError("it is cut off at the server's limit of tokens")
        if not isinstance(text, str) or not text.strip():
            raise ReplyError("it is empty, or the model refuses to answer")
        return text

    def _count(self, **numbers: int) -> None:
        with self._lock:
            added = {name: getattr(self._usage, name) + n for name, n in numbers.items()}
            self._usage = replace(self._usage, **added)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Turn the client's errors into one that names the address and the remedy."""
        openai, settings = self._openai, self._settings
        tries = f"{settings.retries + 1} attempts"
        try:
            yield
        except openai.APITimeoutError:
            problem = f"no answer within {settings.timeout:g} s in {tries}; check the server"
        except openai.APIConnectionError as error:
            problem = (
                f"cannot be reached in {tries} ({error.__cause__ or error}); check the address "
                "(--base-url) and that the server runs"
            )
        except (openai.AuthenticationError, openai.PermissionDeniedError) as error:
            problem = f"refuses the key ({error}); set the environment variable OPENAI_API_KEY"
        except openai.NotFoundError as error:
            problem = (
                f"has no model {settings.model!r}, or is no such endpoint ({error}); check "
                "--verifier-model and --base-url"
            )
        except openai.RateLimitError as error:
            problem = f"too many requests in {tries} ({error}); wait, or ask with fewer threads"
        except openai.OpenAIError as error:
            problem = f"the request failed ({error}); check --verifier-model and the server's log"
        else:
            return
        # A server may repeat the key in its message. A short one is no secret, but part of words.
        key = settings.api_key
        text = problem.replace(key, "***") if len(key) >= _SECRET else problem
        text = text if len(text) <= 2 * _SHOWN else f"{text[:_SHOWN]} ... {text[-_SHOWN:]}"
        raise VerifierError(f"{settings.base_url}: {text}")


def _check(settings: ChatSettings) -> None:
    if not settings.model.strip():
        raise VerifierError("verifier 'openai': no model is named; give one by --verifier-model")
    if not settings.api_key.strip():
        raise VerifierError(
            "verifier 'openai': there is no key; set the environment variable OPENAI_API_KEY, "
            "to any text for a server without keys"
        )
    try:
        address = urlsplit(settings.base_url)
        valid = address.scheme in ("http", "https") and bool(address.hostname)
    except ValueError:
        valid = False
    if not valid:
        raise VerifierError(
            f"verifier 'openai': {settings.base_url!r} is no address; give one such as "
            "http://localhost:8000/v1 by --base-url"
        )
    if settings.timeout <= 0 or settings.retries < 0 or settings.threads < 1:
        raise VerifierError(
            "verifier 'openai': timeout and threads must be positive, and retries at least 0"
        )
    if settings.prices is not None and min(settings.prices) < 0:
        raise VerifierError("verifier 'openai': prices must not be negative")


def _tokens(usage: Any, name: str) -> int:
    value = getattr(usage, name, 0)
    return value if isinstance(value, int) and value >= 0 else 0
