"""Who makes a request, and what they may do: a pure function of the access document, a token's limits and an
application's owner."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from dovetail.service.access.people import LOCAL, Access, Reach
from dovetail.service.access.places import category as place_of
from dovetail.service.access.reach import OURS, reach_of
from dovetail.service.access.roles import EVERYTHING, Refused, Role, at_least, lower

Way = Literal["link", "password", "oidc", "token", "cli"]
AUDIT = "service.audit"


@dataclass(frozen=True)
class Caller:
    """`local`: came by the daemon's link or a token of the home, and may do everything up to `limit` within
    `scope`. `groups`: what OIDC says besides the document. `csrf`: the secret that a change must carry;
    None: it came with a token."""

    name: str
    access: Access
    groups: frozenset[str] = frozenset()
    local: bool = False
    limit: Role = "admin"
    scope: tuple[str, ...] = (EVERYTHING,)
    csrf: str | None = None
    way: Way = "link"
    address: str = ""

    @property
    def names(self) -> frozenset[str]:
        return self.access.names_of(self.name, self.groups)

    def role(self, application: str, owner: str | None = None) -> Role | None:
        """For an application, or of `*`, all of them."""
        if not any(one == EVERYTHING or fnmatchcase(application, one) for one in self.scope):
            return None
        if self.local or (owner is not None and owner in self.names):
            return self.limit
        return lower(self.access.role(self.names, application), self.limit)

    def may(self, role: Role, application: str = EVERYTHING, owner: str | None = None) -> bool:
        return at_least(self.role(application, owner), role)

    def require(self, role: Role, application: str = EVERYTHING, owner: str | None = None) -> None:
        if not self.may(role, application, owner):
            found, all_ = self.role(application, owner), application == EVERYTHING
            raise Refused(
                f"{self.name} may not do this",
                expected=f"the role {role} for {'all applications' if all_ else application}",
                hint=f"{self.name} has {f'the role {found}' if found else 'no role'} there; ask an admin",
            )

    @property
    def owner(self) -> str:
        """For what the caller creates."""
        return LOCAL if self.local else self.name

    @property
    def reach(self) -> Reach:
        """For new applications, which will be the caller's own."""
        return reach_of(self.access, self.owner)

    def may_see(self, category: str, shown: frozenset[str]) -> bool:
        """A category of the log. `shown`: those that applications which the caller may see write."""
        if category == AUDIT:
            return self.may("admin")
        if self.may("viewer"):
            return True
        if category.startswith(OURS) or EVERYTHING not in self.scope:
            return category in shown
        return category in shown or any(place_of(category).is_in(one) for one in self.reach.read)

    def may_append(self, category: str) -> bool:
        """Rows over HTTP. The service's own categories have one writer."""
        if category.startswith(OURS) or not at_least(self.limit, "deployer"):
            return False
        if self.may("deployer"):
            return True
        return EVERYTHING in self.scope and any(place_of(category).is_in(one) for one in self.reach.write)
