//! The `pinpoint` command.

fn main() {}
