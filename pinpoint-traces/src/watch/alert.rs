//! Alerts: which traces are watched, how, and what follows.

use std::fmt;
use std::str::FromStr;

use pinpoint_compare::steps::{Rule, Statistic};
use serde::{Deserialize, Serialize};

use super::alert_error::AlertError;
use super::alert_fields::AlertFields;
use super::floor::{Floor, FloorOverride, floor_of};
use super::template::Template;
use crate::id::TraceId;
use crate::query::Query;

/// The threshold of `original` unless an alert says otherwise: the published server's.
pub const DEFAULT_INTERESTING: f64 = 50.0;

/// The key by which regressions are grouped unless an alert says otherwise.
pub const DEFAULT_GROUP_KEY: &str = "benchmark";

/// An alert: traces that are watched, the detector, and what follows on a regression.
///
/// Its JSON and TOML have the names of Skia Perf's alerts, and some more. Each name but `query` may
/// be left out. What is read is checked.
///
/// ```
/// use pinpoint_traces::watch::{Alert, AlertDirection};
///
/// let alert = Alert::from_json(r#"{"query": "bot=a", "group_by": "config", "step_up_only": true}"#)?;
/// assert_eq!(alert.direction, AlertDirection::Up);
/// assert_eq!(alert.group_by, ["config"]);
/// assert!(Alert::from_json(r#"{"query": "bot=a", "group_by": "bot"}"#).is_err());
/// # Ok::<(), pinpoint_traces::watch::AlertError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "AlertFields", into = "AlertFields")]
pub struct Alert {
    /// The id, [`AlertId::NEW`] before it is stored.
    pub id: AlertId,
    /// The name that people see.
    pub display_name: String,
    /// The traces.
    pub query: Query,
    /// The detector.
    pub algo: Algo,
    /// The statistic of `kmeans` and `stepfit`.
    pub step: Statistic,
    /// Its threshold.
    pub interesting: f64,
    /// A tree of statistics in place of `step` and `interesting`.
    pub detection_rule: Option<Rule>,
    /// Neighbors on each side in a window of `kmeans` and `stepfit`; 0: the default, 7.
    pub radius: usize,
    /// Clusters that `kmeans` starts from; 0: by the number of traces.
    pub k: usize,
    /// Keys that the query does not have: each combination of their values is watched by itself.
    pub group_by: Vec<String>,
    /// Windows of `kmeans` take only commits at which some trace has a value.
    pub sparse: bool,
    /// The fewest regressions of a group, or traces of a cluster, that matter.
    pub minimum_num: usize,
    /// The direction of changes that matter.
    pub direction: AlertDirection,
    /// Active, unless it is kept for the record alone.
    pub state: AlertState,
    /// The person or team that it belongs to.
    pub owner: String,
    /// A word to sort alerts by.
    pub category: String,
    /// The consequence of a regression.
    pub action: AlertAction,
    /// False alarms of `rank` and `conformal` for each new value: 0.00005 to 0.01.
    pub rate: f64,
    /// The smallest change that matters.
    pub floor: Floor,
    /// Other floors for some of the traces; the first one that matches counts.
    pub floors: Vec<FloorOverride>,
    /// The key by whose value regressions are grouped.
    pub group_key: String,
    /// The benchmark's command in a bisection; absent: the watcher's.
    pub command: Option<Template>,
    /// The chart that decides in a bisection; absent: the watcher's.
    pub chart: Option<Template>,
}

impl Alert {
    /// Reads an alert from JSON.
    ///
    /// # Errors
    ///
    /// [`AlertError`] for text that is not one, with its place, and for each value that can't be.
    pub fn from_json(text: &str) -> Result<Self, AlertError> {
        // Serde would take the values of an array for fields, by their places.
        if text.trim_start().starts_with('[') {
            return Err(AlertError::NotAnObject);
        }
        let mut reader = serde_json::Deserializer::from_str(text);
        let fields: AlertFields = serde_path_to_error::deserialize(&mut reader)
            .map_err(|error| AlertError::Json(error.to_string()))?;
        (reader.end()).map_err(|error| AlertError::Json(error.to_string()))?;
        fields.try_into()
    }

    /// Reads an alert from TOML, with the same names.
    ///
    /// # Errors
    ///
    /// As of [`Alert::from_json`].
    pub fn from_toml(text: &str) -> Result<Self, AlertError> {
        let fields: AlertFields =
            toml::from_str(text).map_err(|error| AlertError::Toml(error.to_string()))?;
        fields.try_into()
    }

