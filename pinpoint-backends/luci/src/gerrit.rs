//! Changes under review at [Gerrit], and the forms in which people name their patch sets.
//!
//! [Gerrit]: https://gerrit-review.googlesource.com/Documentation/rest-api-changes.html

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use pinpoint_core::Patch;
use serde::Deserialize;
use serde_json::Value;

use crate::google::{
    AddressError, Client, HttpRequest, HttpResponse, ServiceError, TokenSource, Tokens, Transport,
    scope,
};

/// The address of a host of Gerrit, in which `{host}` stands for its name.
pub const ADDRESS: &str = "https://{host}";

/// The domain whose hosts are asked, as for repositories.
pub const DOMAIN: &str = "-review.googlesource.com";

/// The host of a change that is named without one.
const CHROMIUM: &str = "chromium-review.googlesource.com";

/// The guard at the beginning of each answer.
const GUARD: &[u8] = b")]}'";

/// A change as people name it, perhaps without its project and its patch set.
///
/// ```
/// use pinpoint_luci::gerrit::ChangeName;
///
/// for name in ["12345/6", "crrev.com/c/12345/6", "https://chromium-review.googlesource.com/12345/6"] {
///     let name: ChangeName = name.parse()?;
///     assert_eq!((name.change, name.patchset), (12345, Some(6)));
/// }
/// # Ok::<(), pinpoint_luci::gerrit::NoChange>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeName {
    /// The host.
    pub host: String,
    /// The project, such as `chromium/src`.
    pub project: Option<String>,
    /// The number of the change.
    pub change: u64,
    /// The number of the patch set; the newest when absent.
    pub patchset: Option<u64>,
}

/// A text that names no change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no change at NAME{DOMAIN}; write its address, such as https://{CHROMIUM}/c/chromium/src/+/6234567/3, or crrev.com/c/6234567, or 6234567/3"
)]
pub struct NoChange(String);

impl FromStr for ChangeName {
    type Err = NoChange;

    /// The address of a change or a patch set, short or long; `crrev.com/c/CHANGE`; or the numbers
    /// `CHANGE/PATCHSET`. Without a patch set, the newest one is meant.
    fn from_str(text: &str) -> Result<Self, NoChange> {
        read(text).ok_or_else(|| NoChange(text.into()))
    }
}

fn read(text: &str) -> Option<ChangeName> {
    let address = text.strip_prefix("https://");
    let (host, path) = match (address, text.split_once('/')) {
        (Some(address), _) => address.split_once('/')?,
        (None, Some((host, path))) if host.contains('.') => (host, path),
        (None, _) => (CHROMIUM, text.strip_prefix("crrev/").unwrap_or(text)),
    };
    let host = match host.to_ascii_lowercase() {
        host if host == "crrev.com" => CHROMIUM.to_owned(),
        host => host,
    };
    let is_gerrit = host
        .strip_suffix(DOMAIN)
        .is_some_and(|name| is_plain(name) && !name.contains(['/', '.', '_']));
    let path = path.trim_end_matches('/');
    let (project, numbers) = match path.strip_prefix("c/").unwrap_or(path).split_once("/+/") {
        Some((project, numbers)) if path.starts_with("c/") => (Some(project), numbers),
        Some(_) => return None,
        None => (None, path.strip_prefix("c/").unwrap_or(path)),
    };
    let (change, patchset) = match numbers.split_once('/') {
        Some((change, patchset)) => (change, Some(number(patchset)?)),
        None => (numbers, None),
    };
    (is_gerrit && project.is_none_or(is_plain)).then_some(ChangeName {
        host,
        project: project.map(str::to_owned),
        change: number(change)?,
        patchset,
    })
}

fn is_plain(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
    !text.is_empty() && text.bytes().all(is_plain)
}

/// Buildbucket's numbers are signed.
fn number(text: &str) -> Option<u64> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_digits);
    number.filter(|number| (1..=i64::MAX.unsigned_abs()).contains(number))
}

impl fmt::Display for ChangeName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "https://{}/{}", self.host, self.change)?;
        match self.patchset {
            Some(patchset) => write!(formatter, "/{patchset}"),
            None => Ok(()),
        }
    }
}

impl ChangeName {
    /// The patch set, if nothing about it has to be looked up.
    pub fn patch(&self) -> Option<Patch> {
        Some(self.patch_of(self.project.clone()?, self.patchset?))
    }

    fn patch_of(&self, project: String, patchset: u64) -> Patch {
        Patch::Gerrit {
            host: self.host.clone(),
            project,
            change: self.change,
            patchset,
            hash: None,
        }
    }
}

/// A patch set can't be found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GerritError {
    /// The address is invalid.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Gerrit failed.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// Gerrit has no such change, or hides it.
    #[error("there is no change {0}, or this account may not see it")]
    NoChange(ChangeName),
    /// The change has no such patch set.
    #[error("the change has no patch set {change}; its newest is {newest}")]
    NoPatchSet {
        /// The change, with the patch set.
        change: ChangeName,
        /// The number of the newest patch set.
        newest: u64,
    },
}

/// A client of one host of Gerrit.
pub struct Gerrit(Client);

