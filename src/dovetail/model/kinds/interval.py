"""Equal keys, event times within bounds of each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from dovetail.model.interval import IntervalSpec, JoinType
from dovetail.model.kinds.kind import OUT, Apart, Kind


@dataclass(frozen=True)
class IntervalJoin(Kind):
    spec: IntervalSpec

    tag = "interval"
    noun = "a join with bounds of event time"
    means = "equal keys and bounds of time"

    @property
    def how(self) -> JoinType:
        return self.spec.how

    @property
    def own_window(self) -> Apart | None:
        return Apart(self.spec.before_us, self.spec.after_us)

    def resized(self, sizes: Mapping[str, int]) -> Self:
        own: Any = {name: size for name, size in sizes.items() if name in self.sizes}
        return replace(self, spec=replace(self.spec, **own))

    def letting_out(self, other: Kind) -> Self:
        spec = replace(self.spec, **{name: getattr(other.spec, name) for name in OUT})
        return replace(self, spec=spec)

    def capped(self, caps: Mapping[str, int]) -> Self:
        own: Any = dict(caps)
        return replace(self, spec=replace(self.spec, **own))

    def said(self) -> dict[str, Any]:
        return {"spec": self.spec.to_json()}

    @classmethod
    def read(cls, said: dict[str, Any]) -> Self:
        return cls(IntervalSpec.from_json(said["spec"]))
