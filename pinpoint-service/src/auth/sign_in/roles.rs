//! The roles of people: by their own names, their groups, or the domains of their addresses.

use std::collections::BTreeSet;
use std::fmt::{self, Display, Formatter};

use serde::Deserialize;

use super::Person;
use crate::api::access::{Right, rights_of};
use crate::auth::users::user_name;

/// The roles of people. Everybody else may do nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Roles {
    /// Those who may see jobs.
    pub viewer: Vec<Member>,
    /// Those who may also make jobs, and end their own.
    pub editor: Vec<Member>,
    /// Those who may do everything.
    pub admin: Vec<Member>,
    /// The person or address to ask for a role.
    pub ask: Option<String>,
}

/// Those who have a role.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
#[non_exhaustive]
pub enum Member {
    /// One user: an address, or `user:NAME`, whose name may have colons.
    User(String),
    /// The members of a group: `group:NAME`.
    Group(String),
    /// Those with an address of a domain: `domain:NAME`. Its subdomains are others.
    Domain(String),
}

/// A text that is not a member.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0:?} names nobody: write an e-mail address, `user:NAME`, `group:NAME` or `domain:NAME`, without blanks around the name"
)]
pub struct MemberError(String);

impl TryFrom<String> for Member {
    type Error = MemberError;

    fn try_from(text: String) -> Result<Self, MemberError> {
        let member = match text.split_once(':') {
            None => user_name(&text).map(Self::User),
            // A name with blanks around it would match nobody.
            Some((_, name)) if name.is_empty() || name.trim() != name => None,
            Some(("user", name)) => user_name(name).map(Self::User),
            Some(("group", name)) => Some(Self::Group(name.to_owned())),
            Some(("domain", name)) => {
                let is_domain = !name.contains(|it: char| it == '@' || it.is_whitespace());
                is_domain.then(|| Self::Domain(name.to_ascii_lowercase()))
            }
            Some(_) => None,
        };
        member.ok_or(MemberError(text))
    }
}

/// As a configuration writes it.
impl Display for Member {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(user) if user.contains(':') => write!(formatter, "user:{user}"),
            Self::User(user) => formatter.write_str(user),
            Self::Group(group) => write!(formatter, "group:{group}"),
            Self::Domain(domain) => write!(formatter, "domain:{domain}"),
        }
    }
}

impl Member {
    fn is(&self, person: &Person) -> bool {
        match self {
            Self::User(user) => *user == person.user,
            Self::Group(group) => person.groups.contains(group),
            Self::Domain(domain) => {
                let found = person.user.rsplit_once('@');
                found.is_some_and(|(_, found)| found == domain)
            }
        }
    }
}

impl Roles {
    /// Returns true if nobody has a role.
    pub(crate) fn is_empty(&self) -> bool {
        self.each().all(|(_, members)| members.is_empty())
    }

    /// The rights of a person.
    pub(super) fn rights(&self, person: &Person) -> BTreeSet<Right> {
        let roles = self.each();
        let roles = roles.filter(|(_, members)| members.iter().any(|member| member.is(person)));
        let rights = roles.filter_map(|(role, _)| rights_of(role));
        rights.flatten().collect()
    }

    /// The members of each role.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&'static str, &Vec<Member>)> {
        [
            ("viewer", &self.viewer),
            ("editor", &self.editor),
            ("admin", &self.admin),
        ]
        .into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(text: &str) -> Roles {
        toml::from_str(text).unwrap()
    }

    fn rights(roles: &Roles, user: &str, groups: &[&str]) -> Vec<Right> {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        let person = Person::new(user, groups).unwrap();
        roles.rights(&person).into_iter().collect()
    }

    #[test]
    fn roles_come_by_user_group_and_domain() {
        let roles = roles(
            "viewer = ['domain:Example.org']\neditor = ['group:perf']\nadmin = ['Ada@example.ORG', 'root']",
        );
        let all = Right::ALL.to_vec();
        let sees = vec![Right::See];
        assert_eq!(rights(&roles, "ADA@Example.org", &[]), all);
        assert_eq!(rights(&roles, "root", &[]), all);
        assert_eq!(rights(&roles, "bo@EXAMPLE.ORG", &[]), sees);
        assert_eq!(
            rights(&roles, "bo@elsewhere.example", &["other", "perf"]),
            [Right::See, Right::Create, Right::End]
        );
        let programs = "editor = ['user:system:serviceaccount:ci:bot', 'user:Bo@Example.org']";
        let programs = self::roles(programs);
        for user in ["system:serviceaccount:ci:bot", "bo@example.org"] {
            assert_eq!(rights(&programs, user, &[]).len(), 3, "{user}");
        }
        assert_eq!(rights(&programs, "system:serviceaccount:ci", &[]), []);
        let of_kelvin = "\u{212a}.example".to_owned();
        let of_kelvin = self::roles(&format!("admin = ['domain:{of_kelvin}']"));
        assert_eq!(rights(&of_kelvin, "eve@k.example", &[]), []);
        for user in [
            "bo@sub.example.org",
            "bo@example.org.evil.example",
            "bo@evilexample.org",
            "bo@example.org@evil.example",
            "example.org",
            "domain:example.org",
            "Root",
        ] {
            assert_eq!(rights(&roles, user, &[]), [], "{user}");
        }
        assert_eq!(rights(&roles, "\"bo@evil.example\"@example.org", &[]), sees);
        for group in ["Perf", "perf ", "domain:example.org", "ada@example.org"] {
            assert_eq!(rights(&roles, "eve@evil.example", &[group]), [], "{group}");
        }
    }

    #[test]
    fn what_names_nobody_is_refused() {
        for text in [
            "",
            " ",
            "group:",
            "domain:",
            "domain:a@b",
            "domain: example.org",
            "domain:example .org",
            "group: perf",
            "group:perf ",
            "user:",
            "user: ada",
            "system:serviceaccount:ci:bot",
            "gruop:perf",
            "a\tb",
        ] {
            let read = toml::from_str::<Roles>(&format!("admin = [{text:?}]"));
            assert!(read.is_err(), "{text:?}");
        }
        assert!(toml::from_str::<Roles>("root = ['ada']").is_err());
        assert!(Roles::default().is_empty());
        assert!(!roles("viewer = ['ada']").is_empty());
    }
}
