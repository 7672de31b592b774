//! Rights, roles, and rows of the table of operations, which say who may ask for what.

use http::Method;

use Access::{Anyone, With};

/// A right of callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    /// See jobs, bots, benchmarks and workers.
    See,
    /// Make jobs in one's own name.
    Create,
    /// End one's own jobs.
    End,
    /// End the jobs of others.
    EndOthers,
    /// Make jobs in the name of others.
    ActForOthers,
    /// Read the audit log.
    ReadAudit,
}

impl Right {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::See,
        Self::Create,
        Self::End,
        Self::EndOthers,
        Self::ActForOthers,
        Self::ReadAudit,
    ];

    /// The name, as tokens and configurations write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::See => "see",
            Self::Create => "create",
            Self::End => "end",
            Self::EndOthers => "end_others",
            Self::ActForOthers => "act_for_others",
            Self::ReadAudit => "read_audit",
        }
    }

    /// The right, after "may".
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::See => "view jobs",
            Self::Create => "create jobs",
            Self::End => "cancel, pause and resume jobs",
            Self::EndOthers => "cancel, pause and resume the jobs of others",
            Self::ActForOthers => "act on behalf of others",
            Self::ReadAudit => "read the audit log",
        }
    }
}

/// The roles, each with its rights. A role includes the rights of those before it.
pub const ROLES: [(&str, &[Right]); 3] = [
    ("viewer", &[Right::See]),
    ("editor", &[Right::See, Right::Create, Right::End]),
    (
        "admin",
        &[
            Right::See,
            Right::Create,
            Right::End,
            Right::EndOthers,
            Right::ActForOthers,
            Right::ReadAudit,
        ],
    ),
];

/// The rights of a role, or the right itself, by name.
pub fn rights_of(name: &str) -> Option<Vec<Right>> {
    if let Some((_, rights)) = ROLES.iter().find(|(role, _)| *role == name) {
        return Some(rights.to_vec());
    }
    let right = Right::ALL.into_iter().find(|right| right.as_str() == name);
    right.map(|right| vec![right])
}

/// The callers that may ask for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everybody, signed in or not.
    Anyone,
    /// Callers with a right.
    With(Right),
}

impl Access {
    /// The right; nothing for public operations.
    pub(crate) fn right(self) -> Option<Right> {
        match self {
            Anyone => None,
            With(right) => Some(right),
        }
    }
}

/// An operation of the API.
#[derive(Debug)]
pub(crate) struct Operation {
    /// The RPC, as gRPC names it in a path: `package.Service/Method`.
    pub(crate) rpc: &'static str,
    pub(crate) access: Access,
    /// Methods and paths of REST, with `{field}` where a part of the path is a field.
    pub(crate) routes: &'static [(Method, &'static str)],
}
