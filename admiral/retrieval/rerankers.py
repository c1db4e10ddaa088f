"""Stage 2: score sentences against the claim, by rerankers that need no training and a trained one.

The cross-encoder reads a claim and all sentences of a document at once, with a token-level head:
``<s> [task] claim </s> [ title ] chosen sentence </s> ... [ title ] s0 s1 ... </s>``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import itemgetter
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer

from admiral.errors import AdmiralError
from admiral.kb.bm25 import analysis
from admiral.kb.bm25.analysis import import_bm25s
from admiral.kb.vectors import EncoderIdentity, embedded_text
from admiral.models.checkpoint import Checkpoint, RerankHead
from admiral.protocols import SentenceReranker, claim_limits, timed
from admiral.records import Document, Sentence
from admiral.retrieval.state import best_first, non_blank_sentences, with_scores, z_scores
from admiral.storage.atomic_files import sha256_of
from proofs.generation.proof_grammar import encode_claim, max_claim_tokens
from trie import SafeTokenizer
from trie.seq2seq import convert_linears_to_bfloat16, pad_batch

#: Number of tokens that are read, with the two special ones, of a sentence of a cited page, and of
#: a passage or, in retrieval, of a claim with its evidence.
MAX_TOKENS, PASSAGE_TOKENS = 128, 256
# Files that determine the vectors of texts.
_FILES = ("config.json", "tokenizer.json", "model.safetensors")


class MeanPoolingEncoder:
    """Encode texts as the mean of the states of their tokens, scaled to length 1.

    - `directory`: a sentence encoder in the Hugging Face format with mean pooling.
    - `device`, `dtype`: device and precision: float32 or bfloat16.
    - `batch_tokens`: maximum number of padded tokens in a batch.
    - `max_tokens`: number of tokens of a text that are read, with the two special tokens; fewer
      if the encoder has fewer positions.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        *,
        device: str = "cpu",
        dtype: torch.dtype = torch.float32,
        batch_tokens: int = 2048,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        from transformers import AutoModel, AutoTokenizer

        from trie.seq2seq import quiet_transformers

        self._directory, self._name = directory, name
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
            # The weights may be in half precision, as training exports them.
            self.model = AutoModel.from_pretrained(
                directory, local_files_only=True, dtype=torch.float32
            )
        self.model.to(device).eval()
        if torch.device(device).type == "cpu":
            self.model.set_attn_implementation("eager")  # faster than torch's fused kernel there
        self.max_tokens = max_tokens = min(max_tokens, self.model.config.max_position_embeddings)
        # Configured once: several threads may use a tokenizer, but not while one configures it.
        self._tokenizer = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.no_padding()
        self._pad = tokenizer.pad_token_id
        if dtype is torch.bfloat16:
            convert_linears_to_bfloat16(self.model)
        self._device, self._dtype, self._batch_tokens = device, dtype, batch_tokens

    @cached_property
    def identity(self) -> EncoderIdentity:
        """Name, and checksum of the model and the number of tokens; not of its precision."""
        sums = [sha256_of(self._directory / name) for name in _FILES]
        recipe = " ".join([*sums, f"mean of {self.max_tokens} tokens"])
        fingerprint = hashlib.sha256(recipe.encode()).hexdigest()
        return EncoderIdentity(self._name, fingerprint, self.model.config.hidden_size)

    @torch.inference_mode()
    def unit_vectors(self, texts: Sequence[str]) -> torch.Tensor:
        """Return the unit vectors of texts: float32, (texts, width), in host memory."""
        means = torch.empty(len(texts), self.model.config.hidden_size)
        for position, states in self._text_states(texts):
            means[position] = states.mean(0)
        return torch.nn.functional.normalize(means, dim=-1)

    @torch.inference_mode()
    def token_states(self, texts: Sequence[str]) -> list[torch.Tensor]:
        """Return the states of each text's tokens: float32, (tokens, width), in host memory.

        The first and the last are those of the special tokens.
        """
        return [states for _, states in sorted(self._text_states(texts), key=itemgetter(0))]

    def token_count(self, text: str) -> int:
        """Return the number of tokens of a text that are read, without the special tokens."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def _text_states(self, texts: Sequence[str]) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield the position and the states, (tokens, width), of each text."""
        rows = [encoded.ids for encoded in self._tokenizer.encode_batch_fast(list(texts))]
        with torch.autocast(
            torch.device(self._device).type,
            dtype=torch.bfloat16,
            enabled=self._dtype is torch.bfloat16,
        ):
            for position, states in self._states(rows):
                yield position, states.cpu()

    def _states(self, rows: Sequence[Sequence[int]]) -> Iterator[tuple[int, torch.Tensor]]:
        """Yield the position and the encoder states, (tokens, width), of each input."""
        for positions in length_batches([len(row) for row in rows], self._batch_tokens):
            ids, mask = pad_batch([rows[position] for position in positions], self._pad)
            hidden = self.model(
                input_ids=ids.to(self._device), attention_mask=mask.to(self._device)
            ).last_hidden_state.float()
            for position, states in zip(positions, hidden, strict=True):
                yield position, states[: len(rows[position])]


