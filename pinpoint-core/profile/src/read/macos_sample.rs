//! The text of `sample`, which macOS has.
//!
//! ```text
//! Analysis of sampling words (pid 1234) every 1 millisecond
//! …
//! Call graph:
//!     2589 Thread_1234567   DispatchQueue_1: com.apple.main-thread  (serial)
//!     + 2589 start  (in dyld) + 2360  [0x18a3b1f54]
//!     +   2589 main  (in words) + 40  [0x100003f00]  words.c:12
//!     +     ! 1200 hash  (in words) + 4,8,...  [0x100003e10,0x100003e14,...]
//!
//! Total number in stack (recursive counted multiple, when >=5):
//! ```
//!
//! A tree of functions, each with the samples that it and those below it have; how far a line is
//! indented says what it belongs to. What its callees do not have is a function's own. After
//! Apple's manual page `sample(1)` and published outputs.

use super::misshapen;
use crate::builder::Builder;
use crate::{
    Frame, FrameId, Profile, ProfileFormat, ProfileUnit, ProfileWarning, ReadProfileError, StackId,
    Stacks, ThreadId,
};

const FORMAT: ProfileFormat = ProfileFormat::MacosSample;

const HEADER: &str = "Analysis of sampling ";

const BINARIES: &str = "Binary Images:";

pub(crate) fn recognize(beginning: &str) -> bool {
    beginning
        .lines()
        .take(20)
        .any(|line| line.starts_with(HEADER))
}

/// A function whose callees may follow.
struct Open {
    indent: usize,
    stack: StackId,
    thread: ThreadId,
    /// The samples that no callee has so far.
    own: u64,
    line: usize,
}

pub(crate) fn read(text: &str) -> Result<Profile, ReadProfileError> {
    let mut builder = Builder::default();
    let (mut interval, mut in_graph, mut ended) = (1e6, false, false);
    let mut open: Vec<Open> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(header) = line.strip_prefix(HEADER) {
            interval = nanoseconds(header)
                .ok_or_else(|| misshapen(FORMAT, index, 1, "it does not say how often"))?;
        } else if line.starts_with("Call graph:") {
            in_graph = true;
        } else if line.starts_with(BINARIES) {
            ended = true;
            break;
        } else if in_graph && line.trim().is_empty() {
            in_graph = false;
        } else if in_graph {
            let (indent, count, function) = row(line)
                .ok_or_else(|| misshapen(FORMAT, index, 1, "no count and function in this line"))?;
            while let Some(done) = open.pop_if(|open| open.indent >= indent) {
                builder.sample(done.stack, done.thread, done.own as f64 * interval);
            }
            let (parent, thread) = match open.last_mut() {
                Some(parent) => {
                    parent.own = parent.own.checked_sub(count).ok_or_else(|| {
                        let line = parent.line + 1;
                        let problem = format!("more samples than its caller in line {line} has");
                        misshapen(FORMAT, index, indent + 1, problem)
                    })?;
                    let frame = frame(&mut builder, function);
                    (builder.stack(parent.stack, frame), parent.thread)
                }
                // A thread is no function.
                None => (Stacks::ROOT, builder.thread(thread_name(function))),
            };
            open.push(Open {
                indent,
                stack: parent,
                thread,
                own: count,
                line: index,
            });
        }
    }
    for done in open {
        builder.sample(done.stack, done.thread, done.own as f64 * interval);
    }
    if !ended {
        builder.warn(ProfileWarning::NoLastLine { line: BINARIES });
    }
    builder.finish(
        FORMAT,
        ProfileUnit::Nanoseconds,
        "check that the program ran while it was sampled",
    )
}

/// The interval in `words (pid 1234) every 1 millisecond`.
fn nanoseconds(header: &str) -> Option<f64> {
    let (_, every) = header.rsplit_once(" every ")?;
    let (number, unit) = every.trim().split_once(' ')?;
    let unit = match unit.trim_end_matches('s') {
        "microsecond" => 1e3,
        "millisecond" => 1e6,
        "second" => 1e9,
        _ => return None,
    };
    let interval = number.parse::<f64>().ok()? * unit;
    (interval > 0.0).then_some(interval)
}

