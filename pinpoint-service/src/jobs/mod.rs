//! Jobs as requests see them: followed, their commits and changes, and the noise of machines.

pub(crate) mod commits;
pub(crate) mod gerrit;
pub(crate) mod hosts;
pub(crate) mod machines;
pub(crate) mod watching;
