//! A job on its way: stored, worked on here or elsewhere, followed to its end.

pub(crate) mod clock;
pub(crate) mod command_line;
pub(crate) mod explanation;
pub(crate) mod luci;
pub(crate) mod new_job;
pub(crate) mod prior;
pub(crate) mod report;
pub(crate) mod stop;
pub(crate) mod storage;
pub(crate) mod temporal;
pub(crate) mod traces;
pub(crate) mod wait;
pub(crate) mod work;
