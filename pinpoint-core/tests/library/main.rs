//! The library as its users see it: the machines, their drivers, and the formats they read and
//! write. One program, since each additional one is linked and optimized again.

#[cfg(feature = "simulation")]
mod adaptive_strategy;
#[cfg(feature = "api")]
mod api_messages;
#[cfg(feature = "api")]
mod api_requests;
mod commit_names;
mod culprit_finder;
mod drive;
mod drive_calls;
mod drive_pairs;
mod durable;
#[cfg(feature = "profile")]
mod explain;
#[cfg(feature = "profile")]
mod explain_cases;
#[cfg(feature = "profile")]
mod explain_laws;
#[cfg(feature = "profile")]
mod explain_matches;
#[cfg(feature = "profile")]
mod explain_parts;
#[cfg(feature = "profile")]
mod explain_random;
#[cfg(feature = "profile")]
mod explain_simulated;
#[cfg(feature = "profile")]
mod exports;
#[cfg(feature = "results")]
mod find_metric;
mod job_machine;
mod measured_metric;
mod pairwise;
mod pinpoint_strategy;
#[cfg(feature = "profile")]
mod profile;
#[cfg(feature = "profile")]
mod profile_attacks;
#[cfg(feature = "profile")]
mod profile_odd;
#[cfg(feature = "simulation")]
mod promise;
#[cfg(feature = "simulation")]
mod published_figures;
mod random_walks;
#[cfg(feature = "results")]
mod result_formats;
mod same_builds;
#[cfg(feature = "simulation")]
mod simulation;
#[cfg(feature = "simulation")]
mod single_failures;
#[cfg(feature = "simulation")]
mod sizes;
mod stored_journals;
mod too_noisy;
mod translate;
mod walk;
mod world;
