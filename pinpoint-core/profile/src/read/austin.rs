//! The text of Austin, the sampler for Python.
//!
//! ```text
//! # austin: 3.7.0
//! # interval: 10000
//! # mode: wall
//!
//! P31356;T0:31356;/srv/words.py:<module>:12;/srv/words.py:count:8 10095
//!
//! # duration: 4714925
//! ```
//!
//! Process and thread, then the functions from the outermost, with the line that was sampled, and
//! the value: microseconds, or bytes where memory is sampled. The mode `full` has three values:
//! the time, whether the thread was idle, and bytes; there the time counts. The binary form, MOJO,
//! is converted with `mojo2austin`. Checked with Austin 3.7.0.

use hashbrown::HashMap;

use super::{is_address, misshapen};
use crate::builder::Builder;
use crate::{
    Frame, FrameId, Profile, ProfileFormat, ProfileUnit, ProfileWarning, ReadProfileError, Stacks,
    ThreadId,
};

const FORMAT: ProfileFormat = ProfileFormat::Austin;

/// Returns true if the first line is Austin's header or one of its stacks.
pub(crate) fn recognize(beginning: &str) -> bool {
    let first = beginning.lines().find(|line| !line.trim().is_empty());
    first.is_some_and(|line| line.starts_with("# austin:") || thread(line).is_some())
}

/// Splits `P31356;T0:31356` from the stack after it.
fn thread(line: &str) -> Option<(&str, &str)> {
    let process = line.strip_prefix('P')?;
    let (process, rest) = process.split_once(';')?;
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !number(process) || !rest.starts_with('T') {
        return None;
    }
    let end = rest.find([';', ' '])?;
    // Austin says in which interpreter, and some versions the thread in hexadecimal.
    let id = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_hexdigit() || b":-x".contains(&b))
    };
    id(rest.get(1..end)?).then(|| line.split_at(line.len() - rest.len() + end))
}

pub(crate) fn read(text: &str) -> Result<Profile, ReadProfileError> {
    let mut builder = Builder::default();
    let mut threads: HashMap<&str, ThreadId> = HashMap::new();
    let mut frames: HashMap<&str, FrameId> = HashMap::new();
    let (mut unit, mut factor) = (ProfileUnit::Nanoseconds, 1e3);
    let mut ended = false;
    for (index, line) in text.lines().enumerate() {
        if let Some(note) = line.strip_prefix('#') {
            match note
                .split_once(':')
                .map(|(name, value)| (name.trim(), value.trim()))
            {
                Some(("mode", "memory")) => (unit, factor) = (ProfileUnit::Bytes, 1.0),
                Some(("duration", _)) => ended = true,
                _ => {}
            }
            continue;
        }
        if line.trim().is_empty() {
            continue;
        }
        let problem = |problem| misshapen(FORMAT, index, 1, problem);
        let (thread, rest) =
            thread(line).ok_or_else(|| problem("no process and thread begin the line"))?;
        let (stack, values) = rest
            .rsplit_once(' ')
            .ok_or_else(|| problem("a stack without a value"))?;
        let value = values.split(',').next().unwrap_or(values).parse::<u64>();
        let value = value.map_err(|_| problem("the value is not a count"))?;
        let thread = *threads
            .entry(thread)
            .or_insert_with(|| builder.thread(thread));
        let mut leaf = Stacks::ROOT;
        for function in stack.split(';').filter(|function| !function.is_empty()) {
            let frame = *frames
                .entry(function)
                .or_insert_with(|| frame(&mut builder, function));
            leaf = builder.stack(leaf, frame);
        }
        builder.sample(leaf, thread, value as f64 * factor);
    }
    if !ended {
        builder.warn(ProfileWarning::NoLastLine { line: "# duration" });
    }
    builder.finish(
        FORMAT,
        unit,
        "check that the program ran long enough to be sampled",
    )
}

/// `/srv/words.py:count:8`, in which the line is that of the sample.
fn frame(builder: &mut Builder, text: &str) -> FrameId {
    let parts = || {
        let (rest, line) = text.rsplit_once(':')?;
        line.parse::<u32>().ok()?;
        let (file, name) = rest.rsplit_once(':')?;
        Some((name, file))
    };
    let (name, file) = match text {
        ":GC:" => ("(garbage collector)", ""),
        _ => parts().unwrap_or((text, "")),
    };
    let unknown = name == ":INVALID:" || is_address(name);
    let frame = Frame {
        name: builder.name(if unknown { "" } else { name }),
        file: builder.name(file),
        ..Frame::default()
    };
    builder.frame(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# austin: 3.7.0\n# interval: 10000\n# mode: wall\n\nP31;T0:31;/a b/w.py:<module>:12;/a b/w.py:count:8 10095\nP31;T0:-709;:INVALID:;:GC: 5\n\n# duration: 20000\n";

    #[test]
    fn values_are_microseconds() {
        let profile = read(TEXT).unwrap();
        assert_eq!(profile.total(), 10_100e3);
        assert_eq!(profile.threads.len(), 2);
        let stack: Vec<_> = profile.stacks.from_leaf(profile.samples[0].stack).collect();
        assert_eq!(profile.name(stack[0]), "count");
        assert_eq!(profile.names.get(profile.frame(stack[1]).file), "/a b/w.py");
        assert!(profile.warnings.is_empty());
    }

    #[test]
    fn other_modes_have_other_values() {
        let memory = read(&TEXT.replace("mode: wall", "mode: memory")).unwrap();
        assert_eq!(
            (memory.total(), memory.unit),
            (10_100.0, ProfileUnit::Bytes)
        );
        let full = TEXT
            .replace("10095", "10095,0,-4096")
            .replace("mode: wall", "mode: full");
        assert_eq!(read(&full).unwrap().total(), 10_100e3);
        // Of a thread without functions.
        assert!(recognize("P31;T0:31 12976,0,0\n"));
    }

    #[test]
    fn text_without_its_end_warns() {
        let profile = read(TEXT.split("\n\n# duration").next().unwrap()).unwrap();
        let warning = ProfileWarning::NoLastLine { line: "# duration" };
        assert_eq!(profile.warnings, [warning]);
        let error = read(&TEXT.replace(":GC: 5", ":GC:")).unwrap_err();
        assert!(error.to_string().contains("line 6"), "{error}");
    }
}
