"""What the planner knows about Spark's functions: which ones aggregate, and their argument and result types.

All other functions pass through; they only give no hints to the inference of undeclared types. An argument
entry is one type for all arguments, or a tuple with one per argument (None: no hint).
"""

from __future__ import annotations

from sqlglot import exp


def _names(text: str) -> list[str]:
    return text.split()


AGGREGATES = frozenset(
    _names(
        """
    any any_value approx_count_distinct approx_percentile approx_top_k array_agg avg bit_and bit_or
    bit_xor bitmap_construct_agg bitmap_or_agg bool_and bool_or collect_list collect_set corr count
    count_if count_min_sketch covar_pop covar_samp every first first_value histogram_numeric
    hll_sketch_agg hll_union_agg kurtosis last last_value listagg max max_by mean median min min_by mode
    percentile percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness some std stddev stddev_pop
    stddev_samp string_agg sum try_avg try_sum var_pop var_samp variance
    """
    )
)
TIME_WINDOWS = ("window", "session_window")

_DOUBLES = _names(
    """
    abs acos asin atan atan2 avg bround cbrt ceil ceiling corr cos cosh covar_pop covar_samp degrees exp
    expm1 floor hypot kurtosis ln log log10 log1p log2 mean median negative percentile pmod positive pow
    power radians rint round sign signum sin sinh skewness sqrt std stddev stddev_pop stddev_samp sum
    tan tanh try_avg try_sum var_pop var_samp variance
    """
)
_STRINGS = _names(
    """
    ascii base64 bit_length btrim char_length character_length concat_ws contains endswith from_json
    get_json_object initcap instr lcase length levenshtein locate lower lpad ltrim md5 octet_length
    parse_url regexp regexp_count regexp_extract regexp_extract_all regexp_instr regexp_like
    regexp_replace regexp_substr repeat replace reverse rlike rpad rtrim sha sha1 sha2 soundex split
    split_part startswith substr substring substring_index to_date to_timestamp translate trim ucase
    unbase64 upper url_decode url_encode
    """
)
_TIMES = _names(
    """
    day dayofmonth dayofweek dayofyear hour minute month quarter second unix_date unix_micros
    unix_millis unix_seconds weekday weekofyear year last_day
    """
)

ARGUMENT_TYPES: dict[str, str | tuple[str | None, ...]] = {
    **dict.fromkeys(_DOUBLES, "DOUBLE"),
    **dict.fromkeys(_STRINGS, "STRING"),
    **dict.fromkeys(_TIMES, "TIMESTAMP"),
    "timestamp_seconds": "DOUBLE",
    "timestamp_millis": "BIGINT",
    "timestamp_micros": "BIGINT",
    "from_unixtime": ("BIGINT", None),
    "window": ("TIMESTAMP",),
    "session_window": ("TIMESTAMP",),
    "date_trunc": ("STRING", "TIMESTAMP"),
    "date_format": ("TIMESTAMP", "STRING"),
    "date_add": ("DATE", None),
    "date_sub": ("DATE", None),
    "if": ("BOOLEAN", None, None),
    "bool_and": "BOOLEAN",
    "bool_or": "BOOLEAN",
    "every": "BOOLEAN",
    "some": "BOOLEAN",
    "any": "BOOLEAN",
    "count_if": "BOOLEAN",
    "percentile_approx": ("DOUBLE",),
    "approx_percentile": ("DOUBLE",),
    "substring": ("STRING", None, None),
    "substr": ("STRING", None, None),
    "lpad": ("STRING", None, "STRING"),
    "rpad": ("STRING", None, "STRING"),
    "repeat": ("STRING", None),
    "round": ("DOUBLE", None),
    "bround": ("DOUBLE", None),
    "split": ("STRING", "STRING", None),
}

SAME_TYPE = frozenset(("coalesce", "nvl", "ifnull", "nullif", "least", "greatest"))
"""All arguments are of one type, which is the result's."""

_RESULTS = {
    "BIGINT": "approx_count_distinct bigint count count_if unix_micros unix_millis unix_seconds "
    "unix_timestamp xxhash64",
    "BOOLEAN": "bool_and bool_or boolean contains endswith isnotnull isnull startswith",
    "DATE": "current_date date date_add date_sub last_day to_date",
    "DOUBLE": "avg double exp ln log10 mean pow power rand sqrt stddev",
    "INT": "char_length character_length day dayofweek hash hour instr int length locate minute month "
    "quarter second year",
    "STRING": "base64 btrim concat_ws date_format from_unixtime get_json_object hex lcase lower lpad ltrim "
    "md5 regexp_extract regexp_replace replace rpad rtrim sha1 sha2 split_part string substr substring "
    "substring_index translate trim ucase upper uuid",
    "TIMESTAMP": "current_timestamp date_trunc now timestamp timestamp_micros timestamp_millis "
    "timestamp_seconds to_timestamp window_end window_start",
}
RETURN_TYPES = {name: type_ for type_, names in _RESULTS.items() for name in _names(names)}
RESULT_VARIES = {
    **dict.fromkeys(("avg", "mean"), ("DECIMAL",)),
    **dict.fromkeys(("lpad", "rpad", "substr", "substring"), ("BINARY",)),
}
"""Types of the first argument for which a function returns another type than it usually does."""
ARGUMENT_IS_RESULT = frozenset(("abs", "max", "min", "first", "last", "any_value", "negative", "positive"))
"""The result is of the first argument's type."""


RETURNS = "returns"
"""Key of a call's metadata: the type that a function of the query returns."""


def function_name(node: exp.Expr) -> str | None:
    """The lower-case name of a call; None for anything else."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    if isinstance(node, exp.Func) and not isinstance(node, (exp.TryCast, exp.Case, exp.Connector)):
        return node.sql_name().lower()
    return None


def arguments(node: exp.Expr) -> list[exp.Expr]:
    """The arguments of a call, in order."""
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    return list(node.iter_expressions())


def is_aggregate(node: exp.Expr) -> bool:
    """A call of an aggregate function that is not a window function (`OVER`)."""
    if function_name(node) not in AGGREGATES and not isinstance(node, exp.GroupConcat):
        return False
    parent = node.parent
    while isinstance(parent, (exp.Filter, exp.IgnoreNulls, exp.RespectNulls, exp.WithinGroup)):
        parent = parent.parent
    return not isinstance(parent, exp.Window)


def aggregates_in(tree: exp.Expr) -> list[exp.Expr]:
    return [node for node in tree.walk() if is_aggregate(node)]
