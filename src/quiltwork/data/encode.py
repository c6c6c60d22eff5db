"""Encoder: fits the states of every column once, then travels with the model.

Path     table → columns (raw values) → survey (labels) → states → codes → bit planes

At fit the labels that a column holds become its states. Later, labels are looked up among those states, and a
cell that fits none of them is missing.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quiltwork.data.bins import SAYS, choose_edges, cut_columns, is_cut
from quiltwork.data.blocks import Block, Labels, SparseBlock
from quiltwork.data.columns import Columns, columns_of
from quiltwork.data.dataset import NO_CODE, Dataset, Variable, empty, write_column
from quiltwork.data.labels import MAX_STATES, check_states, spellings
from quiltwork.data.survey import Survey, pieces, survey_columns
from quiltwork.errors import DataError, DataWarning, SchemaMismatchError, UnknownStateError
from quiltwork.params import Choice, Integer, Nothing, Param, Thing

MISSING = "missing"  # the label of the state that missing="state" adds

PARAMETERS = (
    Param("missing", "error", (Choice(("error", "drop", "state")),), "a missing value: error, dropped row or state"),
    Param("unseen", "missing", (Choice(("missing", "error")),), "a state first met after learning: missing or error"),
    Param("max_states", 1000, (Integer(1, MAX_STATES),), "most states of a column"),
    Param("discretise", None, (Nothing(), Thing(SAYS)), "how columns of numbers are cut into bins"),
)

MOST_ROWS = 2.0**53  # that the weights of a table may stand for
_BINARY = ((0, 1), (False, True))
_MEASURED = 50  # a column with more distinct numbers with decimals is a measurement, it seems
_SPARSE = 0.05  # share of ones below which a binary table also keeps them by row


@dataclass(frozen=True)
class Encoder:
    """Names and states of the variables, and the policies for cells that fit none of them.

    missing  what a missing value is at fit: "error", "drop" (the row) or "state" (a state of its own, "missing")
    unseen   what a state never seen at fit is later: "missing" (one warning) or "error"

    >>> encoder = Encoder.fit({"sky": ["grey", "blue", "blue"], "rain": [1, 0, 0]})
    >>> [v.states for v in encoder.variables]
    [('blue', 'grey'), (0, 1)]
    >>> encoder.encode({"rain": [0], "sky": ["grey"]}).states()
    array([[1, 0]], dtype=uint16)
    """

    variables: tuple[Variable, ...]
    missing: str = "error"
    unseen: str = "missing"

    @classmethod
    def fit(
        cls,
        X: Any,
        missing: str = "error",
        unseen: str = "missing",
        max_states: int = 1000,
        discretise: Any = None,
    ) -> Encoder:
        """The variables of a table: NumPy, SciPy sparse, pandas, polars, Arrow, a dict of columns or a list of rows.

        discretise  cuts columns of numbers into bins: 5 cuts every column with more than 5 distinct numbers at its
                    quantiles; {"alcohol": 4, "pH": [3.1, 3.3]} cuts these two, the second at the edges given
        """
        _check_parameters(missing, unseen, max_states)
        return _fit(X, None, missing, unseen, max_states, discretise)[0]

    def encode(self, X: Any, weights: Any = None) -> Dataset:
        """The rows of X as a Dataset of these variables, matched by name (or by position without names).

        Missing cells and states never seen at fit are missing in the Dataset. Columns of X that are no
        variable are ignored, and variables that are no column of X are missing in every row, each with one warning.
        """
        if isinstance(X, Dataset):
            weights = X.weights if weights is None else weights
            if X.variables == self.variables and (X.missing is None or self.missing != "state"):
                return X if weights is X.weights else replace(X, weights=check_weights(weights, X.n_samples))
        columns = match_columns(self.variables, columns_of(X))
        columns = cut_columns(columns, {v.name: v.edges for v in self.variables if v.edges})
        weights = check_weights(weights, columns.n_samples)
        return _pack(self, survey_columns(columns, len(self.variables)), weights)


def fit_encode(
    X: Any,
    weights: Any = None,
    *,
    missing: str = "error",
    unseen: str = "missing",
    max_states: int = 1000,
    discretise: Any = None,
) -> tuple[Encoder, Dataset]:
    """Fit an Encoder and encode the same table, reading it once.

    Rows of weight 0 are left out and, with missing="drop", incomplete ones.

    >>> encoder, data = fit_encode([["yes", 1], ["no", None], ["no", 2]], missing="drop")
    >>> data.to_dict()
    {'x0': array(['yes', 'no'], dtype='<U3'), 'x1': array([1, 2])}
    """
    _check_parameters(missing, unseen, max_states)
    if isinstance(X, Dataset):
        weights = X.weights if weights is None else weights
        whole = X.missing is None and X.n_samples and X.n_vars
        if whole and is_cut(X.variables, discretise):  # already what it would become
            for variable in X.variables:
                check_states(variable.name, len(variable.states), max_states)
            encoder = Encoder(X.variables, missing, unseen)
            return encoder, encoder.encode(X, weights)
    encoder, survey, weights = _fit(X, weights, missing, unseen, max_states, discretise)
    return encoder, _pack(encoder, survey, weights)


def check_weights(weights: Any, n_samples: int) -> np.ndarray | None:
    """Row weights as a new float64 array; refused unless one per row, finite, not negative, not all zero, and small
    enough together for a float to count them.

    >>> check_weights([1, 2], 2)
    array([1., 2.])
    """
    if weights is None:
        return None
    try:
        out = np.array(weights, np.float64)
    except (TypeError, ValueError):
        raise DataError("Weights must be numbers, one for each row.") from None
    if out.shape != (n_samples,):
        raise DataError(f"Weights must be one number for each of the {n_samples} rows. Got shape {out.shape} instead.")
    bad = np.flatnonzero(~(np.isfinite(out) & (out >= 0)))
    if len(bad):
        raise DataError(f"Weights must be finite and at least 0. Row {bad[0]} has {out[bad[0]]} instead.")
    if not out.any():
        raise DataError("The row weights must not all be zero.")
    if (out / MOST_ROWS).sum() > 1:
        raise DataError(
            f"The row weights must add up to {MOST_ROWS:.0e} at most, to where a float counts rows. Got weights up to "
            f"{out.max():.3g} instead; divide them."
        )
    return out


# Fitting: the states that labels make


def _check_parameters(missing: str, unseen: str, max_states: int) -> None:
    for param, value in zip(PARAMETERS, (missing, unseen, max_states)):
        param.check("Encoder", value)


def _fit(
    X: Any, weights: Any, missing: str, unseen: str, max_states: int, discretise: Any
) -> tuple[Encoder, Survey, np.ndarray | None]:
    columns = columns_of(X, max_states)
    weights = check_weights(weights, columns.n_samples)
    counting = np.arange(columns.n_samples) if weights is None else np.flatnonzero(weights)
    if weights is not None and len(counting) < columns.n_samples:  # the others say nothing, about states neither
        columns, weights = columns.rows(weights > 0), weights[counting]
    edges = choose_edges(columns, discretise, weights)
    columns = cut_columns(columns, edges)
    survey = survey_columns(columns, len(columns.names), max_states)
    if missing == "drop" and survey.absent.any():
        keep = ~survey.incomplete_rows()
        if not keep.any():
            raise DataError(
                "Every row that counts has a missing value, so missing='drop' leaves none: use missing='state'."
            )
        columns = columns.rows(keep)
        weights = None if weights is None else check_weights(weights[keep], columns.n_samples)
        survey = survey_columns(columns, len(columns.names), max_states)
    variables = _variables(survey, missing, max_states, counting)
    if edges:
        variables = tuple(replace(v, edges=edges.get(v.name, ())) for v in variables)
    encoder = Encoder(variables, missing, unseen)
    _warn_of_identifiers(encoder.variables, columns.n_samples)
    return encoder, survey, weights


def _variables(survey: Survey, missing: str, max_states: int, row_of: np.ndarray) -> tuple[Variable, ...]:
    labels = survey.labels
    if _all_items(survey):  # an item that nobody or everybody has is still an item
        labels = [_BINARY[isinstance(known[0], bool)] for known in labels if known]
    states = [known or () for known in labels]
    for v in np.flatnonzero(survey.absent).tolist():
        states[v] = _states_with_missing(survey, v, states[v], missing, row_of)
    for name, known in zip(survey.columns.names, states):
        if not known:
            raise DataError(f"Column {name!r} has no values: every cell is missing. Leave the column out.")
        if len(known) > max_states:
            check_states(name, len(known) - (known[-1] == MISSING), max_states)
    return tuple(map(Variable, survey.columns.names, states))


def _states_with_missing(survey: Survey, v: int, states: Labels, missing: str, row_of: np.ndarray) -> Labels:
    name = survey.columns.names[v]
    if not survey.occurring(v):
        return ()
    if missing == "error":
        row = row_of[np.flatnonzero(survey.absent_rows(v))[0]]
        raise DataError(
            f"Column {name!r} has a missing value (NaN, None or null) in row {row}: use missing='drop' to leave such "
            "rows out, or missing='state' to make it a state of its own."
        )
    if MISSING in states:
        raise DataError(f"Column {name!r} has missing values and also the text {MISSING!r}: rename the text.")
    return (*states, MISSING)


def _all_items(survey: Survey) -> bool:
    """Whether every column is of numbers 0 and 1, or of bools."""
    kinds = {labels for block in survey.columns.blocks for labels in block.labels or ()}
    return kinds <= set(_BINARY) and all(known and set(known) <= {0, 1} for known in set(survey.labels))


def _warn_of_identifiers(variables: Sequence[Variable], n_samples: int) -> None:
    many = [v.name for v in variables if 2 * len(v.states) > n_samples]
    if many and n_samples >= 100:  # in fewer rows it may be chance
        _warn(
            f"There are more distinct values than half of the {n_samples} rows in {_some(many)}: an identifier or a "
            "measurement, it seems; leave it out, or cut it into bins with discretise=5."
        )
    measured = [v.name for v in variables if v.name not in many and len(v.states) > _MEASURED and _has_decimals(v)]
    if measured:
        _warn(
            f"There are more than {_MEASURED} distinct numbers with decimals in {_some(measured)}: a measurement, it "
            "seems; discretise=5 cuts it into bins, and GaussianNetwork takes numbers as they are."
        )


def _has_decimals(variable: Variable) -> bool:
    return any(isinstance(state, float) and not state.is_integer() for state in variable.states)


# Encoding: labels looked up among the states, codes written as bits


def match_columns(variables: Sequence[Variable], columns: Columns) -> Columns:
    """The columns that are variables, at the variables' positions."""
    names = tuple(variable.name for variable in variables)
    if not columns.named:
        if len(columns.names) != len(names):
            raise SchemaMismatchError(
                f"X has {len(columns.names)} features, but Encoder is expecting {len(names)} features as input; "
                "only a table with column names can have other columns."
            )
        return columns
    if columns.names == names:
        return columns
    place = {name: v for v, name in enumerate(names)}
    where = np.array([place.get(name, -1) for name in columns.names])
    if (where < 0).all():
        raise SchemaMismatchError(
            f"No column of the table is a variable of the model: the table has {_some(columns.names)}, the model "
            f"{_some(names, 'variable')}."
        )
    extra = [name for name in columns.names if name not in place]
    if extra:
        _warn(f"The model does not know {_some(extra)} of the table: ignored.")
    known = set(columns.names)
    lacking = [name for name in names if name not in known]
    if lacking:
        _warn(f"The table does not have {_some(lacking, 'variable')} of the model: missing in every row.")
    blocks = []
    for block in columns.blocks:
        chosen = np.flatnonzero(where[block.where] >= 0)
        if len(chosen):
            blocks.append(block.pick(chosen.tolist(), where[block.where[chosen]]))
    return replace(columns, names=names, blocks=tuple(blocks))


