"""The planner: an ordered tuple of rules, each a pure function `Program -> Program` in a file of its own."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.plan.rules.call_functions import cast_arguments, check_functions
from dovetail.plan.rules.chain_joins import chain_joins
from dovetail.plan.rules.check_argument_types import check_argument_types
from dovetail.plan.rules.check_calls import check_calls
from dovetail.plan.rules.check_lookups import check_lookups
from dovetail.plan.rules.check_operators import check_operators
from dovetail.plan.rules.check_queries import check_queries
from dovetail.plan.rules.compare_beside_keys import compare_beside_keys
from dovetail.plan.rules.eliminate_aliases import eliminate_aliases
from dovetail.plan.rules.expand_stars import expand_stars
from dovetail.plan.rules.infer_types import infer_types
from dovetail.plan.rules.lift_joined_groups import lift_joined_groups
from dovetail.plan.rules.lift_joins import lift_joins
from dovetail.plan.rules.lift_queries import lift_queries
from dovetail.plan.rules.look_up import look_up
from dovetail.plan.rules.name_window_times import name_window_times
from dovetail.plan.rules.null_keys import null_keys
from dovetail.plan.rules.order_statements import order_statements
from dovetail.plan.rules.resolve_names import resolve_names
from dovetail.plan.rules.share_sides import share_sides
from dovetail.plan.rules.split_joins import split_joins
from dovetail.plan.rules.split_windows import split_windows
from dovetail.plan.rules.take_in_topics import take_in_topics
from dovetail.plan.rules.turn_right_joins import turn_right_joins
from dovetail.plan.statements import Program

Rule = Callable[[Program], Program]

RULES: tuple[Rule, ...] = (
    lift_queries,
    lift_joins,
    order_statements,
    check_queries,
    check_functions,
    check_lookups,
    check_calls,
    expand_stars,
    resolve_names,
    lift_joined_groups,
    eliminate_aliases,
    name_window_times,
    chain_joins,
    turn_right_joins,
    check_argument_types,
    check_operators,
    infer_types,
    cast_arguments,
    take_in_topics,
    split_windows,
    compare_beside_keys,
    null_keys,
    look_up,
    split_joins,
    share_sides,
)
