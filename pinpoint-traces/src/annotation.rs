//! Annotations: what people and programs note at a commit.

use serde::{Deserialize, Serialize};

use crate::commit::CommitNumber;
use crate::id::TraceId;
use crate::query::Query;

/// The longest text of an annotation, in bytes.
const MAX_TEXT: usize = 10_000;
/// The longest name of an author, in bytes.
const MAX_AUTHOR: usize = 200;

/// A note at a commit, shown wherever the commit is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// The commit.
    pub commit: CommitNumber,
    /// The traces that it concerns; the empty query is all of them.
    #[serde(default)]
    pub query: Query,
    /// The kind of what is noted.
    pub kind: AnnotationKind,
    /// The text; empty only where the kind says all.
    #[serde(default)]
    pub text: String,
    /// The person or program.
    pub author: String,
    /// When it was added, in milliseconds of Unix time.
    pub created: i64,
    /// When it was edited last, in milliseconds of Unix time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<i64>,
}

/// A kind of annotation. Graphs and detectors treat them in different ways.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnnotationKind {
    /// A text, and nothing else.
    Note,
    /// From this commit on, another machine measures: a step may be the machine's.
    MachineChange(MachineChange),
    /// From this commit on, one trace goes on under another id.
    Joined(Joined),
}

/// A parameter that names the machine, and has another value from a commit on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineChange {
    /// The parameter, such as the host's name.
    pub key: String,
    /// The value before.
    pub before: String,
    /// The value from the commit on.
    pub after: String,
}

/// A trace that another one replaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joined {
    /// The id up to the commit.
    pub before: TraceId,
    /// The id from the commit on.
    pub after: TraceId,
}

impl Annotation {
    /// Checks what is stored.
    ///
    /// # Errors
    ///
    /// [`AnnotationError`] for a note without a text, one without an author, texts that are too
    /// long, and changes from something to itself.
    pub fn check(&self) -> Result<(), AnnotationError> {
        match &self.kind {
            AnnotationKind::Note if self.text.trim().is_empty() => {
                return Err(AnnotationError::NoText);
            }
            AnnotationKind::MachineChange(change) if change.before == change.after => {
                return Err(AnnotationError::NoChange(change.after.clone()));
            }
            AnnotationKind::Joined(joined) if joined.before == joined.after => {
                return Err(AnnotationError::NoChange(joined.after.to_string()));
            }
            _ => {}
        }
        if self.text.len() > MAX_TEXT {
            return Err(AnnotationError::TextTooLong);
        }
        if self.author.trim().is_empty() {
            return Err(AnnotationError::NoAuthor);
        }
        if self.author.len() > MAX_AUTHOR {
            return Err(AnnotationError::AuthorTooLong);
        }
        Ok(())
    }

    /// Returns true if it concerns a trace: the query matches it, and of a join it is one side.
    pub fn concerns(&self, trace: &TraceId) -> bool {
        let is_side = match &self.kind {
            AnnotationKind::Joined(joined) => *trace == joined.before || *trace == joined.after,
            AnnotationKind::Note | AnnotationKind::MachineChange(_) => true,
        };
        is_side && self.query.matches_id(trace)
    }
}

/// The changes in a series of commits, each with the value of the parameter that names the machine.
/// Commits without a value are passed over: a machine that comes back was never away.
pub fn machine_changes<'a>(
    key: &str,
    values: impl IntoIterator<Item = (CommitNumber, Option<&'a str>)>,
) -> Vec<(CommitNumber, MachineChange)> {
    let mut last: Option<&str> = None;
    let mut changes = Vec::new();
    for (commit, value) in values {
        let Some(value) = value else {
            continue;
        };
        if let Some(before) = last.replace(value)
            && before != value
        {
            let change = MachineChange {
                key: key.to_owned(),
                before: before.to_owned(),
                after: value.to_owned(),
            };
            changes.push((commit, change));
        }
    }
    changes
}

/// An annotation that can't be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnnotationError {
    /// A note without a text.
    #[error("an annotation needs a text")]
    NoText,
    /// The text is too long.
    #[error("the text of an annotation has at most {MAX_TEXT} bytes")]
    TextTooLong,
    /// It names no author.
    #[error("an annotation needs an author")]
    NoAuthor,
    /// The name of the author is too long.
    #[error("the author of an annotation has at most {MAX_AUTHOR} bytes")]
    AuthorTooLong,
    /// Both sides of a change are the same.
    #[error("`{0}` can't replace itself")]
    NoChange(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotation(kind: AnnotationKind, text: &str) -> Annotation {
        Annotation {
            commit: CommitNumber(7),
            query: "arch=x86".parse().unwrap(),
            kind,
            text: text.into(),
            author: "ann".into(),
            created: 5,
            edited: None,
        }
    }

    #[test]
    fn an_annotation_is_stored_as_text_and_checked() {
        let note = annotation(AnnotationKind::Note, "new compiler");
        assert_eq!(note.check(), Ok(()));
        let json = serde_json::to_string(&note).unwrap();
        assert_eq!(
            json,
            r#"{"commit":7,"query":"arch=x86","kind":"note","text":"new compiler","author":"ann","created":5}"#
        );
        assert_eq!(serde_json::from_str::<Annotation>(&json).unwrap(), note);
        let error = annotation(AnnotationKind::Note, " ").check();
        assert_eq!(error, Err(AnnotationError::NoText));
        let error = annotation(AnnotationKind::Note, &"x".repeat(10_001)).check();
        assert_eq!(error, Err(AnnotationError::TextTooLong));
        let unsigned = Annotation {
            author: String::new(),
            ..note
        };
        assert_eq!(unsigned.check(), Err(AnnotationError::NoAuthor));
    }

    #[test]
    fn an_annotation_concerns_what_its_query_matches() {
        let id = |text: &str| text.parse::<TraceId>().unwrap();
        let (old, new) = (id(",arch=x86,test=old,"), id(",arch=x86,test=new,"));
        let note = annotation(AnnotationKind::Note, "x");
        assert!(note.concerns(&old) && !note.concerns(&id(",arch=arm,")));
        let join = |before: &TraceId, after: &TraceId| {
            let (before, after) = (before.clone(), after.clone());
            annotation(AnnotationKind::Joined(Joined { before, after }), "")
        };
        let joined = join(&old, &new);
        assert_eq!(joined.check(), Ok(()));
        assert!(joined.concerns(&old) && joined.concerns(&new));
        assert!(!joined.concerns(&id(",arch=x86,test=other,")));
        assert!(join(&old, &old).check().is_err());
    }

    #[test]
    fn a_machine_changes_where_its_name_does() {
        let values = ["a", "", "a", "b", "", "a", "a"];
        let values = values.iter().enumerate().map(|(at, it)| {
            let value = (!it.is_empty()).then_some(*it);
            (CommitNumber(at as u32), value)
        });
        let changes: Vec<_> = machine_changes("host", values)
            .into_iter()
            .map(|(commit, it)| (commit.0, it.before, it.after))
            .collect();
        assert_eq!(
            changes,
            [(3, "a".into(), "b".into()), (5, "b".into(), "a".into())]
        );
        let none: [(CommitNumber, Option<&str>); 0] = [];
        assert!(machine_changes("host", none).is_empty());
    }
}