def _pack(encoder: Encoder, survey: Survey, weights: np.ndarray | None) -> Dataset:
    """Every value as the code of its state."""
    columns, variables = survey.columns, encoder.variables
    codes_of, gaps = _translate(encoder, survey)
    data = empty(variables, columns.n_samples, missing=bool(gaps.any()))
    lone = columns.blocks[0]
    if isinstance(lone, SparseBlock) and lone.binary and not gaps.any() and all(v.states in _BINARY for v in variables):
        return replace(data, weights=weights, ones=_pack_ones(data, lone))
    for block in columns.blocks:
        _pack_block(data, block, survey, codes_of)
    for v, codes in survey.codes.items():
        write_column(data, v, codes_of[v][codes])  # a code of -1 takes the last
    for v in (v for v, known in enumerate(survey.labels) if known is None):
        write_column(data, v, np.full(columns.n_samples, NO_CODE, np.uint16))
    return replace(data, weights=weights, ones=_ones_of(data))


def _translate(encoder: Encoder, survey: Survey) -> tuple[list[np.ndarray], np.ndarray]:
    """Codes of each variable's labels, the last for a missing cell; and which variables have cells without a code."""
    known: dict[object, tuple[np.ndarray, bool, bool]] = {}  # most variables share their states with others
    codes_of, gaps, unseen = [], [], {}
    for v, (variable, labels, absent) in enumerate(zip(encoder.variables, survey.labels, survey.absent.tolist())):
        states = variable.states
        # 1 == True, but they are spelled differently
        key = labels, states, type(labels[0]) if labels else None, type(states[0])
        if key not in known:
            codes = _look_up(labels or (), states, encoder.missing == "state")
            known[key] = codes, bool((codes[:-1] == NO_CODE).any()), bool(codes[-1] == NO_CODE)
        codes, some_unknown, no_missing_state = known[key]
        if some_unknown:
            code_of = dict(zip(labels or (), codes.tolist()))
            strange = [label for label in survey.occurring(v) if code_of[label] == NO_CODE]
            if strange:
                unseen[v] = strange
        codes_of.append(codes)
        gaps.append(labels is None or v in unseen or (absent and no_missing_state))
    if unseen:
        _report_unseen(encoder, unseen)
    return codes_of, np.array(gaps)


