"""The warm-started encoder computes the same states as MiniLM, up to the layer-norm epsilon."""

import torch
from transformers import AutoModel, AutoTokenizer

from admiral.requirements import minilm_directory
from training.warm_start import mini_tokenizer, warm_start
from trie import SafeTokenizer
from trie.model.quiet_transformers import quiet_transformers

TEXTS = [
    "Seth Meyers led through the evening as its host.",
    "Short.",
    "A rather longer sentence, with commas, a number like 1973, and an accent: Pelé.",
]


def test_the_encoder_agrees_with_minilm():
    source = minilm_directory()
    with quiet_transformers():
        bert = AutoModel.from_pretrained(source, local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True)
    encoder = warm_start(source).eval().get_encoder()
    batch = tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.inference_mode():
        theirs = bert(**batch).last_hidden_state
        ours = encoder(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
        ).last_hidden_state
    mask = batch["attention_mask"].bool()
    assert (theirs - ours)[mask].abs().max() < 5e-3


def test_marker_tokens_use_reserved_rows_of_the_vocabulary():
    source = minilm_directory()
    plain = AutoTokenizer.from_pretrained(source, local_files_only=True)
    tokens = SafeTokenizer(mini_tokenizer(source))
    assert tokens.size == len(plain)
    marks = [tokens.task("retrieve"), tokens.task("prove"), tokens.identifier(0)]
    assert len(set(marks)) == 3 and None not in marks
    assert tokens.encode("born in 1973") == plain.encode("born in 1973", add_special_tokens=False)
