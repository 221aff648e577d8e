"""`fastcb column`: mends the columns of a journal."""

from __future__ import annotations

import json
from contextlib import closing

from vw_fastcb.loop import Loop
from vw_fastcb.loop.reading import existing_journal
from vw_fastcb.loop.redis.address import without_password


def run_set(path: str, name: str, kind: str, *, of_actions: bool, as_json: bool) -> int:
    """Sets the kind of one column. Returns the exit code."""
    existing_journal(path).close()  # it has advice for those who named none
    setting = "action_columns" if of_actions else "columns"
    with closing(Loop.open(path, learn=False)) as loop:
        settings = loop.set_column(name, kind, of_actions=of_actions)  # type: ignore[arg-type]
    if as_json:
        print(json.dumps({"journal": without_password(path), setting: settings[setting]}))
    else:
        print(f"{without_password(path)}: {name} is {kind} from now on. The model is kept.")
    return 0