def _look_up(labels: Labels, states: Labels, missing_state: bool) -> np.ndarray:
    """Codes (labels + 1,) uint16 of the labels among the states, and of a missing cell.

    Text stands for the number or bool that it spells, and the other way round, where a column is of one kind and the
    states are of the other: exchange formats and delimited files know only text.
    """
    code_of: dict[Any, int] = {state: code for code, state in enumerate(states)}
    spelled = {text: code for code, state in enumerate(states) for text in spellings(state)}
    codes = []
    for label in labels:
        code = code_of.get(label)
        if code is None:
            code = next((spelled[text] for text in spellings(label) if text in spelled), NO_CODE)
        codes.append(code)
    codes.append(len(states) - 1 if missing_state and states[-1] == MISSING else NO_CODE)
    return np.array(codes, np.uint16)


def _report_unseen(encoder: Encoder, unseen: dict[int, list[Any]]) -> None:
    if encoder.unseen == "error":
        v = min(unseen)
        raise UnknownStateError.of(unseen[v][0], encoder.variables[v].name, encoder.variables[v].states)
    shown = [
        f"{encoder.variables[v].name!r} has {', '.join(map(repr, strange[:3]))}{', ...' if len(strange) > 3 else ''}"
        for v, strange in list(unseen.items())[:3]
    ]
    more = f", and {len(unseen) - 3} more columns" if len(unseen) > 3 else ""
    _warn(f"States never seen at fit are treated as missing: {'; '.join(shown)}{more}.")