/// A change, as far as it is read.
#[derive(Deserialize)]
struct ChangeInfo {
    project: String,
    /// By hash.
    #[serde(default)]
    revisions: BTreeMap<String, RevisionInfo>,
}

#[derive(Deserialize)]
struct RevisionInfo {
    /// A number, or `edit`.
    _number: Value,
}

impl Gerrit {
    /// A client of this host. Sends no request yet.
    ///
    /// # Arguments
    ///
    /// In `address`, `{host}` stands for the name of the host.
    ///
    /// # Errors
    ///
    /// When the address is invalid, or tokens would cross the network without HTTPS.
    pub fn new(
        address: &str,
        host: &str,
        source: &TokenSource,
        transport: Arc<dyn Transport>,
    ) -> Result<Self, AddressError> {
        let tokens = Tokens::new(
            source.clone(),
            &[scope::GERRIT_CODE_REVIEW],
            transport.clone(),
        );
        let address = address.replace("{host}", host);
        Ok(Self(Client::new("Gerrit", &address, tokens, transport)?))
    }

    /// The patch set that is named: the newest one of its change, if none is. One request.
    ///
    /// # Errors
    ///
    /// When there is none, or Gerrit cannot be asked.
    pub async fn patch(&self, name: &ChangeName) -> Result<Patch, GerritError> {
        let signed_in = match self.0.is_signed_in() {
            true => "/a",
            false => "",
        };
        let path = format!("{signed_in}/changes/{}?o=ALL_REVISIONS", name.change);
        let request = HttpRequest::get(path);
        let asked = self.0.call(&request, |answer| self.change(answer));
        let change = match asked.await {
            Err(error) if error.is_not_found() => {
                return Err(GerritError::NoChange(name.clone()));
            }
            asked => asked?,
        };
        let revisions = change.revisions.values();
        let patchsets: Vec<u64> = revisions.filter_map(|it| it._number.as_u64()).collect();
        let newest = patchsets.iter().max().copied();
        let newest = newest.ok_or_else(|| GerritError::NoChange(name.clone()))?;
        let patchset = name.patchset.unwrap_or(newest);
        let is_other = name
            .project
            .as_ref()
            .is_some_and(|it| *it != change.project);
        match (is_other, patchsets.contains(&patchset)) {
            (true, _) => Err(GerritError::NoChange(name.clone())),
            (false, true) => Ok(name.patch_of(change.project, patchset)),
            (false, false) => Err(GerritError::NoPatchSet {
                change: name.clone(),
                newest,
            }),
        }
    }

    fn change(&self, answer: HttpResponse) -> Result<ChangeInfo, ServiceError> {
        let answer = self.0.successful(answer)?;
        let json = answer.body.strip_prefix(GUARD).unwrap_or_default();
        serde_json::from_slice(json).map_err(|error| ServiceError::Unreadable {
            service: self.0.service(),
            reason: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_named_as_people_do() {
        let long = "https://chromium-review.googlesource.com/c/chromium/src/+/6234567";
        let src = Some("chromium/src");
        for (text, project, patchset) in [
            (long.to_owned(), src, None),
            (format!("{long}/3"), src, Some(3)),
            (format!("{long}/3/"), src, Some(3)),
            (
                "https://chromium-review.googlesource.com/6234567/3".into(),
                None,
                Some(3),
            ),
            (
                "chromium-review.googlesource.com/c/6234567".into(),
                None,
                None,
            ),
            ("https://crrev.com/c/6234567".into(), None, None),
            ("crrev.com/c/6234567/3".into(), None, Some(3)),
            ("crrev/c/6234567".into(), None, None),
            ("c/6234567".into(), None, None),
            ("6234567/3".into(), None, Some(3)),
            ("6234567".into(), None, None),
        ] {
            let expected = ChangeName {
                host: CHROMIUM.into(),
                project: project.map(str::to_owned),
                change: 6_234_567,
                patchset,
            };
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_name_no_change() {
        for wrong in [
            "",
            "fix.diff",
            "patches/3",
            "12345/6/7",
            "+1/2",
            "https://chromium-review.googlesource.com/c/chromium/src/+/6234567/0",
            "https://chromium-review.googlesource.com/c/chromium/src/+/6234567/3?tab=comments",
            "https://chromium-review.googlesource.com/c/chromium/src/+/9223372036854775808/3",
            "https://chromium-review.googlesource.com/c/chromium/src/+/6234567/9223372036854775808",
            "https://chromium-review.googlesource.com/chromium/src/+/1/1",
            "https://user:word@chromium-review.googlesource.com/c/x/+/1/1",
            "https://gerrit.example.org/c/x/+/1/1",
            "https://gerrit.example.org/-review.googlesource.com/c/x/+/1/1",
            "https://chromium-review.googlesource.com.example.org/c/x/+/1/1",
            "https://-review.googlesource.com/c/x/+/1/1",
            "http://chromium-review.googlesource.com/c/chromium/src/+/6234567/3",
        ] {
            assert!(wrong.parse::<ChangeName>().is_err(), "{wrong}");
        }
    }
}