def length_batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Group inputs of similar length into batches, because padding costs as much as text.

    A batch has at most `budget` padded tokens; a longer input is a batch of its own. Returns the
    positions of the inputs in each batch.
    """
    batches: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        # Inputs are sorted, so this one is the longest so far.
        if not batches or lengths[i] * (len(batches[-1]) + 1) > budget:
            batches.append([])
        batches[-1].append(i)
    return batches


# Sentences vary little in length, and a second occurrence of a term adds little to the first.
_K1, _B = 0.9, 0.4


class BM25Reranker:
    """Score sentences, each with its title, by BM25 with the claim as the query.

    Document frequencies are counted over the sentences to be ranked, so that terms which all
    candidates share have little weight. The evidence chosen so far is not part of the query.
    """

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return all sentences of each claim's documents with BM25 scores, best first."""
        return [self._rank(claim, docs) for claim, docs in zip(claims, documents, strict=True)]

    def _rank(self, claim: str, documents: Sequence[Document]) -> list[Sentence]:
        sentences = non_blank_sentences(documents)
        terms = [analysis.terms(f"{s.title} {s.text}") for s in sentences]
        return with_scores(sentences, self._scores(terms, analysis.terms(claim)))

    def _scores(self, sentences: Sequence[Sequence[str]], query: Sequence[str]) -> list[float]:
        vocabulary = {term for terms in sentences for term in terms}
        query_terms = [term for term in dict.fromkeys(query) if term in vocabulary]
        if not query_terms:
            return [0.0] * len(sentences)
        index = import_bm25s().BM25(k1=_K1, b=_B)
        index.index(list(map(list, sentences)), show_progress=False)
        scores: list[float] = index.get_scores(query_terms).tolist()
        return scores


def similarity_query(claim: str, evidence: Sequence[str]) -> str:
    """Return the text that is embedded for a claim and the sentences chosen so far."""
    return " ".join([claim, *evidence])


StoredVectors = Callable[[Sequence[Sentence]], np.ndarray]
# Number of cached embeddings: 50 MB at 1.5 kB each. A claim reads about 400 sentences.
_CACHE_SIZE = 1 << 15


