//! Commits, builds and runs on this machine.
