//! The problems of manifests.

/// A manifest cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}, column {column}: {problem}")]
#[non_exhaustive]
pub struct ManifestError {
    /// The file: see [`Manifest::file`](super::Manifest::file).
    pub file: &'static str,
    /// Counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// The problem there.
    pub problem: Problem,
}

/// The problems of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file breaks the grammar of the format.
    #[error("{0}; correct the file, or skip this commit")]
    Syntax(String),
    /// The grammar allows it, but it has no meaning: a variable that is not
    /// defined, a number where a URL belongs.
    #[error("{0}; correct the file, or skip this commit")]
    Meaning(String),
    /// The file uses a feature that this reader does not support.
    #[error("{0} cannot be read here; write it in a plainer way, or skip this commit")]
    Unsupported(String),
    /// A limit of the reader is exceeded.
    #[error("there are more than {limit} {what}, which is more than is read; skip this commit")]
    TooLarge {
        /// The unit of the limit: `bytes`, `levels of brackets`.
        what: &'static str,
        /// The most that is read.
        limit: usize,
    },
}

/// The longest description of a problem, in bytes: names in it come from the file
/// and may be megabytes long.
const MAX_DESCRIPTION: usize = 400;

impl ManifestError {
    /// A file of more than [`MAX_FILE`](super::MAX_FILE) bytes.
    pub(crate) fn too_large(file: &'static str) -> Self {
        let problem = Problem::TooLarge {
            what: "bytes",
            limit: super::MAX_FILE,
        };
        Self::at(file, "", 0, problem)
    }

    /// A problem at a place given as an offset in bytes, which may be anywhere.
    pub(crate) fn at(file: &'static str, text: &str, offset: usize, problem: Problem) -> Self {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let line_start = before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |newline| newline + 1);
        Self {
            file,
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            // Continuation bytes of UTF-8 don't start a character.
            column: 1 + before[line_start..]
                .iter()
                .filter(|byte| **byte & 0xc0 != 0x80)
                .count(),
            problem: problem.abridged(),
        }
    }
}

impl Problem {
    /// Cuts the middle out of a long description: the problem is at its ends.
    fn abridged(mut self) -> Self {
        if let Self::Syntax(text) | Self::Meaning(text) | Self::Unsupported(text) = &mut self
            && text.len() > MAX_DESCRIPTION
        {
            let start = text.floor_char_boundary(MAX_DESCRIPTION / 2);
            let end = text.ceil_char_boundary(text.len() - MAX_DESCRIPTION / 2);
            *text = format!("{} … {}", &text[..start], &text[end..]);
        }
        self
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
    fn a_long_description_keeps_its_ends() {
        let text = format!("`{}` is not a number", "µ1".repeat(1_000_000));
        let error = ManifestError::at("DEPS", "", 0, Problem::Syntax(text)).to_string();
        assert!(error.len() < MAX_DESCRIPTION + 100, "{}", error.len());
        assert!(error.contains("column 1: `µ1"), "{error}");
        assert!(error.contains("1` is not a number; correct"), "{error}");
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
