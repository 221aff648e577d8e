"""The bodies of requests and answers. msgspec checks them against these types, and OpenAPI is made from them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from vw_fastcb.loop.records import Record
from vw_fastcb.loop.requests import Activate, Decide, Observe
from vw_fastcb.serve.errors import ApiError

_Body = TypeVar("_Body", bound=Struct)

Id = Annotated[str, Meta(min_length=1, max_length=256)]


class Action(Struct, forbid_unknown_fields=True, gc=False):
    """An action that a decision brings along, where the journal has no fixed ones."""

    features: dict[str, Any] | list[float | None]
    id: Id | None = None


class DecideRequest(Struct, forbid_unknown_fields=True, gc=False):
    """What `POST /decide` takes."""

    context: Annotated[
        dict[str, Any] | list[float | None],
        Meta(description="Names and values, which may be nested; or a row of numbers."),
    ]
    event_id: Annotated[
        Id | None,
        Meta(
            description="The id that rewards are reported with; made at random unless given. The same id with the "
            "same request gets the same answer again."
        ),
    ] = None
    actions: Annotated[
        Annotated[list[Action], Meta(min_length=1)] | None,
        Meta(description="The actions, where the journal has no fixed ones. All of them have an id, or none has."),
    ] = None
    exclude: Annotated[
        list[str | int] | None, Meta(description="Actions that may not be drawn this time, by name or number.")
    ] = None
    activate: Annotated[
        bool,
        Meta(description="False if the decision may turn out unused: nothing is learned unless /activate is called."),
    ] = True
    baseline: Annotated[
        str | int | None,
        Meta(
            description="The action that you would take without us, by name, number or id. It is recorded; where no "
            "decision can be made, the answer has it."
        ),
    ] = None

    def asked(self) -> Decide:
        """The same, as the loop takes it."""
        features = ids = None
        if self.actions is not None:
            features = [action.features for action in self.actions]
            ids = [action.id for action in self.actions if action.id is not None]
            if ids and len(ids) < len(features):
                raise ApiError(400, f"{len(ids)} of {len(features)} actions have an id; expected all of them, or none.")
        return Decide(self.context, features, ids or None, self.exclude, self.event_id, self.activate, self.baseline)


class Decision(Struct, gc=False):
    """What `POST /decide` answers."""

    event_id: Id
    action: Annotated[int, Meta(ge=0, description="The chosen action, from 0.")]
    name: Annotated[str | None, Meta(description="Its name or id, if it has one.")]
    probability: Annotated[float, Meta(gt=0, le=1, description="With which it was drawn.")]
    pmf: Annotated[list[float], Meta(description="The probability of each action.")]
    generation: Annotated[int, Meta(ge=0, description="The checkpoint that the model is based on.")]

    @classmethod
    def of(cls, record: Record, names: Sequence[str] | None) -> Decision:
        """What a record says; see `LoopDecision.of`, which makes an array for Python besides."""
        body = record.body or {}
        action, pmf = body["action"], body["pmf"]
        names = body.get("action_ids") or names
        name = None if names is None else names[action]
        return cls(record.event_id or "", action, name, pmf[action], pmf, body["generation"])


class RewardRequest(Struct, forbid_unknown_fields=True, gc=False):
    """What `POST /reward` takes, and `POST /cost`."""

    event_id: Id
    value: Annotated[float, Meta(description="The reward, or the cost.")]
    reward_id: Annotated[Id | None, Meta(description="With an id it counts once, however often it is sent.")] = None

    def asked(self) -> Observe:
        """The same, as the loop takes it."""
        return Observe(self.event_id, self.value, self.reward_id)


class ActivateRequest(Struct, forbid_unknown_fields=True, gc=False):
    """What `POST /activate` takes."""

    event_id: Id

    def asked(self) -> Activate:
        """The same, as the loop takes it."""
        return Activate(self.event_id)


class StatusAnswer(Struct, gc=False):
    """What `GET /status` answers; see `vw_fastcb.loop.Status`."""

    role: Annotated[str, Meta(description="learner, or decider where another process learns.")]
    learner: Annotated[str | None, Meta(description="The process that learns; null where none does.")]
    position: Annotated[int, Meta(description="How many records the journal holds.")]
    time: Annotated[int, Meta(description="The journal's time, in milliseconds since 1970.")]
    generation: Annotated[int, Meta(description="The newest checkpoint.")]
    applied: Annotated[int, Meta(description="How many records the model that decides here has seen.")]
    lag: Annotated[int, Meta(description="How many more there are.")]
    learned: Annotated[int, Meta(description="How many events that model has learned.")]
    open: Annotated[int, Meta(description="Decisions that wait for their rewards.")]
    early: Annotated[int, Meta(description="Rewards and activations that wait for their decision.")]
    dead_letters: Annotated[int, Meta(description="Events that could not be learned.")]
    counts: Annotated[dict[str, int], Meta(description="What has become of the records.")]
    bytes: Annotated[int, Meta(description="The size of the journal.")]
    problems: Annotated[list[str], Meta(description="Why the loop is not ready; empty where it is.")]
    warnings: Annotated[list[str], Meta(description="What is wrong although the loop goes on.")]
    left_out: Annotated[
        dict[str, int],
        Meta(description="Values that did not fit their column and were left out of the decision, by column."),
    ]
    members: Annotated[
        dict[str, float],
        Meta(description="How much each member of an ensemble counts, by name; empty for other oracles."),
    ]
    ready: bool
    settings: Annotated[dict[str, Any], Meta(description="The journal's settings.")]


class Health(Struct, gc=False):
    """What `/health/live` and `/health/ready` answer if all is well."""

    status: str


class ErrorDetail(Struct, gc=False):
    """What went wrong."""

    code: Annotated[str, Meta(description="A word for programs.")]
    message: Annotated[str, Meta(description="A sentence for people.")]


class ErrorAnswer(Struct, gc=False):
    """Every answer that is an error."""

    error: ErrorDetail


class NoDecision(Struct, gc=False):
    """What `POST /decide` answers where no decision can be made now.

    With a baseline in the request it says what to do instead, unless the request was refused before it was read.
    """

    error: ErrorDetail
    action: Annotated[int, Meta(ge=0, description="The baseline, counted from 0.")] | msgspec.UnsetType = msgspec.UNSET
    name: Annotated[str | None, Meta(description="Its name or id, if it has one.")] | msgspec.UnsetType = msgspec.UNSET
    logged: (
        Annotated[bool, Meta(description="false: the journal knows nothing of this answer. Report no reward for it.")]
        | msgspec.UnsetType
    ) = msgspec.UNSET


def decoder(kind: type[_Body]) -> msgspec.json.Decoder[_Body]:
    """Reads bodies of a type."""
    return msgspec.json.Decoder(kind)


def _has_half_a_pair(body: bytes) -> bool:
    """Whether that may be all that is wrong. msgspec says of some of them that the body is truncated."""
    with contextlib.suppress(ValueError, RecursionError):
        json.loads(body)
        return rb"\ud" in body.lower()
    return False


def decoded(reader: msgspec.json.Decoder[_Body], body: bytes) -> _Body:
    """A body, checked against its type."""
    try:
        return reader.decode(body)
    except msgspec.ValidationError as problem:
        fields = ", ".join(one.encode_name for one in msgspec.structs.fields(reader.type))
        hint = f" Its fields are {fields}." if "field `" in str(problem) and "`$" not in str(problem) else ""
        raise ApiError(400, f"the body does not fit: {problem}.{hint}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        said = "a text in it has half of a surrogate pair" if _has_half_a_pair(body) else problem
        raise ApiError(400, f"the body is not JSON: {said}.") from None
    except RecursionError:
        raise ApiError(400, "the body is nested too deep; expected a flatter one.") from None
