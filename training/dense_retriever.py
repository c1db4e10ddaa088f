"""Train an encoder for dense retrieval of sources on cited pages, by expectation maximisation.

As DPR does (Karpukhin et al., 2020), but one encoder reads claims and passages, and a text is the
mean of its states: the form that is stored. SIDE has two encoders, and the state of the first
token. Run as::

    accelerate launch -m training.dense_retriever --config configs/paper-side-dense.yaml

or with ``python``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from accelerate import Accelerator
from torch import Tensor
from torch.nn.functional import normalize
from transformers import AutoModel, AutoTokenizer, PreTrainedModel

from training.cited_pages import (
    CitedPassages,
    EmConfig,
    EmModule,
    EmProgram,
    ScoredBatch,
)
from training.command_options import training_command
from training.loop.training_loop import run_training
from trie.seq2seq import quiet_transformers


def train_dense_retriever(config: EmConfig, *, overwrite: bool = False) -> None:
    """Train an encoder (see `run_training`)."""
    run_training(
        config, lambda accelerator, _: DenseProgram(config, accelerator), overwrite=overwrite
    )


@dataclass(frozen=True, slots=True)
class DenseBatch:
    """Claims, and the passages of all of them.

    Attributes
    ----------
    query_ids, query_mask
        Inputs of the queries, (claims, length).
    ids, mask
        Inputs of the passages, (passages, length).
    claims, positive
        Number of the claim of each passage, and whether it is of the cited page, (passages,).
    """

    query_ids: Tensor
    query_mask: Tensor
    ids: Tensor
    mask: Tensor
    claims: Tensor
    positive: Tensor


class DenseLoss(EmModule):
    """An encoder with its loss."""

    def __init__(self, model: PreTrainedModel, config: EmConfig) -> None:
        super().__init__(config)
        self.model = model

    def scored(self, batch: DenseBatch) -> ScoredBatch:
        """Return the scaled cosines of all claims and passages, row by row."""
        queries = self._vectors(batch.query_ids, batch.query_mask)
        passages = self._vectors(batch.ids, batch.mask)
        scores = self._config.scale * queries @ passages.T
        owners, good = batch.claims.tolist(), batch.positive.tolist()
        width = len(owners)
        positives, negatives = [], []
        for claim in range(len(queries)):
            own = [at for at in range(width) if owners[at] == claim]
            shared = range(width) if self._config.shared_negatives else own
            positives.append([claim * width + at for at in own if good[at]])
            negatives.append(
                [claim * width + at for at in shared if owners[at] != claim or not good[at]]
            )
        return ScoredBatch(scores.flatten(), positives, negatives)

    def _vectors(self, ids: Tensor, mask: Tensor) -> Tensor:
        states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        weights = mask[:, :, None].float()
        return normalize((states * weights).sum(1) / weights.sum(1), dim=-1)


class DenseProgram(EmProgram):
    """Trains an encoder of claims and passages."""

    product = "encoder"
    loss_kinds = ("encoder",)
    introduction = "An encoder of claims and of passages of sources, with mean pooling"
    pipeline_tag = "sentence-similarity"
    module: DenseLoss

    def __init__(self, config: EmConfig, accelerator: Accelerator) -> None:
        super().__init__(config, accelerator.device)
        with quiet_transformers():
            self._tokenizer = AutoTokenizer.from_pretrained(self.start, local_files_only=True)
            # Exported weights are in half precision; training needs full precision.
            model = AutoModel.from_pretrained(
                self.start, local_files_only=True, dtype=torch.float32
            )
        self.module = DenseLoss(model, config)
        self.groups = [{"params": list(self.module.parameters()), "lr": config.lr}]

    def collate(self, items: Sequence[CitedPassages]) -> DenseBatch:
        """Return a padded batch; what does not fit the model is cut."""
        rows = [
            (number, is_positive, " ".join(filter(None, passage)))
            for number, item in enumerate(items)
            for is_positive, passages in ((True, item.positives), (False, item.negatives))
            for passage in passages
        ]
        query_ids, query_mask = self._encoded([item.query for item in items])
        ids, mask = self._encoded([text for _, _, text in rows])
        return DenseBatch(
            query_ids,
            query_mask,
            ids,
            mask,
            torch.tensor([number for number, _, _ in rows]),
            torch.tensor([is_positive for _, is_positive, _ in rows]),
        )

    def write(self, folder: Path, dtype: torch.dtype) -> None:
        """Write the encoder in the hub's layout."""
        weights = {
            name: tensor.detach().to("cpu", dtype).contiguous()
            for name, tensor in self.module.model.state_dict().items()
        }
        with quiet_transformers():
            self.module.model.save_pretrained(folder, state_dict=weights)
            self._tokenizer.save_pretrained(folder)

    def _encoded(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        encoded = self._tokenizer(
            list(texts),
            truncation=True,
            max_length=self._config.max_length,
            padding=True,
            return_tensors="pt",
        )
        return encoded["input_ids"], encoded["attention_mask"]


def _start(path: Path, overrides: tuple[str, ...], overwrite: bool) -> None:
    train_dense_retriever(EmConfig.read(path, overrides), overwrite=overwrite)


main = training_command(
    _start, "Train an encoder of claims and passages on cited pages.", "docs/side.md"
)

if __name__ == "__main__":
    main()