def _pack_block(data: Dataset, block: Block | SparseBlock, survey: Survey, codes_of: list[np.ndarray]) -> None:
    """The columns of a block that fit the window, 64 rows to a word."""
    from quiltwork.data.pack import ELSEWHERE, LOW, N_SLOTS, NO_STATE, pack_block

    where = np.array([-1 if v in survey.codes else v for v in block.where.tolist()])
    if (where < 0).all():
        return
    tables: list[np.ndarray] = []
    table_of: dict[tuple[int, Labels], int] = {}  # few tables are distinct
    chosen = []
    for v in block.where.tolist():
        codes, labels = codes_of[v], () if v in survey.codes else survey.labels[v] or ()
        key = id(codes), labels
        if key not in table_of:
            table_of[key] = len(tables)
            tables.append(np.full(N_SLOTS + 1, NO_STATE, np.uint16))
            slots = np.arange(len(labels)) if block.labels is not None else np.array(labels, np.int64)
            tables[-1][slots - LOW] = codes[: len(labels)]
            tables[-1][ELSEWHERE] = codes[-1]
        chosen.append(table_of[key])
    table = np.array(tables)[chosen]
    missing = np.empty((0, 0), np.uint64) if data.missing is None else data.missing
    for start, scratch, n_rows in pieces(block, data.n_samples):
        pack_block(
            scratch, n_rows, start >> 6, table, where,
            data.first_plane, data.code_row, data.planes, data.codes, missing,
        )  # fmt: skip


def _pack_ones(data: Dataset, block: SparseBlock) -> Any:
    """Set the bits of a sparse binary table; its ones by row if they are few."""
    from scipy.sparse import csr_array

    from quiltwork.data.pack import set_bits

    indptr, indices = block.matrix.indptr.astype(np.int64), block.matrix.indices.astype(np.int32)
    set_bits(indptr, indices, data.planes)
    if len(indices) >= _SPARSE * data.n_samples * data.n_vars:
        return None
    return csr_array((np.ones(len(indices), np.uint8), indices, indptr.astype(np.int32)), shape=block.matrix.shape)


def _ones_of(data: Dataset) -> Any:
    """The ones by row of a table that is binary and has few, if they take no more room than the planes do."""
    if data.missing is not None or (data.n_states != 2).any():
        return None
    from quiltwork.data.bits import count_ones
    from quiltwork.data.pack import ones_by_row

    n_ones = count_ones(data.planes.reshape(-1))
    if n_ones >= _SPARSE * data.n_samples * data.n_vars or 4 * n_ones > data.planes.nbytes:
        return None
    from scipy.sparse import csr_array

    indptr, indices = ones_by_row(data.planes, data.n_samples, n_ones)
    return csr_array((np.ones(n_ones, np.uint8), indices, indptr), shape=(data.n_samples, data.n_vars))


# Words


def _some(names: Sequence[str], noun: str = "column") -> str:
    """A few of the names, and how many there are."""
    shown = ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
    return f"{noun} {shown}" if len(names) == 1 else f"{len(names)} {noun}s ({shown})"


def _warn(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=4)
