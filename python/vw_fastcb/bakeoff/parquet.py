"""The results of a bake-off as one Parquet file, to publish or to move: `fastcb bakeoff export` and `import`.

A row is a pass. Its loss is exactly mistakes / rounds, so the file keeps the two whole numbers. What is known of the
data sets and of the run is JSON in the metadata of the schema: the file has all that a report needs.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from vw_fastcb.bakeoff.store import Run

_KEY = ["dataset", "algorithm", "configuration", "step", "shuffle", "rounds"]
_DATASETS = ["name", "source", "rows", "columns", "classes", "majority_error", "subset_of", "fingerprint"]
_BROKEN = ["name", "source", "reason"]
_FACTS = b"vw_fastcb.bakeoff"
_FORMAT = 1
_NAMES = pa.dictionary(pa.int16(), pa.string())
# A third smaller than pyarrow's defaults.
_ENCODING = {
    "compression": "zstd",
    "compression_level": 19,
    "use_dictionary": ["dataset", "algorithm", "configuration", "step", "shuffle", "rounds"],
    "column_encoding": {"mistakes": "BYTE_STREAM_SPLIT"},
}

SCHEMA = pa.schema(
    [
        pa.field("dataset", _NAMES, nullable=False),
        pa.field("algorithm", _NAMES, nullable=False),
        pa.field("configuration", _NAMES, nullable=False),
        pa.field("step", pa.float64(), nullable=False),  # 0 where the algorithm has none
        pa.field("shuffle", pa.int16(), nullable=False),
        pa.field("rounds", pa.int32(), nullable=False),
        pa.field("mistakes", pa.int32(), nullable=False),
        pa.field("losses", pa.binary()),  # of each round, zlib-compressed bytes of 0 and 1, where the curve was kept
    ]
)
"""The columns of every exported file."""


class BadExport(ValueError):
    """A file that cannot be written or read, with what was expected."""


def write_parquet(run: Run, path: Path) -> None:
    """Writes a run; the file appears once it is whole."""
    rows = run.results.merge(run.curves, on=_KEY, how="left")
    mistakes = (rows["loss"] * rows["rounds"]).round().astype("int32")
    if not (mistakes / rows["rounds"] == rows["loss"]).all():
        raise BadExport("a loss of the store is not a number of mistakes out of its rounds: the store is damaged.")
    facts = {
        "format": _FORMAT,
        "meta": dict(run.meta),
        "datasets": _records(run.datasets),
        "broken": _records(run.broken),
    }
    schema = SCHEMA.with_metadata({_FACTS: json.dumps(facts).encode()})
    losses = [value if isinstance(value, bytes) else None for value in rows["losses"]]
    columns = {name: rows[name] for name in _KEY} | {"mistakes": mistakes, "losses": losses}
    arrays = [pa.array(columns[field.name], pa.string() if field.type == _NAMES else field.type) for field in schema]
    table = pa.Table.from_arrays(
        [array.dictionary_encode().cast(_NAMES) if array.type == pa.string() else array for array in arrays],
        schema=schema,
    )
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} for {path.name}; make it first.")
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        pq.write_table(table, scratch, **_ENCODING)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def read_parquet(path: Path) -> Run:
    """Reads a file that `write_parquet` made."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}; expected one that `fastcb bakeoff export` wrote.")
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as problem:
        raise BadExport(f"{path} cannot be read as Parquet: {problem}") from problem
    facts = json.loads((table.schema.metadata or {}).get(_FACTS, b"{}"))
    if not table.schema.equals(SCHEMA) or facts.get("format") != _FORMAT:
        raise BadExport(f"{path} is not an export of a bake-off; expected a file that `fastcb bakeoff export` wrote.")
    rows = table.to_pandas().astype({"dataset": str, "algorithm": str, "configuration": str})
    rows = rows.astype({"shuffle": "int64", "rounds": "int64"})
    with_curve = rows["losses"].notna()
    return Run(
        results=rows[_KEY].assign(loss=rows["mistakes"] / rows["rounds"]),
        curves=rows.loc[with_curve, [*_KEY, "losses"]].reset_index(drop=True),
        datasets=_frame(facts["datasets"], _DATASETS),
        broken=_frame(facts["broken"], _BROKEN),
        meta=facts["meta"],
    )


def _records(frame: pd.DataFrame) -> list[dict[str, object]]:
    return [
        {key: None if pd.isna(value) else value for key, value in record.items()}
        for record in frame.to_dict(orient="records")
    ]


def _frame(records: list[dict[str, object]], columns: list[str]) -> pd.DataFrame:
    frame = pd.DataFrame(records, columns=columns)
    return frame.astype({"subset_of": object}) if "subset_of" in columns else frame
