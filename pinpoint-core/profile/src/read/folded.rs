//! Folded stacks, the input of flame graphs.
//!
//! ```text
//! main;parse;next 30
//! <module> (words.py:14);count (words.py:8) 5
//! ```
//!
//! A stack on each line, the outermost function first, and its number of samples. Python's
//! profilers write the file and line after the name; `perf`'s scripts write `_[k]` after functions
//! of the kernel. Lines that all end in two counts are the difference of two profiles, and refused:
//! a name may end in a number, but hardly all of them. Checked with py-spy 0.4.3 and inferno
//! 0.12.3.

use super::{is_address, misshapen};
use crate::builder::Builder;
use crate::symbol::KERNEL;
use crate::{Frame, FrameId, Profile, ProfileFormat, ProfileUnit, ReadProfileError};

const FORMAT: ProfileFormat = ProfileFormat::Folded;

/// Returns true if at least half of the first lines are stacks: the reader reports errors in the
/// others.
pub(crate) fn recognize(beginning: &str) -> bool {
    let lines = beginning.lines().filter(|line| !line.trim().is_empty());
    let (stacks, others): (Vec<_>, Vec<_>) = lines.take(10).partition(|line| split(line).is_ok());
    !stacks.is_empty() && stacks.len() >= others.len()
}

fn split(line: &str) -> Result<(&str, f64), &'static str> {
    let (stack, count) = line
        .trim_end()
        .rsplit_once(' ')
        .ok_or("a stack without a count")?;
    let count: f64 = count.parse().map_err(|_| "the count is not a number")?;
    if !(count >= 0.0 && count.is_finite()) {
        return Err("the count is negative or not finite");
    }
    Ok((stack.trim(), count))
}

pub(crate) fn read(text: &str) -> Result<Profile, ReadProfileError> {
    let mut builder = Builder::default();
    let thread = builder.thread("");
    let (mut lines, mut with_two_counts) = (0_usize, 0_usize);
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let (stack, count) =
            split(line).map_err(|problem| misshapen(FORMAT, index, line.len(), problem))?;
        lines += 1;
        with_two_counts += usize::from(split(stack).is_ok_and(|(stack, _)| !stack.is_empty()));
        let mut leaf = crate::Stacks::ROOT;
        for name in stack.split(';').filter(|name| !name.is_empty()) {
            let frame = frame(&mut builder, name);
            leaf = builder.stack(leaf, frame);
        }
        builder.sample(leaf, thread, count);
    }
    if lines > 0 && with_two_counts == lines {
        return Err(ReadProfileError::TwoSides);
    }
    builder.finish(
        FORMAT,
        ProfileUnit::Samples,
        "check that the program ran long enough to be sampled",
    )
}

fn frame(builder: &mut Builder, text: &str) -> FrameId {
    let (name, module, file) = parts(text);
    let frame = Frame {
        name: builder.name(name),
        module: builder.name(module),
        file: builder.name(file),
        ..Frame::default()
    };
    builder.frame(frame)
}

/// The name, module and file of a function as it is written. Unknown parts are empty.
pub(crate) fn parts(text: &str) -> (&str, &str, &str) {
    let (text, module) = match text.strip_suffix("_[k]") {
        Some(name) => (name, KERNEL),
        None => (
            ["_[j]", "_[i]", "_[w]"]
                .iter()
                .find_map(|suffix| text.strip_suffix(suffix))
                .unwrap_or(text),
            "",
        ),
    };
    let (name, file) = located(text);
    let unknown = name == "[unknown]" || is_address(name);
    (if unknown { "" } else { name }, module, file)
}

/// `name (file:line)` in its parts. The line is that of the sample, so it is not part of the
/// function.
fn located(text: &str) -> (&str, &str) {
    let parts = || {
        let (name, place) = text.strip_suffix(')')?.rsplit_once(" (")?;
        let (file, line) = place.rsplit_once(':')?;
        line.parse::<u32>().ok()?;
        Some((name, file))
    };
    parts().unwrap_or((text, ""))
}
