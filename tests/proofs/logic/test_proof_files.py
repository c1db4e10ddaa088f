"""Files of proofs read back, and say where they do not."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs import Proof, ProofFileError, read_proofs
from tests.proofs.logic.test_proof import PROOF, proofs


@given(st.lists(proofs, max_size=4))
def test_files_read_back(tmp_path_factory: pytest.TempPathFactory, written: list[Proof]) -> None:
    path = tmp_path_factory.mktemp("proofs") / "proofs.txt"
    text = "".join(f"{proof.to_text()}\n" for proof in written)
    path.write_bytes(text.encode("utf-8", "replace"))
    read = [proof.to_text() for proof in read_proofs(path)]
    assert read == text.encode("utf-8", "replace").decode().split("\n")[:-1]


def test_other_line_ends_and_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "proofs.txt"
    path.write_bytes(b"\xef\xbb\xbf" + f"{PROOF.to_text()}\r\n \n\n{PROOF.to_text()}".encode())
    assert list(read_proofs(path)) == [PROOF, PROOF]


@pytest.mark.parametrize(
    ("line", "column", "problem"),
    [
        (b"{ a } [ b ] ?", 13, "expected an operator"),
        (b"{ a } [ b ] = { a [ b ] =", 19, r"expected '}', found '\['"),
        (b"proof", 1, "expected '{', found 'p'"),
        (b"{ \xc3\xa9 } [ ] =", 11, "empty evidence"),
        (b"{ a } [ \xff ] =", 9, "not UTF-8"),
    ],
)
def test_errors_name_file_line_and_column(
    tmp_path: Path, line: bytes, column: int, problem: str
) -> None:
    path = tmp_path / "proofs.txt"
    path.write_bytes(b"{ a } [ b ] =\n\n" + line + b"\n{ a } [ b ] =\n")
    place = rf"proofs\.txt: line 3, column {column}: .*{problem}"
    reader = read_proofs(path)
    assert next(reader).to_text() == "{ a } [ b ] ="
    with pytest.raises(ProofFileError, match=place) as caught:
        next(reader)
    assert (caught.value.path, caught.value.line, caught.value.column) == (path, 3, column)
