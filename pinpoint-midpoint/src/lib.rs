//! What lies between two commits: linear history, dependency rolls and merges.
