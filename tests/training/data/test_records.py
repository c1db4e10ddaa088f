"""fairseq's parallel text: lines stay aligned."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from admiral.errors import RecordError
from training.data.records import write_parallel_text

TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\n\r\x0b\u2028 []"))


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(TEXT, TEXT), max_size=5))
def test_text_is_written_as_it_is_or_refused(tmp_path, pairs):
    if set("\n\r") & set("".join(source + target for source, target in pairs)):
        with pytest.raises(RecordError, match=r"train\.(source|target):\d: field '"):
            write_parallel_text(tmp_path, "train", pairs)
        return
    assert write_parallel_text(tmp_path, "train", pairs) == len(pairs)
    for at, side in enumerate(("source", "target")):
        # As fairseq reads it: text mode, universal line ends.
        with (tmp_path / f"train.{side}").open(encoding="utf-8") as lines:
            assert list(lines) == [f"{pair[at]}\n" for pair in pairs]
