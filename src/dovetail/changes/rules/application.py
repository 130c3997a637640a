"""What an application has as a whole: its name, and the time zone of its expressions."""

from __future__ import annotations

from dovetail.changes.between import Between

RULE = "application"


def application(between: Between) -> None:
    old, new = between.plans
    if old.application != new.application:
        between.say(
            RULE,
            "application",
            "refused",
            f"application {new.application} is not {old.application}",
            flight="state belongs to its application",
            instead=f"keep CREATE APPLICATION {old.application}; or run the new one beside it: it starts "
            f"afresh, and `dovetail service clone {old.application} {new.application}` makes it from one "
            "that a service keeps",
            place=between.place_of_application(),
        )
    if old.time_zone != new.time_zone:
        between.say(
            RULE,
            "application",
            "refused",
            f"time zone: {old.time_zone}, now {new.time_zone}",
            flight="keys and other columns may have been computed in the old zone",
            instead=f"keep SET TIME ZONE '{old.time_zone}', and convert where it matters: "
            "from_utc_timestamp(..)",
            place=between.place_of_time_zone(),
        )
