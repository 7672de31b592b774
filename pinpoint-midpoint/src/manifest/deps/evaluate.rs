//! The evaluation of the subset's expressions.
//!
//! As gclient evaluates them: every string literal goes through `str.format`
//! with the variables, so that `'{name}'` and `Var('name')` mean the same.

use std::collections::BTreeMap;

use super::fault::Fault;
use super::parser::{Expression, Kind};
use crate::manifest::Problem;

/// The most text that an evaluation may produce. Nested strings would grow without bounds
/// otherwise.
const MAX_TEXT: usize = 16 << 20;

/// Variables that gclient itself gives a value, which depends on the machine.
const BUILT_IN: [&str; 17] = [
    "checkout_android",
    "checkout_arm",
    "checkout_arm64",
    "checkout_chromeos",
    "checkout_fuchsia",
    "checkout_ios",
    "checkout_linux",
    "checkout_mac",
    "checkout_mips",
    "checkout_mips64",
    "checkout_ppc",
    "checkout_s390",
    "checkout_win",
    "checkout_x64",
    "checkout_x86",
    "host_cpu",
    "host_os",
];

/// Checks whether gclient itself gives the variable its value.
pub(super) fn is_built_in(name: &str) -> bool {
    BUILT_IN.contains(&name)
}

/// A value and the offset of its expression.
#[derive(Debug, Clone)]
pub(super) struct Value {
    /// The start of the expression, in bytes from the start of the file.
    pub(super) offset: usize,
    /// Its contents.
    pub(super) data: Data,
}

/// The kinds of expressions.
#[derive(Debug, Clone)]
pub(super) enum Data {
    None,
    Bool(bool),
    Integer(i64),
    String(String),
    List(Vec<Value>),
    Tuple(Vec<Value>),
    Dict(BTreeMap<String, Value>),
}

impl Data {
    /// Its kind in messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "True or False",
            Self::Integer(_) => "a number",
            Self::String(_) => "a string",
            Self::List(_) => "a list",
            Self::Tuple(_) => "a tuple",
            Self::Dict(_) => "a dictionary",
        }
    }
}

impl Value {
    pub(super) fn string(self) -> Result<String, Fault> {
        match self.data {
            Data::String(text) => Ok(text),
            other => Err(Fault::wrong_kind(self.offset, "a string", &other)),
        }
    }

    pub(super) fn list(self) -> Result<Vec<Self>, Fault> {
        match self.data {
            Data::List(items) | Data::Tuple(items) => Ok(items),
            other => Err(Fault::wrong_kind(self.offset, "a list", &other)),
        }
    }

    pub(super) fn dict(self) -> Result<BTreeMap<String, Self>, Fault> {
        match self.data {
            Data::Dict(entries) => Ok(entries),
            other => Err(Fault::wrong_kind(self.offset, "a dictionary", &other)),
        }
    }
}

/// The variables of a file, by name.
#[derive(Debug, Default)]
pub(super) struct Variables(pub(super) BTreeMap<String, Value>);

impl Variables {
    /// The value of `{name}`. A built-in variable is left unexpanded: it depends on the machine
    /// that builds.
    fn text(&self, name: &str, offset: usize) -> Result<String, Fault> {
        if is_built_in(name) {
            return Ok(format!("{{{name}}}"));
        }
        match self.0.get(name).map(|value| &value.data) {
            Some(Data::String(text)) => Ok(text.clone()),
            Some(Data::Bool(true)) => Ok("True".into()),
            Some(Data::Bool(false)) => Ok("False".into()),
            Some(other) => Err(Fault::wrong_kind(offset, "a string", other)),
            None => Err(unknown_variable(name, offset)),
        }
    }
}

fn unknown_variable(name: &str, offset: usize) -> Fault {
    Fault::meaning(
        offset,
        format!("`{name}` is used as a variable here, and `vars` does not define it"),
    )
}

