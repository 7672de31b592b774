//! Folded stacks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::{ExportError, Exported, MOST_STEPS};
use crate::identity::Function;
use crate::read::folded::parts;
use crate::{StackTree, symbol};

impl StackTree {
    pub(super) fn folded(&self, exported: Exported) -> Result<Vec<u8>, ExportError> {
        let names = names(&self.functions);
        let (mut text, mut left) = (String::new(), MOST_STEPS);
        for (place, node) in self.weighed(exported) {
            let stack = self.stack(place, &mut left)?;
            for (position, function) in stack.iter().rev().enumerate() {
                if position > 0 {
                    text.push(';');
                }
                text.push_str(&names[*function]);
            }
            // A mean over runs may be less than one. Never fails for a string.
            let _ = match exported {
                Exported::Difference => writeln!(text, " {} {}", node.base, node.experiment),
                side => writeln!(text, " {}", node.weight(side)),
            };
        }
        Ok(text.into_bytes())
    }
}

/// The detail after a function's name; the number is its place among those of this name.
type Detail = fn(&Function, usize) -> String;

/// From the least to the most.
const DETAILS: [Detail; 4] = [
    // As Python's profilers have it.
    |function, _| match &function.file {
        Some(file) => format!(" ({file}:{})", function.line.unwrap_or(0)),
        None => String::new(),
    },
    |function, _| match &function.module {
        Some(module) => format!(" ({module})"),
        None => String::new(),
    },
    |function, _| format!(" ({})", known(function)),
    |function, number| format!(" ({} #{number})", known(function)),
];

fn known(function: &Function) -> String {
    let module = function.module.as_deref().unwrap_or_default();
    let file = function.file.as_deref().unwrap_or_default();
    let line = function.line.unwrap_or(0);
    format!("{module} {file} {line}").trim_start().to_owned()
}

/// The names of functions, each with a detail where several would be read as one.
fn names(functions: &[Function]) -> Vec<String> {
    let mut names: Vec<String> = functions.iter().map(|it| name(it, "")).collect();
    let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (place, name) in names.iter().enumerate() {
        alike.entry(as_read(name)).or_default().push(place);
    }
    for places in alike.into_values().filter(|places| places.len() > 1) {
        let with = |detail: Detail| -> Vec<String> {
            let named = places.iter().enumerate().map(|(number, &place)| {
                let function = &functions[place];
                name(function, &detail(function, number + 1))
            });
            named.collect()
        };
        let differ = |names: &Vec<String>| {
            let read: BTreeSet<_> = names.iter().map(|name| as_read(name)).collect();
            read.len() == names.len()
        };
        let detailed = DETAILS.into_iter().map(with).find(differ);
        for (&place, detailed) in places.iter().zip(detailed.unwrap_or_default()) {
            names[place] = detailed;
        }
    }
    names
}

fn name(function: &Function, detail: &str) -> String {
    let is_kernel = function.module.as_deref() == Some(symbol::KERNEL);
    let kernel = if is_kernel { "_[k]" } else { "" };
    // A name cannot hold the separators of functions and lines.
    format!("{}{detail}{kernel}", function.name).replace([';', '\n', '\r'], ":")
}

/// The parts that distinguish a function when it is read.
fn as_read(name: &str) -> (String, String, String) {
    let (name, module, file) = parts(name);
    (name.to_owned(), module.to_owned(), symbol::file(file))
}
