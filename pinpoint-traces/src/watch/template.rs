//! Texts with the parameters of a trace in them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::TraceId;

/// A text with places for a trace's parameters: `./bench --only {test}`. `{{` and `}}` stand for
/// the braces themselves.
///
/// Values of parameters hold only `[a-zA-Z0-9._-]`, so that they mean nothing to a shell.
///
/// ```
/// use pinpoint_traces::watch::Template;
///
/// let template: Template = "./bench --only {test}".parse()?;
/// assert_eq!(template.fill(&",arch=x86,test=sort,".parse()?)?, "./bench --only sort");
/// assert!(template.fill(&",arch=x86,".parse()?).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Part {
    Text(String),
    Key(String),
}

impl Template {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The keys that it names, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Key(key) => Some(&**key),
            Part::Text(_) => None,
        })
    }

    /// The text with a trace's values in it.
    ///
    /// # Errors
    ///
    /// [`TemplateError::LacksKey`] if the trace lacks a key.
    pub fn fill(&self, trace: &TraceId) -> Result<String, TemplateError> {
        let mut filled = String::new();
        for part in &self.parts {
            filled += match part {
                Part::Text(text) => text,
                Part::Key(key) => trace.get(key).ok_or_else(|| TemplateError::LacksKey {
                    template: self.text.clone(),
                    key: key.clone(),
                    trace: trace.clone(),
                })?,
            };
        }
        Ok(filled)
    }
}

impl FromStr for Template {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, TemplateError> {
        let wrong = || TemplateError::Braces(text.to_owned());
        let (mut parts, mut literal) = (Vec::new(), String::new());
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            literal += before;
            if let Some(after) = from.strip_prefix("{{") {
                (literal, rest) = (literal + "{", after);
            } else if let Some(after) = from.strip_prefix("}}") {
                (literal, rest) = (literal + "}", after);
            } else {
                let inner = from.strip_prefix('{').ok_or_else(wrong)?;
                let (key, after) = inner.split_once('}').ok_or_else(wrong)?;
                if key.is_empty() || !key.chars().all(crate::id::is_kept) {
                    return Err(wrong());
                }
                parts.push(Part::Text(std::mem::take(&mut literal)));
                parts.push(Part::Key(key.to_owned()));
                rest = after;
            }
        }
        parts.push(Part::Text(literal + rest));
        Ok(Self {
            text: text.to_owned(),
            parts,
        })
    }
}

impl fmt::Display for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl TryFrom<String> for Template {
    type Error = TemplateError;

    fn try_from(text: String) -> Result<Self, TemplateError> {
        text.parse()
    }
}

impl From<Template> for String {
    fn from(template: Template) -> Self {
        template.text
    }
}

/// A template that can't be read or filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A brace that is not part of `{key}`.
    #[error(
        "`{0}` has a brace that names no key: write `{{key}}`, and `{{{{` or `}}}}` for a brace"
    )]
    Braces(String),
    /// The trace does not have a key that the template names.
    #[error("`{template}` names `{key}`, which the trace `{trace}` lacks")]
    LacksKey {
        /// The template.
        template: String,
        /// The key.
        key: String,
        /// The trace.
        trace: TraceId,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_keys_or_doubled() {
        let trace = ",a=1,b=2,".parse().unwrap();
        let filled = |text: &str| text.parse::<Template>().unwrap().fill(&trace).unwrap();
        assert_eq!(filled("{a}-{b}{a}"), "1-21");
        assert_eq!(filled("{{a}} {b}"), "{a} 2");
        assert_eq!(filled(""), "");
        for wrong in ["{", "}", "a}", "{a", "{}", "{a b}", "{{a}", "{a{b}}"] {
            let error = wrong.parse::<Template>().unwrap_err();
            assert_eq!(error, TemplateError::Braces(wrong.to_owned()));
        }
        let template: Template = "{a} {c}".parse().unwrap();
        assert_eq!(template.keys().collect::<Vec<_>>(), ["a", "c"]);
        let error = template.fill(&trace).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`{a} {c}` names `c`, which the trace `,a=1,b=2,` lacks"
        );
    }
}