/// The indentation, the count and the rest of a line of the graph.
fn row(line: &str) -> Option<(usize, u64, &str)> {
    let content = line.trim_start_matches([' ', '+', '!', ':', '|']);
    let (count, function) = content.split_once(' ')?;
    let indent = line.len() - content.len();
    Some((indent, count.parse().ok()?, function.trim()))
}

/// `Thread_1234567   DispatchQueue_1: com.apple.main-thread  (serial)` without its number.
fn thread_name(text: &str) -> &str {
    match text.split_once(char::is_whitespace) {
        Some((_, name)) => name.trim_start().trim_start_matches(": "),
        None => text,
    }
}

/// `main  (in words) + 40  [0x100003f00]  words.c:12`
fn frame(builder: &mut Builder, text: &str) -> FrameId {
    let (name, rest) = text.split_once("  (in ").unwrap_or((text, ""));
    let (module, rest) = rest.split_once(')').unwrap_or(("", rest));
    let source = rest.rsplit_once("]  ").map_or("", |(_, source)| source);
    let file = source.rsplit_once(':').map_or("", |(file, _)| file);
    let frame = Frame {
        name: builder.name(if name == "???" { "" } else { name }),
        module: builder.name(module),
        file: builder.name(file),
        ..Frame::default()
    };
    builder.frame(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Analysis of sampling words (pid 1234) every 1 millisecond
Process:         words [1234]
----

Call graph:
    2589 Thread_1234567   DispatchQueue_1: com.apple.main-thread  (serial)
    + 2589 start  (in dyld) + 2360  [0x18a3b1f54]
    +   2589 main  (in words) + 40,20  [0x100003f00,0x100003ef0]  words.c:12
    +     ! 1200 hash(char const*)  (in words) + 4,8,...  [0x100003e10,0x100003e14,...]
    +     ! : 200 ???  (in libc.dylib)  load address 0x18a3b0000 + 0x20  [0x18a3b0020]
    +     1000 count  (in words) + 4  [0x100003e20]
    11 Thread_1234568
      11 start_wqthread  (in libsystem_pthread.dylib) + 8  [0x18a5e0e5c]

Total number in stack (recursive counted multiple, when >=5):

Sort by top of stack, same collapsed (when >= 5):
        hash(char const*)  (in words)        1000

Binary Images:
       0x100000000 -        0x100003fff +words (0) <ABC> /tmp/words
";

    #[test]
    fn what_callees_do_not_have_is_a_functions_own() {
        let profile = read(TEXT).unwrap();
        // All samples of both threads.
        assert_eq!(profile.total(), 2_600e6);
        let own = profile.costs().own;
        let own = |name: &str| {
            let at = profile.frame_ids().position(|id| profile.name(id) == name);
            own[at.unwrap()]
        };
        assert_eq!((own("hash(char const*)"), own("count")), (1_000e6, 1_000e6));
        assert_eq!((own("main"), own(""), own("start")), (389e6, 200e6, 0.0));
        let threads: Vec<_> = profile
            .threads
            .iter()
            .map(|id| profile.names.get(*id))
            .collect();
        assert_eq!(
            threads[0],
            "DispatchQueue_1: com.apple.main-thread  (serial)"
        );
        let main = profile
            .frame_ids()
            .find(|id| profile.name(*id) == "main")
            .unwrap();
        assert_eq!(profile.names.get(profile.frame(main).file), "words.c");
        assert_eq!(profile.names.get(profile.frame(main).module), "words");
        assert!(profile.warnings.is_empty());
    }

    #[test]
    fn a_callee_with_more_samples_than_its_caller_is_refused() {
        let error = read(&TEXT.replace("    11 Thread", "    10 Thread")).unwrap_err();
        assert!(error.to_string().contains("line 13"), "{error}");
    }

    #[test]
    fn text_without_its_end_warns() {
        let profile = read(TEXT.split("Sort by").next().unwrap()).unwrap();
        let warning = ProfileWarning::NoLastLine { line: BINARIES };
        assert_eq!(profile.warnings, [warning]);
    }
}