/// Evaluates expressions, and counts the text that it makes.
#[derive(Debug, Default)]
pub(super) struct Evaluator {
    made: usize,
}

impl Evaluator {
    /// The value of an expression. Without variables, strings stay as they are and `Var('name')` is
    /// `'{name}'`: `vars` itself is read this way.
    pub(super) fn evaluate(
        &mut self,
        expression: &Expression<'_>,
        variables: Option<&Variables>,
    ) -> Result<Value, Fault> {
        let offset = expression.offset;
        let data = match &expression.kind {
            Kind::None => Data::None,
            Kind::Bool(value) => Data::Bool(*value),
            Kind::Integer(value) => Data::Integer(*value),
            Kind::Str(text) => Data::String(text.to_string()),
            Kind::String(text) => Data::String(match variables {
                None => text.to_string(),
                Some(variables) => self.format(text, offset, variables)?,
            }),
            Kind::List(items) => Data::List(self.all(items, variables)?),
            Kind::Tuple(items) => Data::Tuple(self.all(items, variables)?),
            Kind::Dict(entries) => Data::Dict(self.dict(entries, variables)?),
            Kind::Var(name) => self.variable(name, variables)?,
            Kind::Sum(operands) => self.fold(operands, variables, Self::add)?,
            Kind::Format(operands) => self.fold(operands, variables, Self::percent)?,
        };
        Ok(Value { offset, data })
    }

