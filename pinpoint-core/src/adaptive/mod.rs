//! The strategy `adaptive`: a probability for every commit, and the next run
//! where it gives most information.
//!
//! # The idea
//!
//! Somewhere between the good and the bad end one commit may have changed the
//! benchmark. Before anything is run, each commit is as suspicious as any other,
//! or as the caller says, and nearly half of the probability is that nothing changed.
//! Every run moves it: a slow run of a commit in the middle makes a change before it
//! likelier than one after it, by as much as such a value is likelier on
//! the new level than on the old one. The remaining uncertainty decides what to run
//! next, and the search ends when one commit, or "nothing changed", has the
//! probability asked for.
//!
//! ```text
//! runs   good                      c                        bad
//!   6    ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
//!   9    ▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃|                          the middle was slow
//!  12                 ▆▆▆▆▆▆▆▆▆▆▆▆▆|                          a quarter was fast
//!  25                            |█                           one commit is left
//! ```
//!
//! Unlike a bisection, no step is final: a commit that looked slow by bad luck is
//! run again when later runs contradict it. And no run is lost: those of all
//! commits on the same side are pooled, so that after a few steps both levels are
//! known well, and one or two runs place a commit if the change is large.
//!
//! # Modules
//!
//! | | |
//! | --- | --- |
//! | `line` | the commits in a line, prior probabilities, commits that do not build |
//! | `runs` | the runs of all commits, by site |
//! | `values` | the evidence of a change in the values, and its size |
//! | `memory` | runs compared with their neighbors in time |
//! | `cholesky` | the linear equations of both |
//! | `location` | the place of the change, for noise of any shape |
//! | `failures` | the same for failing runs |
//! | `broken` | the same where a commit may fail on its own |
//! | `mended` | commits left out because they fail on their own |
//! | `posterior` | all of it together, as probabilities |
//! | `choice` | the next run or build |
//! | `shown` | culprits named only if their own effects show |
//! | `pairs` | culprits named only if runs back to back differ |
//! | `like_known` | another change like those found |
//! | `search` | the state of the search |
//! | `decision` | the decision after each answer |
//! | `findings` | the findings of the strategy |
//! | `effect` | the size of a change that was found |
//! | `limit` | the largest change that may have been missed |
//! | `tuning` | the constants, and the measurements that depend on each |
//!
//! # Several changes
//!
//! Each change found splits the line in two segments with separate levels, and each is searched for
//! one more change, with a smaller prior probability. With every new run, each change found is
//! examined again given the others, and given up if it is no longer certain; at the end, each is
//! certain given all others. The search for a further one ends when it has made as many runs as the
//! last one had taken, or twice as many while one more is likelier than not, or three times as many
//! while one like those found is nearly certain. A change that is given up and found again is not a
//! new one. Changes like those found are looked for longer than others: see `like_known`.
//!
//! # Builds that are the same
//!
//! Where the digests of two builds are equal, no change is looked for between them, and both are on
//! one level, despite any measurements between them: see `Line::close_same`.
//!
//! # The evidence of an answer
//!
//! A culprit and the commit before it were both run, or builds that are the same as theirs were,
//! until the size of the change, measured between its neighbors, has an interval without zero: see
//! `shown`. Where values vary, both were run back to back at least three times, and these pairs show
//! most of the effect: see `pairs`. The probability stated is that of the model; the search asks a little more of it than
//! the confidence, because noise is never quite as modeled.

mod broken;
mod choice;
mod cholesky;
mod decision;
mod effect;
mod failures;
mod findings;
mod fit;
mod like_known;
mod limit;
mod line;
mod location;
mod log_sum;
mod memory;
mod mended;
mod pairs;
mod posterior;
mod runs;
mod search;
mod shown;
mod tuning;
mod values;

pub(crate) use self::search::AdaptiveSearch;
