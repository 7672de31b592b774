//! What can be wrong with a manifest.

/// A manifest cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}, column {column}: {problem}")]
pub struct ManifestError {
    /// The file, as [`Manifest::file`](super::Manifest::file) names it.
    pub file: &'static str,
    /// Counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It breaks the grammar of the format.
    #[error("{0}; correct the file, or skip this commit")]
    Syntax(String),
    /// The grammar allows it, but it has no meaning: a variable that nobody
    /// defines, a number where a URL belongs.
    #[error("{0}; correct the file, or skip this commit")]
    Meaning(String),
    /// It has a meaning that this reader does not know.
    #[error("{0} cannot be read here; write it in a plainer way, or skip this commit")]
    Unsupported(String),
    /// There is more of something than is read.
    #[error("there are more than {limit} {what}, which is more than is read; skip this commit")]
    TooLarge {
        /// What there is too much of: `bytes`, `levels of brackets`.
        what: &'static str,
        /// How much is read.
        limit: usize,
    },
}

impl ManifestError {
    /// A problem at a place given as an offset in bytes, which may lie anywhere.
    pub(crate) fn at(file: &'static str, text: &str, offset: usize, problem: Problem) -> Self {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let line_start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |newline| newline + 1);
        Self {
            file,
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            // Continuation bytes of UTF-8 begin no character.
            column: 1 + before[line_start..]
                .iter()
                .filter(|byte| **byte & 0xc0 != 0x80)
                .count(),
            problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let place = |offset| {
            let error = ManifestError::at("DEPS", "a\nµ=1\n", offset, Problem::Syntax("x".into()));
            (error.line, error.column)
        };
        assert_eq!(place(0), (1, 1));
        assert_eq!(place(1), (1, 2));
        assert_eq!(place(2), (2, 1));
        assert_eq!(place(4), (2, 2));
        assert_eq!(place(7), (3, 1));
        assert_eq!(place(700), (3, 1));
    }

    #[test]
    fn the_message_names_the_place() {
        let problem = Problem::Syntax("`)` closes nothing".into());
        assert_eq!(
            ManifestError::at("DEPS", "\n )", 2, problem).to_string(),
            "DEPS, line 2, column 2: `)` closes nothing; correct the file, or skip this commit"
        );
    }
}
