//! The table of the fields of the form: the kinds of jobs that have them, and their controls.

use crate::api::grpc::v2::messages::Kind;
use crate::config::MOST_ATTEMPTS;
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

/// The fewest pairs of runs in which a difference can show.
const FEWEST_PAIRS: u64 = 6;
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
                "Some benchmarks need one.",
            ),
            field(
                "chart",
                "Metric",
                SEARCH,
                Text(None),
                "Required if the benchmark reports several metrics.",
            ),
            field(
                "chart",
                "Metric",
                TRY,
                Text(None),
                "If empty, all metrics that the benchmark reports.",
            ),
            field(
                "direction",
                "Better values are",
                ALL,
                Choice(&[("", "as reported"), ("up", "higher"), ("down", "lower")]),
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
                "A Gerrit change: 12345/6, or its URL.",
            ),
            field(
                "base_runner_args",
                "Benchmark arguments (base)",
                TRY,
                Text(None),
                "",
            ),
            field(
                "base_browser_args",
                "Browser arguments (base)",
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
                "Defaults to the base commit.",
            ),
            field(
                "experiment_patch",
                "Experiment patch",
                TRY,
                Patch,
                "A Gerrit change: 12345/6, or its URL.",
            ),
            field(
                "experiment_runner_args",
                "Benchmark arguments (experiment)",
                TRY,
                Text(None),
                "",
            ),
            field(
                "experiment_browser_args",
                "Browser arguments (experiment)",
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
                Number(FEWEST_PAIRS, ATTEMPTS),
                "Pairs of runs, at least 6. An odd number is rounded up to an even one.",
            ),
            field(
                "attempts",
                "Attempts",
                BISECTION,
                Number(1, ATTEMPTS),
                "Runs of each end before the first decision. If empty, the strategy chooses.",
            ),
            field(
                "magnitude",
                "Smallest change worth finding",
                SEARCH,
                Text(None),
                "In percent, for example 5%, or in the metric's unit.",
            ),
            field(
                "confidence",
                "Confidence",
                SEARCH,
                Text(None),
                "How certain the answer must be. If empty, 95%.",
            ),
            field(
                "strategy",
                "Strategy",
                SEARCH,
                Choice(&[
                    ("adaptive", "adaptive: fewest runs"),
                    ("pinpoint", "pinpoint: as in Chromium's Pinpoint"),
                ]),
                "",
            ),
        ],
    },
    Group {
        title: "Limits and advanced options",
        is_folded: true,
        fields: &[
            field("max_runs", "Maximum runs", SEARCH, Number(1, ANY), ""),
            field("max_builds", "Maximum builds", SEARCH, Number(1, ANY), ""),
            field(
                "max_time",
                "Time limit",
                ALL,
                Text(None),
                "For example 90s, 20m or 1h 30m.",
            ),
            field(
                "build_cost",
                "Cost of a build",
                SEARCH,
                Text(None),
                "In runs. If empty, 1.",
            ),
            field(
                "first_runs",
                "First runs of each end",
                CULPRIT,
                Number(1, ATTEMPTS),
                "If empty, the runs of the first comparison are used.",
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
                "Determines the order of the runs.",
            ),
            field(
                "early_stopping",
                "Stop as soon as a difference is certain",
                TRY,
                Tick,
                "",
            ),
            field(
                "story_tags",
                "Story tags",
                ALL,
                Text(None),
                "Separated by commas, if the benchmark selects stories by tag.",
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
                "If empty, counted once both ends are known.",
            ),
            field(
                "magnitude",
                "Change to find",
                TRY,
                Text(None),
                "In percent, for example 5%, or in the metric's unit. If empty, several sizes are tried.",
            ),
            field(
                "noise",
                "Noise between runs",
                ALL,
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
