//! Nothing yet: the place for what lies between two commits, through dependency rolls and merges.
