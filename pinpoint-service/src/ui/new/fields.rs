//! The table of the fields of the form: which kinds of jobs have them, and how they are filled in.

use crate::config::MOST_ATTEMPTS;
use crate::grpc::v2::messages::Kind;
use crate::ui::jobs::KINDS;

/// A field of the form.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) hint: &'static str,
    /// The kinds of jobs that have it.
    kinds: &'static [Kind],
    pub(super) control: Control,
    pub(super) is_required: bool,
}

/// The control of a field.
pub(super) enum Control {
    /// Text, with suggestions from the list of this id.
    Text(Option<&'static str>),
    /// A commit, which is looked up.
    Commit,
    /// A change at Gerrit, which is looked up.
    Patch,
    /// A whole number between these.
    Number(u64, u64),
    /// One of these values, each with its label.
    Choice(&'static [(&'static str, &'static str)]),
    Tick,
}

/// Fields that belong together.
pub(super) struct Group {
    pub(super) title: &'static str,
    /// It is folded until somebody opens it.
    pub(super) is_folded: bool,
    fields: &'static [Field],
}

impl Group {
    /// The fields that jobs of a kind have.
    pub(super) fn fields(&self, kind: Kind) -> impl Iterator<Item = &'static Field> {
        let fields = self.fields.iter();
        fields.filter(move |field| field.kinds.contains(&kind))
    }
}

const ALL: &[Kind] = &[Kind::Bisection, Kind::Pairwise, Kind::CulpritFinder];
const SEARCH: &[Kind] = &[Kind::Bisection, Kind::CulpritFinder];
const PAIRED: &[Kind] = &[Kind::Pairwise, Kind::CulpritFinder];
const BISECTION: &[Kind] = &[Kind::Bisection];
const TRY: &[Kind] = &[Kind::Pairwise];
const CULPRIT: &[Kind] = &[Kind::CulpritFinder];

const fn field(
    name: &'static str,
    label: &'static str,
    kinds: &'static [Kind],
    control: Control,
    hint: &'static str,
) -> Field {
    Field {
        name,
        label,
        hint,
        kinds,
        control,
        is_required: false,
    }
}

const fn required(field: Field) -> Field {
    Field {
        is_required: true,
        ..field
    }
}

pub(super) const ANY: u64 = i64::MAX as u64;
const ATTEMPTS: u64 = MOST_ATTEMPTS as u64;
const COMMIT: &str = "A hash, a position, HEAD, or Recent: the last build of the bot.";

use Control::{Choice, Number, Patch, Text, Tick};

pub(super) const GROUPS: &[Group] = &[
    Group {
        title: "Job",
        is_folded: false,
        fields: &[
            field("name", "Name", ALL, Text(None), ""),
            field("bug", "Bug", ALL, Number(1, ANY), ""),
            required(field("bot", "Bot", ALL, Text(Some("bots")), "")),
            required(field(
                "benchmark",
                "Benchmark",
                ALL,
                Text(Some("benchmarks")),
                "",
            )),
            field(
                "story",
                "Story",
                ALL,
                Text(Some("stories")),
                "The benchmark may need one.",
            ),
            field(
                "chart",
                "Metric",
                SEARCH,
                Text(None),
                "Needed where the benchmark reports several.",
            ),
            field(
                "chart",
                "Metric",
                TRY,
                Text(None),
                "If empty, all that the benchmark reports.",
            ),
            field(
                "direction",
                "Better is",
                ALL,
                Choice(&[("", "as the results say"), ("up", "more"), ("down", "less")]),
                "",
            ),
        ],
    },
    Group {
        title: "Commits",
        is_folded: false,
        fields: &[
            required(field(
                "good",
                "Good commit",
                SEARCH,
                Control::Commit,
                COMMIT,
            )),
            required(field("bad", "Bad commit", SEARCH, Control::Commit, COMMIT)),
        ],
    },
    Group {
        title: "Base",
        is_folded: false,
        fields: &[
            required(field("base", "Base commit", TRY, Control::Commit, COMMIT)),
            field(
                "base_patch",
                "Base patch",
                TRY,
                Patch,
                "A change at Gerrit: 12345/6, or its address.",
            ),
            field(
                "base_runner_args",
                "Base arguments of the benchmark",
                TRY,
                Text(None),
                "",
            ),
            field(
                "base_browser_args",
                "Base arguments of the browser",
                TRY,
                Text(None),
                "",
            ),
            field("base_js_flags", "Base --js-flags", TRY, Text(None), ""),
            field(
                "base_enable_features",
                "Base --enable-features",
                TRY,
                Text(None),
                "",
            ),
            field(
                "base_disable_features",
                "Base --disable-features",
                TRY,
                Text(None),
                "",
            ),
        ],
    },
    Group {
        title: "Experiment",
        is_folded: false,
        fields: &[
            field(
                "experiment",
                "Experiment commit",
                TRY,
                Control::Commit,
                "The base if empty.",
            ),
            field(
                "experiment_patch",
                "Experiment patch",
                TRY,
                Patch,
                "A change at Gerrit: 12345/6, or its address.",
            ),
            field(
                "experiment_runner_args",
                "Experiment arguments of the benchmark",
                TRY,
                Text(None),
                "",
            ),
            field(
                "experiment_browser_args",
                "Experiment arguments of the browser",
                TRY,
                Text(None),
                "",
            ),
            field(
                "experiment_js_flags",
                "Experiment --js-flags",
                TRY,
                Text(None),
                "",
            ),
            field(
                "experiment_enable_features",
                "Experiment --enable-features",
                TRY,
                Text(None),
                "",
            ),
            field(
                "experiment_disable_features",
                "Experiment --disable-features",
                TRY,
                Text(None),
                "",
            ),
        ],
    },
    Group {
        title: "Measurement",
        is_folded: false,
        fields: &[
            field(
                "attempts",
                "Attempts",
                PAIRED,
                Number(1, ATTEMPTS),
                "Pairs of runs, at least 6; an odd number becomes the next even one.",
            ),
            field(
                "attempts",
                "Attempts",
                BISECTION,
                Number(1, ATTEMPTS),
                "Runs of each end before anything is decided; as many as the strategy needs if empty.",
            ),
            field(
                "magnitude",
                "Smallest change worth finding",
                SEARCH,
                Text(None),
                "In percent, like 5%, or in the metric's unit.",
            ),
            field(
                "confidence",
                "Confidence",
                SEARCH,
                Text(None),
                "How sure the answer has to be; 95% if empty.",
            ),
            field(
                "strategy",
                "Strategy",
                SEARCH,
                Choice(&[
                    ("adaptive", "adaptive: fewest runs"),
                    ("pinpoint", "as Chromium's Pinpoint"),
                ]),
                "",
            ),
        ],
    },
    Group {
        title: "Budget, and more",
        is_folded: true,
        fields: &[
            field("max_runs", "Most runs", SEARCH, Number(1, ANY), ""),
            field("max_builds", "Most builds", SEARCH, Number(1, ANY), ""),
            field(
                "max_time",
                "Longest time",
                ALL,
                Text(None),
                "For example 90s, 20m or 1h 30m.",
            ),
            field(
                "build_cost",
                "Cost of a build",
                SEARCH,
                Text(None),
                "In runs; 1 if empty.",
            ),
            field(
                "first_runs",
                "First runs of each end",
                CULPRIT,
                Number(1, ATTEMPTS),
                "Those of the first comparison count if empty.",
            ),
            field(
                "aggregate",
                "Aggregate",
                ALL,
                Text(None),
                "How the values of one run are combined, for example median or mean.",
            ),
            field(
                "seed",
                "Seed",
                ALL,
                Number(0, ANY),
                "Decides the order of runs.",
            ),
            field(
                "early_stopping",
                "End as soon as a difference is certain",
                TRY,
                Tick,
                "",
            ),
            field(
                "story_tags",
                "Story tags",
                ALL,
                Text(None),
                "With commas between them, where the benchmark chooses stories by tags.",
            ),
        ],
    },
    Group {
        title: "For the estimate",
        is_folded: true,
        fields: &[
            field(
                "commits",
                "Commits between the ends",
                SEARCH,
                Number(1, 10_000),
                "Counted if both ends are known.",
            ),
            field(
                "noise",
                "Scatter of runs",
                SEARCH,
                Text(None),
                "Interquartile range, for example 2%. If empty, taken from the last similar job.",
            ),
        ],
    },
];

/// The name of a kind, as addresses have it.
pub(super) fn key_of(kind: Kind) -> &'static str {
    KINDS
        .iter()
        .find(|(_, it)| *it == kind)
        .map_or("", |it| it.0)
}