class SimilarityReranker:
    """Score sentences, each with its title, by the cosine of their embeddings with the claim's.

    From hop 2 on, the claim is embedded together with the evidence chosen so far. The embeddings of
    sentences do not depend on the claim, so they are cached for later hops, which read mostly the
    same sentences, and for other claims. Vectors that are stored with the documents are not
    computed at all; they are rounded, so that scores differ by about 0.0004.

    - `stored`: returns the stored unit vectors of sentences, (sentences, width), by the same
      encoder; zero for a sentence without one. None to compute all.
    """

    def __init__(self, encoder: MeanPoolingEncoder, stored: StoredVectors | None = None) -> None:
        self._encoder, self._stored = encoder, stored
        self._cache: dict[str, torch.Tensor] = {}
        # Without the two special tokens. Evidence gets the remaining room.
        self.claim_limits = {"the sentence encoder": encoder.max_tokens - 2}

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return all sentences of each claim's documents with cosine similarities, best first."""
        sentences = [non_blank_sentences(docs) for docs in documents]
        texts = [
            [embedded_text(s.title, s.text) for s in claim_sentences]
            for claim_sentences in sentences
        ]
        queries = [
            similarity_query(claim, [s.text for s in chosen])
            for claim, chosen in zip(claims, evidence, strict=True)
        ]
        pairs = zip(chain(*texts), chain(*sentences), strict=True)
        stored = self._stored_vectors(dict(pairs))
        missing = dict.fromkeys(text for text in chain(*texts) if text not in stored)
        query_vectors, text_vectors = self._vectors(queries, missing)
        text_vectors |= stored
        results = []
        for query, claim_sentences, own in zip(query_vectors, sentences, texts, strict=True):
            vectors = torch.stack([text_vectors[text] for text in own]) if own else query[None][:0]
            results.append(with_scores(claim_sentences, (vectors @ query).tolist()))
        return results

    def _stored_vectors(self, sentences: Mapping[str, Sentence]) -> dict[str, torch.Tensor]:
        """Return the stored unit vectors, (width,), by text, of sentences by text."""
        if self._stored is None or not sentences:
            return {}
        vectors = torch.from_numpy(self._stored(list(sentences.values())))
        is_stored = vectors.any(1).tolist()
        return {t: v for t, v, known in zip(sentences, vectors, is_stored, strict=True) if known}

    def _vectors(
        self, queries: Sequence[str], texts: Collection[str]
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Return the unit vectors of queries, (queries, width), and of each text, (width,)."""
        cached = {text: vector for text in texts if (vector := self._cache.get(text)) is not None}
        missing = [text for text in texts if text not in cached]
        embedded = self._encoder.unit_vectors([*queries, *missing])
        # Cloned, because a cached view would keep the tensor of the whole batch in memory.
        new = {
            text: vector.clone()
            for text, vector in zip(missing, embedded[len(queries) :], strict=True)
        }
        if len(self._cache) + len(new) > _CACHE_SIZE:
            self._cache.clear()
        self._cache.update(new)
        return embedded[: len(queries)], cached | new


class CombinedReranker:
    """Score each sentence by the mean of its z-scores from several rerankers.

    Rerankers err on different sentences. Since their scales differ, the scores of each are
    standardised over the sentences of a claim.

    - `rerankers`: at least one; each scores all sentences.
    """

    def __init__(self, rerankers: Sequence[SentenceReranker]) -> None:
        self._rerankers = tuple(rerankers)
        self.claim_limits = {
            name: limit
            for reranker in self._rerankers
            for name, limit in claim_limits(reranker).items()
        }

    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return the sentences of each claim's documents with mean z-scores, best first."""
        results = [reranker.score(claims, documents, evidence) for reranker in self._rerankers]
        return [_combine(claim) for claim in zip(*results, strict=True)]


def _combine(scored: Sequence[Sequence[Sentence]]) -> list[Sentence]:
    scores = [z_scores({s.key: s.score for s in own}) for own in scored]
    means = [sum(own[s.key] / len(scores) for own in scores) for s in scored[0]]
    return with_scores(scored[0], means)


# Maximum shares of the encoder's length: for the claim, and for the claim with chosen sentences.
_CLAIM_SHARE, _CHOSEN_SHARE = 0.4, 0.7


@dataclass(frozen=True, slots=True)
class RerankerInput:
    """One encoder input."""

    ids: list[int]  # token ids
    # For each sentence, its index in the document and its tokens ``start:end``.
    spans: list[tuple[int, int, int]]


def reranker_claim_limit(tokens: SafeTokenizer, max_length: int) -> int:
    """Return the maximum number of tokens of a claim in an input."""
    return max_claim_tokens(tokens, "rerank", int(max_length * _CLAIM_SHARE))


def reranker_inputs(
    tokens: SafeTokenizer,
    claim: str,
    chosen: Sequence[tuple[str, str]],
    title: str,
    sentences: Sequence[str],
    max_length: int,
) -> Iterator[RerankerInput]:
    """Yield the inputs that cover a document: one, or several if it is long.

    Blank sentences are left out, since they cannot be evidence. A sentence longer than an input is
    cut.

    - `chosen`: (title, sentence) pairs of the evidence chosen at earlier hops.
    """
    head, _ = encode_claim(tokens, "rerank", claim, int(max_length * _CLAIM_SHARE))
    for chosen_title, sentence in chosen:
        room = int(max_length * _CHOSEN_SHARE) - len(head)
        extra = _bracketed(tokens, chosen_title) + tokens.encode(sentence)
        if room > 8:
            head += [*extra[: room - 1], tokens.eos]
    head += _bracketed(tokens, title)[: max(max_length - len(head) - 16, 4)]
    room = max_length - len(head) - 1
    ids = list(head)
    spans: list[tuple[int, int, int]] = []
    for number, sentence in enumerate(sentences):
        body = tokens.encode(sentence)[:room] if sentence.strip() else []
        if not body:
            continue
        if spans and len(ids) + len(body) + 1 > max_length:
            yield RerankerInput([*ids, tokens.eos], spans)
            ids, spans = list(head), []
        spans.append((number, len(ids), len(ids) + len(body)))
        ids += body
    if spans:
        yield RerankerInput([*ids, tokens.eos], spans)


def _bracketed(tokens: SafeTokenizer, title: str) -> list[int]:
    return [tokens.single_token("["), *tokens.encode(title), tokens.single_token("]")]


class CrossEncoderReranker:
    """Score all sentences of a document in one encoder pass over claim and document.

    A sentence's score is the mean logit of its tokens.

    Raises AdmiralError if the checkpoint has no rerank head.

    - `max_tokens`: maximum number of tokens of an input.
    - `batch_tokens`: maximum number of padded tokens in an encoder batch.
    """

    def __init__(
        self, checkpoint: Checkpoint, max_tokens: int = 256, *, batch_tokens: int = 8192
    ) -> None:
        if checkpoint.head is None:
            raise AdmiralError(
                f"{checkpoint.path}: the checkpoint has no rerank_head.safetensors; "
                "choose --reranker similarity, or train one with `python -m training joint`"
            )
        self._model, self._tokens = checkpoint.model, checkpoint.tokens
        self._head: RerankHead = checkpoint.head
        self._max_length = min(max_tokens, checkpoint.model.max_source)
        self._batch_tokens = batch_tokens
        self.claim_limits = {
            "the cross-encoder": reranker_claim_limit(self._tokens, self._max_length)
        }

    @timed("cross_encoder")
    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return all sentences of each claim's documents with logits as scores, best first."""
        inputs: list[tuple[int, Document, RerankerInput]] = []
        for number, claim in enumerate(claims):
            chosen = [(s.title, s.text) for s in evidence[number]]
            for document in documents[number]:
                inputs += [
                    (number, document, encoder_input)
                    for encoder_input in reranker_inputs(
                        self._tokens,
                        claim,
                        chosen,
                        document.title,
                        document.sentences,
                        self._max_length,
                    )
                ]
        results: list[list[Sentence]] = [[] for _ in claims]
        for batch in length_batches([len(item.ids) for *_, item in inputs], self._batch_tokens):
            logits = self._logits([inputs[i][2].ids for i in batch])
            for row, i in enumerate(batch):
                number, document, encoder_input = inputs[i]
                for index, start, end in encoder_input.spans:
                    score = float(logits[row, start:end].mean())
                    text = document.sentences[index]
                    results[number].append(Sentence(document.title, index, text, score))
        return [best_first(sentences) for sentences in results]

    @torch.inference_mode()
    def _logits(self, inputs: Sequence[Sequence[int]]) -> torch.Tensor:
        hidden, _ = self._model.run_encoder(inputs)
        logits: torch.Tensor = self._head(hidden.float()).cpu()
        return logits


#: What the model of a `PointwiseReranker` writes after a relevant sentence, and after another one.
POINTWISE_ANSWERS = ("true", "false")


def pointwise_input(
    tokens: SafeTokenizer, claim: str, title: str, sentence: str, max_length: int
) -> list[int]:
    """Return the input of a `PointwiseReranker` for a sentence, of at most `max_length` tokens."""
    tail = [*tokens.encode("Relevant:"), tokens.eos]
    query = tokens.encode(f"Query: {claim}")[: max_length // 2]
    document = tokens.encode(f"Document: {title}. {sentence}")
    return [*query, *document[: max_length - len(query) - len(tail)], *tail]


class PointwiseReranker:
    """Score each sentence by whether a seq2seq model calls it relevant to the claim.

    The input is that of monoT5 (Nogueira et al., 2020), with which Jiang et al. (2021) and the
    paper rerank: ``Query: claim Document: title. sentence Relevant:``. The score is the log
    probability of "true" less that of "false".
    """

    def __init__(self, checkpoint: Checkpoint, *, batch_tokens: int = 8192) -> None:
        self._model, self._tokens = checkpoint.model, checkpoint.tokens
        self._batch_tokens = batch_tokens
        # The first tokens in which the two words differ.
        words = zip(*map(self._tokens.encode, POINTWISE_ANSWERS), strict=False)
        self._same: list[int] = []
        for true, false in words:
            if true != false:
                self._answers = (true, false)
                break
            self._same.append(true)
        else:
            raise AdmiralError(
                f"{checkpoint.path}: its tokenizer has no tokens for true and false; choose "
                "another reranker"
            )
        self.claim_limits = {"the pointwise reranker": checkpoint.model.max_source // 2}

    @timed("cross_encoder")
    def score(
        self,
        claims: Sequence[str],
        documents: Sequence[Sequence[Document]],
        evidence: Sequence[Sequence[Sentence]],
    ) -> list[list[Sentence]]:
        """Return all sentences of each claim's documents, best first; no evidence is read."""
        sentences = [non_blank_sentences(own) for own in documents]
        room = self._model.max_source
        inputs = [
            pointwise_input(self._tokens, claim, sentence.title, sentence.text, room)
            for claim, own in zip(claims, sentences, strict=True)
            for sentence in own
        ]
        scores = [0.0] * len(inputs)
        for batch in length_batches(list(map(len, inputs)), self._batch_tokens):
            for i, score in zip(batch, self._scores([inputs[i] for i in batch]), strict=True):
                scores[i] = score
        values = iter(scores)
        return [with_scores(own, [next(values) for _ in own]) for own in sentences]

    def _scores(self, inputs: Sequence[Sequence[int]]) -> list[float]:
        ids, mask = self._model.pad_inputs(inputs)
        before = torch.tensor([[self._model.start, *self._same]], device=ids.device)
        with self._model.inference_context():
            logits = self._model.model(
                input_ids=ids,
                attention_mask=mask,
                decoder_input_ids=before.expand(len(inputs), -1),
            ).logits[:, -1, list(self._answers)]
        differences: list[float] = (logits[:, 0].float() - logits[:, 1].float()).tolist()
        return differences
