//! Watching traces: alerts, the regressions that they see, groups, triage, and the bisections that
//! follow. A pure state machine: no clock, no store.
//!
//! In the order in which a watcher uses it:
//!
//! | question | function |
//! | --- | --- |
//! | which traces does an alert watch, and how? | [`Alert`] |
//! | which of its queries do new values match? | [`sub_queries`] |
//! | which of many traces have news at all? | [`screen_values`] |
//! | what happened, by their values? | [`run_alerts`]; which traces stopped: [`quiet_rows`], [`quiet_events`] |
//! | what is the state now? | [`Event`]s, in order, through [`WatchState::apply`] |
//! | which regressions may have one cause? | [`WatchState::groups`] |
//! | what is to be done? | [`plan`], or [`plan_group`] for one group, then [`PlannedAction::into_event`]; which bisections are to be started or followed: [`WatchState::pending_jobs`] |
//! | what did a bisection say? | [`EventKind::Bisected`] |
//! | how many of the alarms are chance? | [`alarm_count`]; before it is stored: [`try_alert`] |
//!
//! The deeds of people (triage, moving, splitting, joining, taking back, making by hand) are events like
//! those of the detectors, so that they survive the next run: a run tells only what the state does not
//! know.

mod alarm_count;
mod alert;
mod alert_error;
mod alert_fields;
#[cfg(test)]
mod alert_tests;
mod bridge;
#[cfg(test)]
mod bridge_tests;
mod by_hand;
mod change;
mod clusters;
mod detect;
mod event;
mod floor;
mod group;
mod job;
mod known;
mod outcome;
mod perfherder;
mod quiet;
mod range;
mod regression;
mod run;
#[cfg(test)]
mod run_tests;
mod screen;
mod standing;
mod state;
#[cfg(test)]
mod state_laws;
#[cfg(test)]
mod state_tests;
mod sub_query;
mod template;
mod trial;
mod windows;

pub use pinpoint_compare::steps::{Fingerprint, Triage};

pub use alarm_count::{AlarmCount, DAYS_COUNTED, alarm_count};
pub use alert::{
    Alert, AlertAction, AlertDirection, AlertId, AlertState, Algo, DEFAULT_GROUP_KEY,
    DEFAULT_INTERESTING,
};
pub use alert_error::AlertError;
pub use bridge::{
    GroupFault, Plan, PlanFault, PlanOptions, PlanTime, PlannedAction, jobs_left, plan, plan_group,
};
pub use by_hand::{ByHandError, change_by_hand};
pub use change::{Change, Place, RegressionId};
pub use detect::seed_of_trace;
pub use event::{EVENT_VERSION, Event, EventKind};
pub use floor::{Floor, FloorOverride};
pub use group::{Acted, Group, GroupName, groups_of_ranges};
pub use job::{BisectionJob, NotBisected};
pub use outcome::BisectionOutcome;
pub use quiet::{QuietTrace, Rhythm, Successor, quiet_events, quiet_rows, quiet_traces};
pub use range::{CommitRange, EmptyRange};
pub use regression::{Label, Regression, Seen};
pub use run::{CommitFacts, RunError, RunInput, run_alerts};
pub use screen::{Screened, screen_values};
pub use standing::{Standing, standing};
pub use state::{WATCH_STATE_VERSION, WatchError, WatchState};
pub use sub_query::sub_queries;
pub use template::{Template, TemplateError};
pub use trial::{AlertTrial, try_alert};
