//! Git submodules: `.gitmodules` has the URLs, the tree the revisions.
//!
//! The syntax is that of "CONFIGURATION FILE" in git-config(1), the keys are those
//! of gitmodules(5).

use std::collections::BTreeMap;

use super::dependency::{Dependency, Source};
use super::error::{ManifestError, Problem};
use super::interface::{Manifest, check_size};

/// Reads git submodules.
///
/// The path of a dependency is that of the submodule. Its URL stays as written;
/// one that begins with `./` or `../` is resolved by [`resolve_url`]. A gitlink
/// without a URL is a [`Source::Package`] of the registry `git`; a submodule
/// without a gitlink is not part of the commit, and not named.
///
/// The submodule's own manifests all count, unless gclient wrote the file: then
/// its `gclient-condition` is the condition, and `DEPS` counts where
/// `gclient-recursedeps` says so.
#[derive(Debug, Clone, Copy)]
pub struct Submodules;

impl Manifest for Submodules {
    fn file(&self) -> &'static str {
        ".gitmodules"
    }

    fn gitlinks(&self, file: &str) -> Result<Vec<String>, ManifestError> {
        check_size(self.file(), file)?;
        let mut paths = Vec::new();
        let mut config = Config::new(file);
        while let Some(setting) = config
            .next()
            .map_err(|(offset, problem)| ManifestError::at(self.file(), file, offset, problem))?
        {
            if setting.submodule.is_some() && setting.key == "path" {
                paths.extend(setting.value);
            }
        }
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    fn read(
        &self,
        file: &str,
        gitlinks: &BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, Dependency>, ManifestError> {
        check_size(self.file(), file)?;
        let error = |(offset, problem)| ManifestError::at(self.file(), file, offset, problem);
        let mut submodules: Vec<BTreeMap<String, Setting>> = Vec::new();
        let mut config = Config::new(file);
        while let Some(setting) = config.next().map_err(error)? {
            let Some(number) = setting.submodule else {
                continue;
            };
            submodules.resize_with(submodules.len().max(number + 1), BTreeMap::new);
            let settings = &mut submodules[number];
            match settings.get(&setting.key) {
                // Git takes the first in one command and the last in another.
                Some(known) if known.value != setting.value => {
                    let problem = Problem::Meaning(format!(
                        "submodule `{}` has two values for `{}`",
                        config.name(number),
                        setting.key
                    ));
                    return Err(error((setting.offset, problem)));
                }
                _ => settings.insert(setting.key.clone(), setting),
            };
        }
        let by_gclient = submodules
            .iter()
            .any(|settings| settings.keys().any(|key| key.starts_with("gclient-")));
        let mut by_path: BTreeMap<&str, &BTreeMap<String, Setting>> = BTreeMap::new();
        for settings in &submodules {
            if let Some((path, offset)) = text(settings, "path")
                && by_path.insert(path, settings).is_some()
            {
                let problem = Problem::Meaning(format!("two submodules have the path `{path}`"));
                return Err(error((offset, problem)));
            }
        }
        let dependency = |path: &str, hash: &str| {
            let settings = by_path.get(path);
            let value = |key: &str| Some(text(settings?, key)?.0.to_owned());
            let source = match value("url") {
                Some(url) => Source::Git {
                    url,
                    revision: hash.into(),
                },
                None => Source::Package {
                    registry: "git".into(),
                    name: path.into(),
                    version: hash.into(),
                },
            };
            let nested = if !by_gclient {
                super::all()
                    .map(|manifest| manifest.file().to_owned())
                    .into()
            } else if value("gclient-recursedeps").is_some_and(|value| value == "true") {
                vec!["DEPS".to_owned()]
            } else {
                Vec::new()
            };
            Dependency {
                condition: value("gclient-condition"),
                nested,
                source,
            }
        };
        Ok(gitlinks
            .iter()
            .map(|(path, hash)| (path.clone(), dependency(path, hash)))
            .collect())
    }
}

/// The text of a key, and its place.
fn text<'a>(settings: &'a BTreeMap<String, Setting>, key: &str) -> Option<(&'a str, usize)> {
    let setting = settings.get(key)?;
    Some((setting.value.as_deref()?, setting.offset))
}

