//! The history of a benchmark's values.
//!
//! A [`TraceId`] names a series of values, one at each commit that was measured. Commits are
//! numbered ([`CommitNumber`]), and each 128 of them make a [`Tile`]. A [`Query`] selects traces; their
//! values are a [`Frame`].
//!
//! The model is that of Skia Perf. Where it is known to be wrong, the documentation of a function
//! says what this crate does.
//!
//! # Common to all functions
//!
//! - A missing value is NaN in memory, never a number. Where an exchange format needs one it is 1e32
//!   ([`MISSING`]). Readers reject NaN.
//! - Results do not depend on the order of files, and are the same, bit for bit, on every platform.
//! - Nothing panics on its input. Errors name the place.
//!
//! # Features
//!
//! `rayon`: formulas and verticals on all cores. Not on by default.

#![forbid(unsafe_code)]

mod annotation;
mod commit;
mod dataset;
mod deviation;
mod export;
mod formula;
mod frame;
mod graph_server;
mod id;
mod joined;
mod missing;
mod name;
mod nearest;
mod param_set;
mod pattern;
mod pivot;
mod points;
mod query;
mod read;
mod series_changes;
mod shortcut;
mod source;
mod unknown;
mod verticals;
pub mod watch;

/// The shape of a change, and the rate of false alarms unless the caller says otherwise.
pub use pinpoint_compare::steps::{DEFAULT_RATE, Shape};

pub use annotation::{
    Annotation, AnnotationError, AnnotationKind, Joined, MachineChange, machine_changes,
};
pub use commit::{CommitError, CommitNumber, MAX_SCALE, TILE_SIZE, Tile, coarser_values};
pub use dataset::{Dataset, DatasetError};
pub use deviation::{
    HISTORY, LEAST_HISTORY, MAX_DEVIATION, TriedParam, TriedTrace, TryReport, deviation,
    trace_direction, try_report,
};
pub use export::{frame_to_csv, verticals_to_csv};
pub use formula::{EvaluateError, Formula, FormulaError, FormulaFault, Selection};
pub use frame::{Columns, Frame, FrameError};
pub use graph_server::{
    ExportedBuild, GraphServerExport, GraphServerExportError, graph_server_export,
};
pub use id::{IdError, Params, TraceHash, TraceId};
pub use joined::join;
pub use missing::{MISSING, from_exchange, to_exchange};
pub use name::TraceName;
pub use nearest::{latest_value, nearest_value};
pub use param_set::ParamSet;
pub use pattern::{Pattern, PatternError};
pub use pivot::{Pivot, PivotError, PivotOperation, PivotRow, PivotTable};
pub use points::{CommitName, CommitNameError, Links, NotFinite, Point, ResultFile, Try};
pub use query::{KeyQuery, Query, QueryError, ValueTest};
pub use read::{
    ChartPoints, ChartsError, ResultFault, ResultFileError, ResultPlace, SeriesTable, TableError,
    TableSeries, points_of_charts, read_results, read_table,
};
pub use series_changes::{ChangeOptions, SeriesChange, SeriesChanges, series_changes};
pub use shortcut::{Shortcut, ShortcutError, ShortcutId};
pub use source::Source;
pub use unknown::{UnknownName, nearest, unknown_names};
pub use verticals::{
    VerticalCell, VerticalRow, Verticals, VerticalsError, verticals, verticals_of_two,
};
