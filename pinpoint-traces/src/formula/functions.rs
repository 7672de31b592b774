//! The functions of formulas: their names and arguments.

/// A function that makes one trace of one trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TraceFunction {
    /// With the least deviation to divide by.
    Norm(f64),
    Fill,
    Log,
    Iqrr,
    ScaleByAve,
    TraceAve,
    TraceStddev,
    TraceCov,
    Step,
}

/// The second argument of `norm`, unless it is given.
pub(super) const LEAST_DEVIATION: f64 = 0.001;

/// A function that folds all traces, commit by commit, into one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FoldFunction {
    Ave,
    Sum,
    Count,
    Min,
    Max,
    Geo,
    /// The deviation of a population. Only pivots have it.
    Std,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Function {
    Filter,
    Shortcut,
    Trace(TraceFunction),
    Fold(FoldFunction),
    Ratio,
}

/// Each function by its name; `norm` with its default.
const FUNCTIONS: [(&str, Function); 18] = [
    ("filter", Function::Filter),
    ("shortcut", Function::Shortcut),
    (
        "norm",
        Function::Trace(TraceFunction::Norm(LEAST_DEVIATION)),
    ),
    ("fill", Function::Trace(TraceFunction::Fill)),
    ("log", Function::Trace(TraceFunction::Log)),
    ("iqrr", Function::Trace(TraceFunction::Iqrr)),
    ("scale_by_ave", Function::Trace(TraceFunction::ScaleByAve)),
    ("trace_ave", Function::Trace(TraceFunction::TraceAve)),
    ("trace_stddev", Function::Trace(TraceFunction::TraceStddev)),
    ("trace_cov", Function::Trace(TraceFunction::TraceCov)),
    ("step", Function::Trace(TraceFunction::Step)),
    ("ave", Function::Fold(FoldFunction::Ave)),
    ("sum", Function::Fold(FoldFunction::Sum)),
    ("count", Function::Fold(FoldFunction::Count)),
    ("min", Function::Fold(FoldFunction::Min)),
    ("max", Function::Fold(FoldFunction::Max)),
    ("geo", Function::Fold(FoldFunction::Geo)),
    ("ratio", Function::Ratio),
];

/// The function of a name, with that name as it is printed. `avg` says `ave` in each of them.
pub(super) fn by_name(name: &str) -> Option<(&'static str, Function)> {
    let meant = name.strip_suffix("avg").map(|start| format!("{start}ave"));
    let meant = meant.as_deref().unwrap_or(name);
    FUNCTIONS.iter().copied().find(|(it, _)| *it == meant)
}

/// The function whose name is spelled most like this one.
pub(super) fn nearest_name(name: &str) -> Option<&'static str> {
    crate::unknown::nearest(name, FUNCTIONS.iter().map(|(it, _)| *it))
}

impl TraceFunction {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Norm(_) => "norm",
            Self::Fill => "fill",
            Self::Log => "log",
            Self::Iqrr => "iqrr",
            Self::ScaleByAve => "scale_by_ave",
            Self::TraceAve => "trace_ave",
            Self::TraceStddev => "trace_stddev",
            Self::TraceCov => "trace_cov",
            Self::Step => "step",
        }
    }

    /// The call with this argument, as it is printed and as a row is named: `norm(x)`, or
    /// `norm(x, 2)` where 2 is not the default.
    pub(super) fn call(self, argument: &str) -> String {
        let name = self.name();
        match self {
            Self::Norm(least) if least != LEAST_DEVIATION => {
                format!("{name}({argument}, {least:?})")
            }
            _ => format!("{name}({argument})"),
        }
    }
}

impl FoldFunction {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ave => "ave",
            Self::Sum => "sum",
            Self::Count => "count",
            Self::Min => "min",
            Self::Max => "max",
            Self::Geo => "geo",
            Self::Std => "std",
        }
    }
}
