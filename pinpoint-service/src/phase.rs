//! The life of a service.

/// A part of the life of a service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It answers.
    #[default]
    Serving,
    /// It answers, and says that it is not ready: clients should send nothing more.
    Leaving,
    /// It answers what is under way. Streams end.
    Ending,
}
