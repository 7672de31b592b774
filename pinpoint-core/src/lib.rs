//! The search for the commit that changed a benchmark: commits, machines, the executor and journal traits.
