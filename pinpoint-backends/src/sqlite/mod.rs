//! Jobs and their journals in one SQLite file.
