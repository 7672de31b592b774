//! Extracts the docstrings of the stub, so that they are written once.
//!
//! For each function, class and method with a docstring, its text is written to a file with its
//! name (`wilcoxon`, `Bisection`, `Bisection.next`) for the attribute `#[doc = include_str!(…)]`.

use std::path::{Path, PathBuf};
use std::{env, fs};

const STUB: &str = "python/pinpoint/_pinpoint.pyi";

fn main() {
    println!("cargo::rerun-if-changed={STUB}");
    let stub = fs::read_to_string(STUB).expect("the stub can be read");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let mut class = None;
    let mut name = None;
    let mut lines = stub.lines();
    while let Some(line) = lines.next() {
        let text = line.trim_start();
        let depth = line.len() - text.len();
        if let Some(definition) = text.strip_prefix("class ") {
            class = Some(identifier(definition));
            name = class.clone();
        } else if let Some(definition) = text.strip_prefix("def ") {
            let own = identifier(definition);
            name = Some(match &class {
                Some(class) if depth > 0 => format!("{class}.{own}"),
                _ => own,
            });
        } else if let Some(first) = text.strip_prefix("\"\"\"") {
            let doc = docstring(first, depth, &mut lines);
            if let Some(name) = name.take() {
                write(&out.join(name), &doc);
            }
        }
    }
}

fn identifier(definition: &str) -> String {
    let end = definition.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    definition[..end.unwrap_or(definition.len())].to_owned()
}

/// The rest of a docstring, without its indentation.
fn docstring<'a>(first: &str, depth: usize, lines: &mut impl Iterator<Item = &'a str>) -> String {
    if let Some(only) = first.strip_suffix("\"\"\"") {
        return only.to_owned();
    }
    let mut doc = first.to_owned();
    for line in lines {
        doc.push('\n');
        let line = line.get(depth..).unwrap_or_default();
        if let Some(last) = line.strip_suffix("\"\"\"") {
            doc.push_str(last);
            break;
        }
        doc.push_str(line);
    }
    doc.trim_end().to_owned()
}

fn write(path: &Path, doc: &str) {
    fs::write(path, doc).expect("the output directory can be written");
}
