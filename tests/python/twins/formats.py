"""Every input format as the twins read it: its flags, and good events of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

FIXED_ACTIONS = 4


@dataclass(frozen=True)
class Format:
    """A front door with an input format. `event(rng, labelled)` makes a good event; each variant adds flags."""

    flags: str
    event: Callable[[Random, bool], str]
    variants: tuple[str, ...] = ("",)

    @property
    def is_json(self) -> bool:
        return "json" in self.flags

    @property
    def is_multiline(self) -> bool:
        return "--cb_explore " not in self.flags + " "

    @property
    def has_plain_labels(self) -> bool:
        """Whether a label is action:cost:probability on one line, so that it can be set on a parsed example."""
        return not self.is_json and "ccb" not in self.flags and "slates" not in self.flags


def user(rng: Random) -> str:
    return f"|User id=u{rng.randrange(5)} age:{rng.random():.2f}"


def cost(rng: Random) -> str:
    return f"{rng.random():.2f}"


def adf_text(rng: Random, labelled: bool) -> str:
    count = rng.randint(1, 4)
    chosen = rng.randrange(count) if labelled else None
    lines = [f"shared {user(rng)}"] if rng.random() < 0.9 else []
    for action in range(count):
        label = f"0:{cost(rng)}:{1 / count:.2f} " if action == chosen else ""
        lines.append(f"{label}|Action a={rng.randrange(6)} z:{rng.random():.2f}")
    return "\n".join(lines)


def fixed_text(rng: Random, labelled: bool) -> str:
    label = f"{rng.randint(1, FIXED_ACTIONS)}:{cost(rng)}:0.25 " if labelled else ""
    return f"{label}{user(rng)} |Place p={rng.randrange(4)} far"


def ccb_text(rng: Random, labelled: bool) -> str:
    lines = [f"ccb shared {user(rng)}"]
    lines += [f"ccb action |Action a={rng.randrange(6)} z:{rng.random():.2f}" for _ in range(3)]
    chosen = rng.sample(range(3), 2)
    for slot in range(2):
        others = [action for action in range(3) if action not in chosen[: slot + 1]]
        rest = ",".join(f"{action}:{0.5 / len(others):.2f}" for action in others)
        label = f"{chosen[slot]}:{cost(rng)}:0.50{',' + rest if rest else ''} " if labelled else ""
        lines.append(f"ccb slot {label}|Slot s={slot}")
    return "\n".join(lines)


def slates_text(rng: Random, labelled: bool) -> str:
    lines = [f"slates shared {cost(rng) + ' ' if labelled else ''}{user(rng)}"]
    lines += [f"slates action {slot} |Action a={rng.randrange(6)}" for slot in (0, 0, 1, 1)]
    lines += [f"slates slot {f'{rng.randrange(2)}:0.50 ' if labelled else ''}|Slot s={slot}" for slot in (0, 1)]
    return "\n".join(lines)


def json_user(rng: Random) -> dict[str, Any]:
    return {"User": {"id": f"u{rng.randrange(5)}", "age": round(rng.random(), 2), "tags": [1, 0.5]}}


def json_actions(rng: Random, count: int) -> list[dict[str, Any]]:
    return [{"Action": {"a": f"a{rng.randrange(6)}", "z": round(rng.random(), 2)}} for _ in range(count)]


def json_label(rng: Random, chosen: int, count: int) -> dict[str, Any]:
    label = {"_label_cost": float(cost(rng)), "_label_probability": round(1 / count, 2)}
    return {**label, "_label_Action": chosen + 1, "_labelIndex": chosen}


def adf_json(rng: Random, labelled: bool) -> str:
    count = rng.randint(1, 4)
    event = {**json_user(rng), "_multi": json_actions(rng, count)}
    chosen = rng.randrange(count)
    if labelled and rng.random() < 0.5:
        label = {"Action": chosen + 1, "Cost": float(cost(rng)), "Probability": round(1 / count, 2)}
        event["_multi"][chosen] = {"_label": label, **event["_multi"][chosen]}
    elif labelled:
        event = {**json_label(rng, chosen, count), **event}
    return json.dumps(event)


def fixed_json(rng: Random, labelled: bool) -> str:
    action = rng.randint(1, FIXED_ACTIONS)
    as_text = rng.random() < 0.5
    label = (
        f"{action}:{cost(rng)}:0.25" if as_text else {"Action": action, "Cost": float(cost(rng)), "Probability": 0.25}
    )
    return json.dumps({**({"_label": label} if labelled else {}), **json_user(rng)})


def adf_dsjson(rng: Random, labelled: bool) -> str:
    count = rng.randint(1, 4)
    chosen = rng.randrange(count)
    order = [chosen, *(action for action in range(count) if action != chosen)]
    event = {
        **(json_label(rng, chosen, count) if labelled else {}),
        "Version": "1",
        "EventId": f"e{rng.randrange(1000)}",
        "Timestamp": "2026-01-01T00:00:00Z",
        "a": [action + 1 for action in order],
        "c": {**json_user(rng), "_multi": json_actions(rng, count)},
        "p": [round(1 / count, 2)] * count,
        "VWState": {"m": "n/a"},
    }
    return json.dumps(event)


def slots_json(rng: Random, *, slates: bool) -> dict[str, Any]:
    actions = json_actions(rng, 4)
    if slates:
        actions = [{"_slot_id": slot, **action} for slot, action in zip((0, 0, 1, 1), actions, strict=True)]
    return {**json_user(rng), "_multi": actions, "_slots": [{"Slot": {"s": f"s{slot}"}} for slot in (0, 1)]}


def ccb_outcomes(rng: Random) -> list[dict[str, Any]]:
    chosen = rng.sample(range(4), 2)
    rest = [action for action in range(4) if action not in chosen]
    return [
        {"_label_cost": float(cost(rng)), "_a": [chosen[0], *rest], "_p": [0.5, 0.25, 0.25]},
        {"_label_cost": float(cost(rng)), "_a": [chosen[1], *rest], "_p": [0.5, 0.25, 0.25]},
    ]


def ccb_dsjson(rng: Random, labelled: bool) -> str:
    event = {"Timestamp": "2026-01-01T00:00:00Z", "Version": "1", "EventId": f"e{rng.randrange(1000)}"}
    return json.dumps(
        {**event, "c": slots_json(rng, slates=False), **({"_outcomes": ccb_outcomes(rng)} if labelled else {})}
    )


def slates_label(rng: Random) -> dict[str, Any]:
    return {
        "_label_cost": float(cost(rng)),
        "_outcomes": [{"_a": [rng.randrange(2)], "_p": [0.5]}, {"_a": rng.randrange(2), "_p": 0.5}],
    }


def slates_dsjson(rng: Random, labelled: bool) -> str:
    event = {"EventId": f"e{rng.randrange(1000)}", "c": slots_json(rng, slates=True)}
    return json.dumps({**event, **(slates_label(rng) if labelled else {})})


def slates_json(rng: Random, labelled: bool) -> str:
    # With --json a slate has no label: it is asked, never learned.
    return json.dumps(slots_json(rng, slates=True))


# Flags that touch how an event is parsed, filled or learned. Given to the formats they make sense for.
NEWTON = ("--fastcb_oracle newton", "--fastcb_oracle newton --fastcb_capacity 3 -q UA --fastcb_memory 100")
SHARED = ("", "--nn 2", "--coin", "--noconstant", "--sgd", *NEWTON)
TEXT = ("--ngram 2 --skips 1", "--affix +2U,-1A", "--spelling A", "--ignore U", "--chain_hash", "--hash all")
HOLDOUT = ("--passes 2 --holdout_period 5 -k --cache_file {cache}",)

FORMATS = {
    "adf-text": Format(
        "--cb_explore_adf",
        adf_text,
        ("-q UA", "--interactions UUA", "-q :: --fastcb_allocation igw", *SHARED, *TEXT, *HOLDOUT),
    ),
    "fixed-text": Format(f"--cb_explore {FIXED_ACTIONS}", fixed_text, ("-q UP", *SHARED, *TEXT, *HOLDOUT)),
    "adf-json": Format("--cb_explore_adf --json", adf_json, ("-q UA", "--chain_hash", "--ngram 2", *SHARED)),
    "fixed-json": Format(f"--cb_explore {FIXED_ACTIONS} --json", fixed_json, ("-q UU", "--chain_hash", *SHARED)),
    "adf-dsjson": Format("--cb_explore_adf --dsjson", adf_dsjson, ("-q UA", "--chain_hash", "--ngram 2", *SHARED)),
    "ccb-text": Format("--ccb_explore_adf", ccb_text, ("", "-q UA", "--coin", *NEWTON)),
    "ccb-dsjson": Format("--ccb_explore_adf --dsjson", ccb_dsjson, ("", "-q UA", "--coin", *NEWTON)),
    "slates-text": Format("--slates", slates_text, ("", "-q UA", "--coin", *NEWTON)),
    "slates-dsjson": Format("--slates --dsjson", slates_dsjson, ("", "-q UA", "--coin", *NEWTON)),
    "slates-json": Format("--slates --json", slates_json),
}
