//! Valgrind's callgrind: exact counts of instructions.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::run::instructions;

/// Writes a file for each process, and for the part of each before a fork.
pub(super) fn command(place: &Path, program: &Path, arguments: Vec<OsString>) -> Command {
    let mut command = instructions::callgrind(place, program);
    command.args(arguments);
    command
}
