"""Which data sets a command line asks for, and `fastcb bakeoff list` of files."""

import json
from pathlib import Path

import pytest

from vw_fastcb.bakeoff.selection import NoDatasets, Sources, chosen_entries, print_datasets

TABLE = "size,weight,species\n1,2,ant\n3,?,bee\n5,7,ant\n"


def folder_of(path: Path, *files: str) -> Path:
    for file in files:
        (path / file).parent.mkdir(parents=True, exist_ok=True)
        (path / file).write_text(TABLE)
    return path


def chosen(names: list[str], *folders: Path, **options) -> list[str]:
    return [entry.name for entry in chosen_entries(names, Sources(folders, **options))]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("iris", ["data/iris.csv"]),
        ("data/iris", ["data/iris.csv"]),
        ("iris.csv", ["data/iris.csv"]),
        ("a[1].csv", ["data/a[1].csv"]),
        ("a[1]", ["data/a[1].csv"]),
        ("a[12].csv", ["data/a1.csv"]),
        ("i*s", ["data/iris.csv"]),
        ("deep/b", ["data/deep/b.csv"]),
        ("data/*.csv", ["data/a1.csv", "data/a[1].csv", "data/deep/b.csv", "data/iris.csv"]),
    ],
)
def test_a_file_is_found_with_and_without_its_ending_literally_and_by_a_pattern(tmp_path, name, found):
    data = folder_of(tmp_path / "data", "iris.csv", "a[1].csv", "a1.csv", "deep/b.csv")
    assert chosen([name], data) == found


def test_all_unknown_names_are_told_with_those_that_are_like_them():
    with pytest.raises(NoDatasets) as caught:
        chosen(["irs", "xyzzy", "Keel/Letter", "wine"])
    told = str(caught.value)

    assert told.startswith("no data set is called irs (did you mean keel/iris")
    assert "?) or xyzzy or Keel/Letter (did you mean keel/letter" in told
    assert "wine" not in told


@pytest.mark.parametrize(
    ("names", "options", "sentence"),
    [
        ([""], {}, "--datasets has an empty name"),
        (["iris", " "], {}, "--datasets has an empty name"),
        ([], {"target": "species"}, "--target names a column in the files of --folder: give the folder, too"),
        ([], {"openml_server": "http://localhost"}, "--openml-server is the server .*: give --openml, too"),
        ([], {"openml": ""}, "--openml is empty; expected ids"),
        ([], {"openml": "abc,1"}, "ids of OpenML sets must be numbers separated by commas, .* 'abc' is not one"),
        ([], {"openml": "1 2x 3"}, "'2x' is not one"),
    ],
)
def test_options_that_say_nothing_are_refused(tmp_path, monkeypatch, names, options, sentence):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(NoDatasets, match=sentence):
        chosen(names, **options)


def test_the_same_file_counts_once_however_it_is_reached(tmp_path, monkeypatch):
    data = folder_of(tmp_path / "data", "a.csv", "deep/b.csv")
    monkeypatch.chdir(tmp_path)
    assert chosen([], data, data) == ["data/a.csv", "data/deep/b.csv"]
    assert chosen([], Path("data"), data / "deep", data / "deep" / "..") == ["data/a.csv", "data/deep/b.csv"]


def test_two_files_of_the_same_name_are_refused_with_both_paths(tmp_path):
    one, two = folder_of(tmp_path / "one" / "data", "a.csv"), folder_of(tmp_path / "two" / "data", "a.csv")
    with pytest.raises(NoDatasets) as caught:
        chosen([], one, two)

    assert f"both be called data/a.csv: {one / 'a.csv'} and {two / 'a.csv'}. Rename one" in str(caught.value)


def listed(capsys, *folders: Path, as_json: bool = False) -> tuple[int, str, str]:
    code = print_datasets([], Sources(folders), as_json)
    out, err = capsys.readouterr()
    return code, out, err


def test_the_list_tells_the_class_of_a_file_and_what_was_done_to_it(tmp_path, capsys):
    data = folder_of(tmp_path / "data", "a.csv")
    code, out, err = listed(capsys, data)

    assert code == 0
    assert "data/a.csv" in out
    assert err.splitlines() == [
        "data/a.csv: the class is the column 'species' (ant, bee)",
        "data/a.csv: column 'weight': 1 missing, replaced by the mean and marked",
    ]


def test_the_list_in_json_has_the_notes(tmp_path, capsys):
    code, out, err = listed(capsys, folder_of(tmp_path / "data", "a.csv"), as_json=True)

    assert (code, err) == (0, "")
    (facts,) = json.loads(out)
    assert facts["notes"][0] == "the class is the column 'species' (ant, bee)"


def test_the_list_does_not_print_hundreds_of_notes(tmp_path, capsys):
    data = folder_of(tmp_path / "data", "a.csv")
    header = ",".join([f"x{i}" for i in range(40)] + ["class"])
    (data / "a.csv").write_text(header + "\n" + "1," * 40 + "a\n" + "," * 40 + "b\n" + "3," * 40 + "b\n")
    _, _, err = listed(capsys, data)

    assert len(err.splitlines()) == 11
    assert err.endswith("data/a.csv: 31 more notes, which `fastcb bakeoff list --json` has\n")


def test_a_list_of_unusable_sets_has_no_table_and_fails(tmp_path, capsys):
    data = folder_of(tmp_path / "data", "b[bold]x.csv")
    (data / "b[bold]x.csv").write_text("1,2\n")
    code, out, err = listed(capsys, data)

    assert (code, out) == (1, "")
    assert err.startswith("left out: data/b[bold]x.csv: ")
    assert listed(capsys, data, as_json=True)[:2] == (1, "[]\n")


def test_names_that_look_like_markup_are_printed_as_they_are(tmp_path, capsys):
    data = folder_of(tmp_path / "data", "b[bold]x.csv", ":smile:.csv")
    (data / ":smile:.csv").write_text(TABLE + "6,8,bee\n")
    code, out, err = listed(capsys, data)

    assert code == 0
    assert "data/b[bold]x.csv " in out
    assert "data/:smile:.csv " in out
    assert "data/b[bold]x.csv: the class is" in err
    assert print_datasets(["[red]x"], Sources((tmp_path / "data",)), as_json=False) == 1
    assert "no data set is called [red]x" in capsys.readouterr().err


def test_the_same_data_under_two_names_are_listed_once(tmp_path, capsys):
    _, out, err = listed(capsys, folder_of(tmp_path / "data", "a.csv", "b.csv"))

    assert "data/a.csv" in out
    assert "data/b.csv" not in out
    assert "left out: data/b.csv: the same data as data/a.csv, which is counted once." in err.splitlines()