/// Resolves the URL of a submodule against the repository that names it.
///
/// One that begins with `./` or `../` is relative to the URL of that repository, as in
/// git-submodule(1), `add`: each `../` removes its last component. Any other is returned unchanged.
/// `None` if it leads out of the host, or out of the file system.
///
/// ```
/// use pinpoint_midpoint::manifest::resolve_url;
///
/// let base = "https://host.example/team/tool.git";
/// assert_eq!(
///     resolve_url(base, "../library.git").as_deref(),
///     Some("https://host.example/team/library.git")
/// );
/// assert_eq!(resolve_url(base, "../../../library.git"), None);
/// ```
pub fn resolve_url(base: &str, url: &str) -> Option<String> {
    if !url.starts_with("./") && !url.starts_with("../") {
        return Some(url.to_owned());
    }
    let mut base = base.strip_suffix('/').unwrap_or(base);
    // The part that can't be removed: `https://host`, or `user@host` before the colon.
    let host = match base.find("://") {
        Some(scheme) => base[scheme + 3..].find('/').map(|slash| scheme + 3 + slash),
        None if base.starts_with('/') => Some(0),
        None => base.find(':'),
    }?;
    let mut separator = '/';
    let mut rest = url;
    loop {
        if let Some(after) = rest.strip_prefix("../") {
            let end = base[host..].rfind('/').map_or(host, |slash| host + slash);
            // Nothing is left of the path.
            if base.len() == host {
                return None;
            }
            if base[end..].starts_with(':') {
                separator = ':';
            }
            base = &base[..end];
            rest = after;
        } else if let Some(after) = rest.strip_prefix("./") {
            rest = after;
        } else {
            let joined = format!("{base}{separator}{rest}");
            return Some(joined.strip_suffix('/').unwrap_or(&joined).to_owned());
        }
    }
}

/// One line of a git configuration file.
#[derive(Debug)]
struct Setting {
    offset: usize,
    /// The submodule, by the order in which their names appear; absent in any other section.
    submodule: Option<usize>,
    /// The key in lower case, since git ignores case in keys.
    key: String,
    /// Absent if the key is alone, which means true.
    value: Option<String>,
}

type Fault = (usize, Problem);

fn syntax<T>(offset: usize, what: impl Into<String>) -> Result<T, Fault> {
    Err((offset, Problem::Syntax(what.into())))
}

/// Parses a git configuration file.
struct Config<'a> {
    text: &'a str,
    offset: usize,
    /// Absent before the first section.
    section: Option<Section>,
    /// Submodules by name, numbered: a name may be long, and have many settings.
    submodules: BTreeMap<String, usize>,
}

/// The section that settings belong to: a submodule, or any other.
#[derive(Clone, Copy)]
enum Section {
    Submodule(usize),
    Other,
}