    fn all(
        &mut self,
        items: &[Expression<'_>],
        variables: Option<&Variables>,
    ) -> Result<Vec<Value>, Fault> {
        items
            .iter()
            .map(|item| self.evaluate(item, variables))
            .collect()
    }

    fn dict(
        &mut self,
        entries: &[(Expression<'_>, Expression<'_>)],
        variables: Option<&Variables>,
    ) -> Result<BTreeMap<String, Value>, Fault> {
        let mut dict = BTreeMap::new();
        for (key, value) in entries {
            let name = self.evaluate(key, variables)?.string()?;
            if dict.contains_key(&name) {
                return Err(Fault::meaning(
                    key.offset,
                    format!("`{name}` is a key twice, and gclient refuses that"),
                ));
            }
            dict.insert(name, self.evaluate(value, variables)?);
        }
        Ok(dict)
    }

    fn variable(
        &mut self,
        name: &Expression<'_>,
        variables: Option<&Variables>,
    ) -> Result<Data, Fault> {
        let offset = name.offset;
        let name = self.evaluate(name, variables)?.string()?;
        let Some(variables) = variables.filter(|_| !is_built_in(&name)) else {
            return Ok(Data::String(format!("{{{name}}}")));
        };
        let value = variables
            .0
            .get(&name)
            .ok_or_else(|| unknown_variable(&name, offset))?;
        if let Data::String(text) = &value.data {
            self.count(text.len(), offset)?;
        }
        Ok(value.data.clone())
    }

    fn fold(
        &mut self,
        operands: &[Expression<'_>],
        variables: Option<&Variables>,
        apply: fn(&mut Self, Data, Value) -> Result<Data, Fault>,
    ) -> Result<Data, Fault> {
        let mut folded = None;
        for operand in operands {
            let value = self.evaluate(operand, variables)?;
            folded = Some(match folded {
                None => value.data,
                Some(left) => apply(self, left, value)?,
            });
        }
        Ok(folded.unwrap_or(Data::None))
    }

    fn add(&mut self, left: Data, right: Value) -> Result<Data, Fault> {
        match (left, right.data) {
            (Data::String(mut left), Data::String(text)) => {
                self.count(text.len(), right.offset)?;
                left.push_str(&text);
                Ok(Data::String(left))
            }
            (Data::List(mut left), Data::List(items)) => {
                left.extend(items);
                Ok(Data::List(left))
            }
            (Data::Tuple(mut left), Data::Tuple(items)) => {
                left.extend(items);
                Ok(Data::Tuple(left))
            }
            (Data::Integer(left), Data::Integer(value)) => left
                .checked_add(value)
                .map(Data::Integer)
                .ok_or_else(|| Fault::unsupported(right.offset, "a sum of more than 63 bits")),
            (left, data) => Err(Fault::meaning(
                right.offset,
                format!("{} cannot be added to {}", data.kind(), left.kind()),
            )),
        }
    }

    /// `'%s' % value`, `'%s@%s' % (url, revision)`.
    ///
    /// Supports `%s` and `%d` without width or flags, from "printf-style String Formatting" in the
    /// Python Library Reference.
    fn percent(&mut self, left: Data, right: Value) -> Result<Data, Fault> {
        let offset = right.offset;
        let Data::String(template) = left else {
            return Err(Fault::unsupported(
                offset,
                format!("the operator `%` after {}", left.kind()),
            ));
        };
        let mut values = match right.data {
            Data::Tuple(items) => items,
            data => vec![Value { offset, data }],
        }
        .into_iter();
        let mut text = String::new();
        let mut rest = template.as_str();
        while let Some(at) = rest.find('%') {
            text.push_str(&rest[..at]);
            let conversion = rest[at + 1..].chars().next();
            match conversion {
                Some('%') => text.push('%'),
                Some('s' | 'd') => {
                    let value = values.next().ok_or_else(|| {
                        Fault::meaning(offset, "there are fewer values than places for them")
                    })?;
                    match value.data {
                        Data::Integer(number) => text.push_str(&number.to_string()),
                        Data::String(string) if conversion == Some('s') => text.push_str(&string),
                        data => {
                            return Err(Fault::unsupported(
                                value.offset,
                                format!("{} in the place of a `%` conversion", data.kind()),
                            ));
                        }
                    }
                }
                Some(other) => {
                    return Err(Fault::unsupported(
                        offset,
                        format!("the conversion `%{other}`"),
                    ));
                }
                None => return Err(Fault::meaning(offset, "the format ends in a single `%`")),
            }
            rest = &rest[at + 2..];
        }
        text.push_str(rest);
        if values.next().is_some() {
            return Err(Fault::meaning(
                offset,
                "there are more values than places for them",
            ));
        }
        self.count(text.len(), offset)?;
        Ok(Data::String(text))
    }

    /// `str.format` with the variables. Of "Format String Syntax" in the Python
    /// Library Reference, plain names only: no indices, attributes, conversions
    /// and format specifications.
    pub(super) fn format(
        &mut self,
        template: &str,
        offset: usize,
        variables: &Variables,
    ) -> Result<String, Fault> {
        let mut text = String::with_capacity(template.len());
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                text.push_str(brace);
                rest = after;
                continue;
            }
            if brace == "}" {
                return Err(Fault::meaning(
                    offset,
                    "a single `}` stands in this string; write `}}` for a brace",
                ));
            }
            let end = rest.find('}').ok_or_else(|| {
                Fault::meaning(
                    offset,
                    "a single `{` stands in this string; write `{{` for a brace",
                )
            })?;
            let name = &rest[..end];
            if name.contains(['{', '[', '.', '!', ':']) {
                return Err(Fault::unsupported(
                    offset,
                    format!("`{{{name}}}`, which is more than the name of a variable,"),
                ));
            }
            let value = variables.text(name, offset)?;
            self.count(value.len(), offset)?;
            text.push_str(&value);
            rest = &rest[end + 1..];
        }
        text.push_str(rest);
        self.count(text.len(), offset)?;
        Ok(text)
    }

    /// Rejects more text than the limit.
    pub(super) fn count(&mut self, bytes: usize, offset: usize) -> Result<(), Fault> {
        self.made = self.made.saturating_add(bytes);
        if self.made > MAX_TEXT {
            return Err(Fault {
                offset,
                problem: Problem::TooLarge {
                    what: "bytes of text made by its expressions",
                    limit: MAX_TEXT,
                },
            });
        }
        Ok(())
    }
}
