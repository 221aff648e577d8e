import gzip
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from vw_fastcb.bakeoff.data import BrokenDataset, Dataset, folder
from vw_fastcb.bakeoff.data.table import choose_target

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


@pytest.mark.parametrize(
    ("columns", "target"),
    [
        ("x,y,species", "species"),
        ("species,x,y", "y"),
        ("Y,x,species", "Y"),
        ("x,label,target,species", "target"),
        ("target,Class,species", "Class"),
    ],
)
def test_y_is_the_class_only_at_an_end_and_class_target_and_label_anywhere(columns, target):
    assert choose_target("a", columns.split(","), None) == target


def test_the_target_can_be_counted_from_the_end(tmp_path):
    table = pd.DataFrame(CELLS, columns=["size", "colour", "outcome"])[["size", "outcome", "colour"]]
    table.to_csv(tmp_path / "a.csv", index=False)
    check(only(tmp_path, "-2"))
    with pytest.raises(BrokenDataset, match="no column '-4'"):
        only(tmp_path, "-4")


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.npz", "a.vw", "a.arff", "b.arff"])
def test_a_class_may_be_called_none_and_a_missing_one_is_left_out_in_every_format(tmp_path, name):
    classes = ["None", "NA", "yes", "None"]
    if name == "a.csv":
        (tmp_path / name).write_text("size,outcome\n" + "".join(f"{i},{c}\n" for i, c in enumerate(classes)))
    elif name == "a.parquet":
        pd.DataFrame({"size": range(4), "outcome": classes}).to_parquet(tmp_path / name)
    elif name == "a.npz":
        np.savez(tmp_path / name, X=np.arange(4)[:, None], y=np.array(classes))
    elif name == "a.vw":
        (tmp_path / name).write_text("".join(f"{c} | size:{i}\n" for i, c in enumerate(classes)))
    else:
        row = "{{0 {}, 1 {}}}\n" if name == "b.arff" else "{},{}\n"
        head = "@relation r\n@attribute size real\n@attribute outcome {yes,None}\n@data\n"
        (tmp_path / name).write_text(head + "".join(row.format(i, c) for i, c in enumerate(classes)))
    dataset = only(tmp_path)

    assert dataset.classes == ("None", "yes")
    np.testing.assert_array_equal(dataset.labels, [0, 1, 0])
    np.testing.assert_array_equal(np.ravel(dataset.features), [0, 2, 3])
    assert dataset.notes[1:] == ("1 row without a class left out",)


def test_the_first_note_says_which_column_is_the_class(tmp_path):
    (tmp_path / "a.csv").write_text(lines(",", ["size", "colour", "outcome"]))
    (tmp_path / "b.vw").write_text(vw_text())
    np.savez(tmp_path / "c.npz", X=np.arange(70)[:, None], y=np.arange(70) % 7)
    csv, vw, npz = (entry.load().notes[0] for entry in folder(tmp_path))

    assert csv == "the class is the column 'outcome' (no, yes)"
    assert vw == "the class is the label of each line (no, yes)"
    assert npz == "the class is the column 'y' (7 classes: 0, 1, 2, 3, 4, …)"


def test_a_declared_column_without_a_value_is_left_out_and_said_so(tmp_path):
    text = "@relation r\n@attribute a real\n@attribute b {u,v}\n@attribute size real\n@attribute class {x,y}\n@data\n"
    (tmp_path / "a.arff").write_text(text + "?,?,1,x\n?,?,2,y\n?,?,3,x\n")
    dataset = only(tmp_path)

    assert dataset.columns == 1
    assert dataset.notes[1:] == ("column 'a' left out: it has no value", "column 'b' left out: it has no value")


def test_a_header_of_words_above_words_is_told_from_a_row(tmp_path):
    rows = [("sunny", "hot", "no"), ("rain", "mild", "yes"), ("rain", "hot", "yes"), ("sunny", "mild", "no")]
    text = "".join(",".join(row) + "\n" for row in rows)
    (tmp_path / "with.csv").write_text("outlook,heat,play\n" + text)
    (tmp_path / "without.csv").write_text(text)
    with_header, without = (entry.load() for entry in folder(tmp_path))

    assert with_header.rows == without.rows == 4
    assert with_header.fingerprint == without.fingerprint


HEADERS = {
    "places and a usual name": ("0,1,target", ["1,2,a", "3,4,b", "5,6,a"]),
    "places and a word above numbers": ("0,1,kind", ["1,2,0", "3,4,1", "5,6,0"]),
    "places alone": ("0,1,2", ["1,2,a", "3,4,b", "5,6,a"]),
    "an index": (",x,z,kind", ["0,1,2,a", "1,3,4,b", "2,5,6,a"]),
    "an index from 1": (",x,z,kind", ["1,1,2,a", "2,3,4,b", "3,5,6,a"]),
    "an index of shuffled rows": (",x,z,kind", ["7,1,2,a", "0,3,4,b", "5,5,6,a"]),
    "an index and places": (",0,1,2", ["0,1,2,a", "1,3,4,b", "2,5,6,a"]),
}


