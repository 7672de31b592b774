//! Jobs as requests need them: watched and replayed; the bots, arguments, commits and changes that
//! they name; and the noise of machines.

pub(crate) mod bots;
pub(crate) mod commits;
pub(crate) mod extra_args;
pub(crate) mod gerrit;
pub(crate) mod hosts;
pub(crate) mod machines;
pub(crate) mod replays;
pub(crate) mod resolve;
pub(crate) mod watching;
