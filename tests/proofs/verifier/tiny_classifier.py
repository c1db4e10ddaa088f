"""A tiny random pair classifier in the layout of the hub."""

import json

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertForSequenceClassification, BertModel

from trie.seq2seq import quiet_transformers

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXT = (
    "Rome is not a city in Italy. Paris is the capital of France. Oslo was never on the Tiber, "
    "Bern lies on the Aare: 12 rivers and 30 towns."
)


def write_classifier_directory(folder, labels=("CONTRADICTION", "NEUTRAL", "ENTAILMENT"), width=16):
    """Write a BERT with random weights; without labels, only the encoder."""
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer()
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=200, special_tokens=SPECIALS, show_progress=False
    )
    core.train_from_iterator([TEXT] * 4, trainer)
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    folder.mkdir(parents=True)
    core.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 64,
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=core.get_vocab_size(),
        hidden_size=width,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.2,  # with smaller weights, a model of this size learns nothing
    )
    if labels:
        config.id2label = dict(enumerate(labels))
        config.label2id = {name: number for number, name in enumerate(labels)}
    with quiet_transformers():
        kind = BertForSequenceClassification if labels else BertModel
        kind(config).save_pretrained(folder)
    return folder