@pytest.mark.parametrize("kind", HEADERS)
def test_a_header_that_pandas_writes_is_told_from_a_row(tmp_path, kind):
    header, rows = HEADERS[kind]
    (tmp_path / "a.csv").write_text("\n".join([header, *rows]) + "\n")
    dataset = only(tmp_path)

    np.testing.assert_array_equal(dataset.features, [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(dataset.labels, [0, 1, 0])
    left_out = "the first column left out: it has no name and numbers the rows"
    assert dataset.notes[1:] == ((left_out,) if "index" in kind else ())


NO_HEADERS = {
    "a missing value above numbers": ["?,2,a", "3,4,b", "5,6,a"],
    "nothing above numbers": [",2,a", "3,4,b", "3,6,a"],
    "a usual name that is a class": ["1,2,y", "3,4,n", "5,6,y"],
    "places that come again": ["0,1,2", "0,1,2", "1,0,0"],
    "an index and a row": ["0,1,2,a", "1,3,4,b", "2,5,6,a"],
}


@pytest.mark.parametrize("kind", NO_HEADERS)
def test_a_row_is_not_taken_for_a_header_and_that_is_said(tmp_path, kind):
    rows = NO_HEADERS[kind]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    dataset = only(tmp_path)

    assert dataset.rows == 3
    last = rows[0].count(",")
    assert dataset.notes[1] == f"the first line is data, no header: the columns are called 0 to {last}"


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("header", [None, ["size", "colour", "outcome"]])
def test_a_decimal_comma_is_read_where_it_does_not_separate(tmp_path, separator, header):
    (tmp_path / "a.csv").write_text(lines(separator, header).replace(".", ","))
    check(only(tmp_path))


def test_a_column_of_numbers_with_a_comma_may_miss_some_and_one_of_texts_stays_text(tmp_path):
    (tmp_path / "a.csv").write_text("a;b;c;class\n5,1;1,5;7;x\n?;2,5 m;-,5e1;y\n4,9;1,5;3;y\n")
    np.testing.assert_allclose(
        only(tmp_path).features, [[5.1, 0, 1, 0, 7], [5, 1, 0, 1, -5], [4.9, 0, 1, 0, 3]], rtol=1e-6
    )


def test_text_in_latin_1_is_read(tmp_path):
    (tmp_path / "a.csv").write_bytes("größe,class\n1,süß\n2,herb\n3,süß\n".encode("latin-1"))
    dataset = only(tmp_path)

    np.testing.assert_array_equal(dataset.features, [[1], [2], [3]])
    assert dataset.classes == ("herb", "süß")


def test_blank_lines_and_cells_of_several_lines_are_no_trouble(tmp_path):
    (tmp_path / "a.csv").write_text('size,colour,class\n\n1,"red,\n\ndark",a\n   \n2,blue,b\n3,blue,b\n\n')
    np.testing.assert_array_equal(only(tmp_path).features, [[1, 0, 1], [2, 1, 0], [3, 1, 0]])


def test_a_cell_of_several_lines_may_lie_where_the_sniffed_lines_end(tmp_path):
    cells = ["red", '"dark\nred"']
    (tmp_path / "a.csv").write_text(
        "size,colour,class\n" + "".join(f"{i},{cells[i % 2]},{i % 4}\n" for i in range(300))
    )
    assert only(tmp_path).rows == 300


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


def test_a_parquet_index_is_a_column_where_it_has_a_name(tmp_path):
    table = pd.DataFrame({"size": SIZES, "colour": COLOURS}, index=pd.Index(CLASSES, name="outcome"))
    table.to_parquet(tmp_path / "a.parquet")
    check(only(tmp_path, "outcome"))
    table.rename_axis(None).assign(outcome=CLASSES).to_parquet(tmp_path / "a.parquet")
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
    "empty.csv": (b"", r"has no line of text; expected a table"),
    "ragged.csv": (b"1,2,a\n3,4\n5,6,b\n", "ragged.csv: line 2 has 2 values, the others have 3"),
    "late.csv": (b"1,2,a\n" * 300 + b"1,2,3,4,b\n", "late.csv: line 301 has 5 values, the others have 3"),
    "late-short.csv": (b"1,2,a\n\n" * 300 + b"1,2\n" + b"3,4,b\n" * 9, "line 601 has 2 values, the others have 3"),
    "cut.csv": (b"x,y z,c\n" + b"1,2,a\n3,4,b\n" * 150 + b"5", "line 302 has 1 value, the others have 3"),
    "cut-text.csv": (b"1,2,a b\n3,4,a c\n5,6 d\n", "line 3 has 2 values, the others have 3"),
    "cut-comma.csv": (b"1,5;2,5;a\n" * 3 + b"1,5;2,5\n", "line 4 has 2 values, the others have 3"),
    "comment.csv": (b"# mine\n1,2,a\n3,4,b\n", "line 1 has 1 value, the others have 3. Take comments out"),
    "open-quote.csv": (b"1,2,a\n" * 3 + b'3,"4,b\n5,6,a\n', "line 4 has 2 values, the others have 3"),
    "prose.csv": (b"No table.\nBut lines, with commas, in them.\nSome have, others not.\n", "no separator .* splits"),
    "utf16.csv": ("x,class\n1,a\n2,b\n".encode("utf-16"), "is not text in UTF-8"),
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
    "header.dat": (b"@relation r\n@attribute a\n@data\n1\n", "expected `@attribute name type`"),
    "one-column.dat": (b"@relation r\n@attribute a real\n@data\n1\n", r"declares 1 column\(s\)"),
    "cut.npz": (b"PK\x03\x04 and no more", "is not an .npz file of plain arrays"),
    "cut.parquet": (b"PAR1 and no more", "is not a Parquet table that can be read"),
    "no-bar.vw": (b"1 x y\n", "line 1 of .* has no bar"),
    "bandit.vw": (b"1:0.5:0.2 | x\n", "has the label '1:0.5:0.2'; expected a class"),
    "no-label.vw": (b"1 | x\n | y\n", "line 2 of .* has no label"),
    "word.vw": (b"1 | x:two\n", "has 'x:two'; expected a number after the colon"),
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
    with pytest.raises(BrokenDataset, match="holds inputs, outputs; expected the arrays X and y"):
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
    with pytest.raises(NotADirectoryError, match="is not a folder; expected the folder that holds your data files"):
        folder(tmp_path / "nowhere")