    /// Checks an alert that was put together by hand, as reading does.
    ///
    /// # Errors
    ///
    /// [`AlertError`] for each value that can't be.
    pub fn check(&self) -> Result<(), AlertError> {
        Self::try_from(AlertFields::from(self.clone())).map(|_| ())
    }

    /// The floor of one of its traces.
    pub fn floor_of(&self, trace: &TraceId) -> Floor {
        floor_of(self.floor, &self.floors, trace)
    }

    /// The value of a trace by which its regressions are grouped; empty for one that lacks the key.
    pub fn group_of(&self, trace: &TraceId) -> String {
        trace.get(&self.group_key).unwrap_or_default().to_owned()
    }

    /// Neighbors on each side in a window.
    pub fn radius(&self) -> usize {
        match self.radius {
            0 => pinpoint_compare::steps::RADIUS,
            radius => radius,
        }
    }

    /// The rule of windows: [`Alert::detection_rule`], or the one of step and threshold.
    pub fn rule(&self) -> Rule {
        (self.detection_rule.clone()).unwrap_or_else(|| Rule::simple(self.step, self.interesting))
    }

    /// Returns true if it is watched.
    pub fn is_active(&self) -> bool {
        self.state == AlertState::Active
    }
}

/// The number of a stored alert, written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AlertId(pub i64);

impl AlertId {
    /// Of an alert that is not stored yet.
    pub const NEW: Self = Self(-1);
}

impl Default for AlertId {
    fn default() -> Self {
        Self::NEW
    }
}

impl fmt::Display for AlertId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for AlertId {
    type Err = AlertError;

    fn from_str(text: &str) -> Result<Self, AlertError> {
        match text.parse() {
            Ok(number) if number >= Self::NEW.0 => Ok(Self(number)),
            _ => Err(AlertError::Id(text.to_owned())),
        }
    }
}

impl TryFrom<String> for AlertId {
    type Error = AlertError;

    fn try_from(text: String) -> Result<Self, AlertError> {
        text.parse()
    }
}

impl From<AlertId> for String {
    fn from(id: AlertId) -> Self {
        id.to_string()
    }
}

/// An enum whose variants have fixed names in alerts.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident, $field:literal {
        $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// The names in alerts.
            pub const NAMES: &'static [&'static str] = &[$($text),*];

            /// The name in alerts.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(self.as_str())
            }
        }

        /// Reads a name; the empty one is the default.
        impl FromStr for $name {
            type Err = AlertError;

            fn from_str(text: &str) -> Result<Self, AlertError> {
                match text {
                    "" => Ok(Self::default()),
                    $($text => Ok(Self::$variant),)*
                    _ => Err(AlertError::UnknownName {
                        field: $field,
                        name: text.to_owned(),
                        names: Self::NAMES,
                    }),
                }
            }
        }
    };
}

named! {
    /// A detector.
    Algo, "algo" {
        /// Clusters of traces of one shape, each judged by a statistic in sliding windows.
        Kmeans = "kmeans",
        /// Each trace by itself, judged by a statistic in sliding windows.
        Stepfit = "stepfit",
        /// Each trace by itself, by ranks, at a stated rate of false alarms.
        #[default]
        Rank = "rank",
        /// Each trace by itself, at a rate that is proven for any distribution.
        Conformal = "conformal",
        /// Each trace by itself, as Mozilla's Perfherder alerts: a weighted t-statistic above 7 and a
        /// change of 2 % at least.
        Perfherder = "perfherder",
    }
}

named! {
    /// The direction of changes that matter.
    AlertDirection, "direction" {
        /// Rises.
        Up = "UP",
        /// Falls.
        Down = "DOWN",
        /// Both.
        #[default]
        Both = "BOTH",
    }
}

impl AlertDirection {
    /// Returns true if a rise, or else a fall, matters.
    pub fn admits(self, rose: bool) -> bool {
        match self {
            Self::Up => rose,
            Self::Down => !rose,
            Self::Both => true,
        }
    }
}

named! {
    /// The state of an alert.
    AlertState, "state" {
        /// It is.
        #[default]
        Active = "ACTIVE",
        /// It is kept because regressions name it.
        Deleted = "DELETED",
    }
}

named! {
    /// The consequence of a group of regressions.
    AlertAction, "action" {
        /// They are listed.
        #[default]
        NoAction = "noaction",
        /// Somebody is notified.
        Report = "report",
        /// A bisection is started.
        Bisect = "bisect",
    }
}
