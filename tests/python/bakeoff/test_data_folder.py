import gzip
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from vw_fastcb.bakeoff.data import BrokenDataset, Dataset, folder

ROWS = 40
SIZES = [float(i % 7) + 0.5 for i in range(ROWS)]
COLOURS = [("red", "green", "blue")[i % 3] for i in range(ROWS)]
CLASSES = [("no", "yes")[(i // 2) % 2] for i in range(ROWS)]
ONE_HOT = [[s, float(c == "blue"), float(c == "green"), float(c == "red")] for s, c in zip(SIZES, COLOURS, strict=True)]
CELLS = [list(map(str, row)) for row in zip(SIZES, COLOURS, CLASSES, strict=True)]


def only(path: Path, target: str | None = None) -> Dataset:
    """The one set of a folder, through pickle, as a worker of another process gets it."""
    (entry,) = folder(path, target)
    return pickle.loads(pickle.dumps(entry)).load()


def lines(separator: str, header: list[str] | None = None) -> str:
    return "".join(separator.join(row) + "\n" for row in ([header] if header else []) + CELLS)


def check(dataset: Dataset) -> None:
    """Whatever the format, the same table comes out."""
    features = dataset.features.toarray() if scipy.sparse.issparse(dataset.features) else dataset.features
    np.testing.assert_array_equal(features, np.array(ONE_HOT, np.float32))
    assert dataset.classes == ("no", "yes")
    np.testing.assert_array_equal(dataset.labels, [int(c == "yes") for c in CLASSES])


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("header", [None, ["size", "colour", "outcome"]])
def test_a_csv_is_read_whatever_its_separator_with_and_without_a_header(tmp_path, separator, header):
    (tmp_path / "a.csv").write_text(lines(separator, header))
    check(only(tmp_path))


def test_a_csv_column_with_a_usual_name_is_the_class_wherever_it_stands(tmp_path):
    table = pd.DataFrame(CELLS, columns=["size", "colour", "x"])
    table.rename(columns={"x": "Label"})[["Label", "size", "colour"]].to_csv(tmp_path / "a.csv", index=False)
    check(only(tmp_path))


@pytest.mark.parametrize("target", ["outcome", "1"])
def test_the_target_can_be_named_or_numbered(tmp_path, target):
    table = pd.DataFrame(CELLS, columns=["size", "colour", "outcome"])[["size", "outcome", "colour"]]
    table.to_csv(tmp_path / "a.csv", index=False)
    check(only(tmp_path, target))


def test_a_header_of_words_above_words_is_told_from_a_row(tmp_path):
    rows = [("sunny", "hot", "no"), ("rain", "mild", "yes"), ("rain", "hot", "yes"), ("sunny", "mild", "no")]
    text = "".join(",".join(row) + "\n" for row in rows)
    (tmp_path / "with.csv").write_text("outlook,heat,play\n" + text)
    (tmp_path / "without.csv").write_text(text)
    with_header, without = (entry.load() for entry in folder(tmp_path))

    assert with_header.rows == without.rows == 4
    assert with_header.fingerprint == without.fingerprint


def test_quoted_cells_and_a_byte_order_mark_are_no_trouble(tmp_path):
    text = 'size,colour,class\n1,"red, dark",a\n2,blue,b\n3,"red, dark",b\n'
    (tmp_path / "a.csv").write_text(text, encoding="utf-8-sig")
    np.testing.assert_array_equal(only(tmp_path).features, [[1, 0, 1], [2, 1, 0], [3, 0, 1]])


def arff(rows: list[str]) -> str:
    head = "% a comment\n@RELATION 'a relation'\n@attribute size REAL\n"
    head += "@attribute 'the colour' {red, 'green', \"blue\"}\n@attribute outcome {no,yes}\n\n@DATA\n% another\n"
    return head + "".join(f"{row}\n" for row in rows)


def test_a_dense_arff_file_is_read(tmp_path):
    (tmp_path / "a.arff").write_text(arff([f"{s}, '{c}', {k}" for s, c, k in CELLS]))
    check(only(tmp_path))


def test_a_sparse_arff_file_leaves_out_zeros_and_first_categories(tmp_path):
    rows = [
        ", ".join(cell for cell in (f"0 {s}", c != "red" and f"1 {c}", k != "no" and f"2 {k}") if cell)
        for s, c, k in CELLS
    ]
    (tmp_path / "a.arff").write_text(arff([f"{{{row}}}" for row in rows]))
    check(only(tmp_path))


def test_declared_categories_stay_categories_though_they_look_like_numbers(tmp_path):
    text = "@relation r\n@attribute a {1,2}\n@attribute b numeric\n@attribute class {1,2}\n@data\n1,1,1\n2,?,2\n1,3,2\n"
    (tmp_path / "a.arff").write_text(text)
    np.testing.assert_array_equal(only(tmp_path).features, [[1, 0, 1, 0], [0, 1, 2, 1], [1, 0, 3, 0]])


def test_a_keel_file_names_its_class_among_the_outputs(tmp_path):
    head = "@relation toy\n@attribute Outcome{no,yes}\n@attribute Size real[0.5,6.5]\n"
    head += "@attribute Colour {red, green, blue}\n@inputs Size, Colour\n@outputs Outcome\n@data\n"
    (tmp_path / "toy.dat").write_text(head + "".join(f"{k}, {s}, {c}\n" for s, c, k in CELLS))
    check(only(tmp_path))


def test_an_npz_file_holds_x_and_y(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array(ONE_HOT), y=np.array(CLASSES))
    check(only(tmp_path))


def test_a_parquet_table_is_read(tmp_path):
    table = pd.DataFrame({"size": SIZES, "colour": pd.Categorical(COLOURS), "outcome": CLASSES})
    table.to_parquet(tmp_path / "a.parquet")
    check(only(tmp_path))


def vw_text() -> str:
    return "".join(f"{k} 1.0 tag{i}|n size:{s} |c {c}\n" for i, (s, c, k) in enumerate(CELLS))


@pytest.mark.parametrize("compressed", [False, True])
def test_vw_text_gives_a_column_for_every_name_in_every_namespace(tmp_path, compressed):
    if compressed:
        (tmp_path / "a.vw.gz").write_bytes(gzip.compress(vw_text().encode()))
    else:
        (tmp_path / "a.vw").write_text(vw_text())
    dataset = only(tmp_path)

    expected = [[s, float(c == "red"), float(c == "green"), float(c == "blue")] for s, c, _ in CELLS]
    np.testing.assert_array_equal(dataset.features, np.array(expected, np.float32))  # columns as they first appear
    assert dataset.classes == ("no", "yes")


def test_vw_namespaces_keep_equal_names_apart_and_weigh_them(tmp_path):
    (tmp_path / "a.vw").write_text("1 |a:2 x:3 |b x\n2 | x |a x\n\n1 |b x:5 x:1\n")
    dataset = only(tmp_path)

    assert dataset.columns == 3
    np.testing.assert_array_equal(dataset.features, [[6, 1, 0], [1, 0, 1], [0, 6, 0]])
    np.testing.assert_array_equal(dataset.labels, [0, 1, 0])


def test_wide_vw_text_stays_sparse(tmp_path):
    (tmp_path / "a.vw").write_text("".join(f"{i % 3} | f{i} f{i + 1}:0.5\n" for i in range(300)))
    dataset = only(tmp_path)

    assert scipy.sparse.issparse(dataset.features)
    assert (dataset.columns, dataset.features.nnz) == (301, 600)
    assert dataset.features.indices.dtype == dataset.features.indptr.dtype == np.int32


ARFF_HEAD = "@relation r\n@attribute a real\n@attribute class {x,y}\n@data\n"

BROKEN = {
    "empty.csv": (b"", r"0 line\(s\) of text"),
    "ragged.csv": (b"1,2,a\n3,4\n5,6,b\n", "no separator .* cuts its first 3 lines"),
    "late.csv": (b"1,2,a\n" * 300 + b"1,2,3,4,b\n", "is not a table of even rows: .* line 301, saw 5"),
    "bytes.csv": (bytes(range(128, 256)) * 4, "is not text in UTF-8"),
    "regression.csv": (b"".join(b"%d,%d.5\n" % (i, i) for i in range(50)), "looks like a number to predict"),
    "counts.csv": (b"".join(b"%d,%d\n" % (i, i // 2 * 3) for i in range(150)), "75 different values in 150 rows"),
    "one-class.csv": (b"1,a\n2,a\n3,a\n", r"1 class\(es\) in 3 rows"),
    "no-data.arff": (b"@relation r\n@attribute a real\n", "has no line `@data`"),
    "no-rows.arff": (ARFF_HEAD.encode(), "has no rows after `@data`"),
    "cut.arff": (ARFF_HEAD.encode() + b"1,x\n2,y\n3", "cut off or damaged: row 3 after `@data` has fewer than the 2"),
    "cut-word.arff": (
        b"@relation r\n@attribute a real\n@attribute class {no,yes}\n@data\n1,no\n2,ye",
        "'ye' in the column",
    ),
    "long.arff": (ARFF_HEAD.encode() + b"1,x\n2,y,7\n", "a row too long"),
    "word.arff": (ARFF_HEAD.encode() + b"1,x\ntwo,y\n", "'two' in the numeric column 'a'"),
    "sparse-cut.arff": (ARFF_HEAD.encode() + b"{0 1, 1 y}\n{0 2, 1", "row 2 of .* is cut off or not sparse"),
    "sparse-far.arff": (ARFF_HEAD.encode() + b"{0 1, 7 y}\n", "names a column past the 2 declared"),
    "sparse-cell.arff": (ARFF_HEAD.encode() + b"{0 1, y}\n", "a cell that is not `index value`"),
    "header.dat": (b"@relation r\n@attribute a\n@data\n1\n", "`@attribute name type` was expected"),
    "one-column.dat": (b"@relation r\n@attribute a real\n@data\n1\n", r"declares 1 column\(s\)"),
    "cut.npz": (b"PK\x03\x04 and no more", "is not an .npz file of plain arrays"),
    "cut.parquet": (b"PAR1 and no more", "is not a Parquet table that can be read"),
    "no-bar.vw": (b"1 x y\n", "line 1 of .* has no bar"),
    "bandit.vw": (b"1:0.5:0.2 | x\n", "has the label '1:0.5:0.2'; a class was expected"),
    "no-label.vw": (b"1 | x\n | y\n", "line 2 of .* has no label"),
    "word.vw": (b"1 | x:two\n", "has 'x:two'; a number was expected behind the colon"),
    "nan.vw": (b"1 | x:nan\n2 | x\n", "is not a finite number"),
    "no-features.vw": (b"1 |\n2 |\n", "has no line with a feature"),
    "cut.vw.gz": (gzip.compress(vw_text().encode())[:100], "is damaged or not text"),
    "not-gzip.vw.gz": (b"1 | x\n", "is damaged or not text"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_says_which_it_is_and_what_is_wrong_and_the_others_are_read(tmp_path, name):
    content, sentence = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    (tmp_path / "whole.csv").write_text(lines(","))
    entries = {entry.name.partition("/")[2]: entry for entry in folder(tmp_path)}

    with pytest.raises(BrokenDataset, match=sentence) as caught:
        entries[name].load()
    assert name in str(caught.value)
    check(entries["whole.csv"].load())


def test_arrays_that_do_not_fit_are_refused_with_their_shapes(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.zeros((3, 2)), y=np.zeros(4))
    with pytest.raises(BrokenDataset, match=r"X has the shape \(3, 2\) and y \(4,\)"):
        only(tmp_path)


def test_an_npz_file_with_other_arrays_says_which(tmp_path):
    np.savez(tmp_path / "a.npz", inputs=np.zeros((3, 2)), outputs=np.zeros(3))
    with pytest.raises(BrokenDataset, match="holds inputs, outputs; the arrays X and y were expected"):
        only(tmp_path)


def test_a_target_that_is_not_there_is_refused_with_the_columns(tmp_path):
    (tmp_path / "a.csv").write_text(lines(",", ["size", "colour", "outcome"]))
    with pytest.raises(BrokenDataset, match=r"no column 'weight' .* the columns are 'size', 'colour', 'outcome'"):
        only(tmp_path, "weight")


def test_folders_are_walked_and_other_files_passed_over(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.CSV").write_text(lines(","))
    (tmp_path / "a.csv").write_text(lines(","))
    (tmp_path / "read.me").write_text("hello")

    assert [entry.name for entry in folder(tmp_path)] == [f"{tmp_path.name}/a.csv", f"{tmp_path.name}/deep/b.CSV"]


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(NotADirectoryError, match="is not a folder; the folder that holds your data files was expected"):
        folder(tmp_path / "nowhere")