impl<'a> Config<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            offset: if text.starts_with('\u{feff}') { 3 } else { 0 },
            section: None,
            submodules: BTreeMap::new(),
        }
    }

    /// The name of a submodule, for messages.
    fn name(&self, number: usize) -> &str {
        self.submodules
            .iter()
            .find(|(_, known)| **known == number)
            .map_or("", |(name, _)| name)
    }

    fn submodule(&mut self, name: &str) -> Section {
        let next = self.submodules.len();
        Section::Submodule(match self.submodules.get(name) {
            Some(number) => *number,
            None => *self.submodules.entry(name.to_owned()).or_insert(next),
        })
    }

    /// The next character. Every form of line end is `\n`.
    fn peek(&self) -> Option<char> {
        let rest = &self.text[self.offset..];
        if rest.starts_with("\r\n") {
            return Some('\n');
        }
        rest.chars().next()
    }

    fn advance(&mut self) -> Option<char> {
        let next = self.peek()?;
        let crlf = self.text[self.offset..].starts_with("\r\n");
        self.offset += if crlf { 2 } else { next.len_utf8() };
        Some(next)
    }

    fn skip_while(&mut self, skipped: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&skipped) {
            self.advance();
        }
    }

    fn next(&mut self) -> Result<Option<Setting>, Fault> {
        loop {
            let start = self.offset;
            match self.peek() {
                None => return Ok(None),
                Some(c) if is_blank(c) || c == '\n' => {
                    self.advance();
                }
                Some('#' | ';') => self.skip_while(|c| c != '\n'),
                Some('[') => self.section = Some(self.header()?),
                Some(c) if c.is_ascii_alphabetic() => return self.setting().map(Some),
                Some(c) => return syntax(start, format!("`{c}` has no meaning here")),
            }
        }
    }

    /// `[name]`, `[name "subsection"]`, or the old `[name.subsection]`.
    fn header(&mut self) -> Result<Section, Fault> {
        let start = self.offset;
        self.advance();
        let name_start = self.offset;
        self.skip_while(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
        let name = self.text[name_start..self.offset].to_ascii_lowercase();
        let after_name = self.offset;
        self.skip_while(is_blank);
        let mut subsection = None;
        if self.peek() == Some('"') && self.offset > after_name && !name.is_empty() {
            self.advance();
            let mut text = String::new();
            loop {
                match self.advance() {
                    Some('"') => break,
                    Some('\\') => match self.advance() {
                        Some('\n') | None => return syntax(start, "this name does not end"),
                        Some(c) => text.push(c),
                    },
                    Some('\n') | None => return syntax(start, "this name does not end"),
                    Some(c) => text.push(c),
                }
            }
            subsection = Some(text);
        } else if self.offset > after_name || name.is_empty() {
            return syntax(start, "this is not a section header");
        }
        if self.advance() != Some(']') {
            return syntax(start, "the header of this section does not end");
        }
        Ok(match (name.as_str(), subsection) {
            ("submodule", Some(subsection)) => self.submodule(&subsection),
            (name, None) => match name.strip_prefix("submodule.") {
                Some(subsection) => self.submodule(subsection),
                None => Section::Other,
            },
            _ => Section::Other,
        })
    }

    fn setting(&mut self) -> Result<Setting, Fault> {
        let offset = self.offset;
        let submodule = match self.section {
            None => return syntax(offset, "this setting stands in no section"),
            Some(Section::Submodule(number)) => Some(number),
            Some(Section::Other) => None,
        };
        self.skip_while(|c| c.is_ascii_alphanumeric() || c == '-');
        let key = self.text[offset..self.offset].to_ascii_lowercase();
        self.skip_while(|c| c == ' ' || c == '\t');
        let value = match self.peek() {
            None | Some('\n') => None,
            Some('=') => {
                self.advance();
                Some(self.value()?)
            }
            Some(c) => {
                return syntax(self.offset, format!("`=` is expected here, not `{c}`"));
            }
        };
        Ok(Setting {
            offset,
            submodule,
            key,
            value,
        })
    }

    /// The value after the `=`, up to the end of the line.
    fn value(&mut self) -> Result<String, Fault> {
        let start = self.offset;
        let mut value = String::new();
        let mut quoted = false;
        // Up to here the value is kept: blanks at its end are not part of it.
        let mut end = 0;
        loop {
            let place = self.offset;
            match self.advance() {
                None | Some('\n') if quoted => {
                    return syntax(start, "the quotes of this value do not end");
                }
                None | Some('\n') => break,
                Some(c) if is_blank(c) && !quoted => {
                    if !value.is_empty() {
                        value.push(c);
                    }
                    continue;
                }
                Some('#' | ';') if !quoted => {
                    self.skip_while(|c| c != '\n');
                    continue;
                }
                Some('"') => {
                    quoted = !quoted;
                    // Blanks before a quote are inside of the value.
                    end = value.len();
                    continue;
                }
                Some('\\') => match self.advance() {
                    // The value continues in the next line, and blanks before that are part of it.
                    // The end of the file ends a line.
                    Some('\n') | None => {}
                    Some('t') => value.push('\t'),
                    Some('b') => value.push('\x08'),
                    Some('n') => value.push('\n'),
                    Some(c @ ('\\' | '"')) => value.push(c),
                    _ => return syntax(place, "git knows no such escape"),
                },
                Some(c) => value.push(c),
            }
            end = value.len();
        }
        value.truncate(end);
        Ok(value)
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\x0b' | '\x0c')
}
