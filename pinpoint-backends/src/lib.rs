//! Where the search meets the world: local git and processes, job stores.
