//! Options for comparing profiles.

/// Options for comparing two sets of profiles.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExplainOptions {
    /// The first profile of each side was recorded with the first of the other, and so on.
    pub paired: bool,
    /// Functions of the base that have another name in the experiment, in these pairs. Several
    /// of the base may have become one; one may not have become several. Where a side has several
    /// functions of a name, `PLACE:NAME` names one: by its module, its file, or the last parts of
    /// the file's path.
    pub same: Vec<(String, String)>,
    /// Programs, libraries, source files and folders of the base that have another name in the
    /// experiment, in these pairs: `("bench-old", "bench-new")`, `("src/v1", "src/v2")`.
    pub map: Vec<(String, String)>,
}
