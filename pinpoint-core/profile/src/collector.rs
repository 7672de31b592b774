//! Go's garbage collector as one function.
//!
//! V8's profiles name their collector as one function, `(garbage collector)`. In Go's, the
//! collector is some forty functions of the runtime. When a program makes more garbage, half of the
//! difference may be in these, each of them small, so that some other function could come first
//! that only became slower because the collector ran at the same time. So in a comparison, the
//! collector's functions and all that they call count as one function, named as V8 names it:
//!
//! ```text
//! words.parse › runtime.mallocgc › runtime.gcAssistAlloc › runtime.systemstack › runtime.gcDrainN
//! words.parse › runtime.mallocgc › (garbage collector)
//! ```
//!
//! Allocating is not collecting: `runtime.mallocgc` stays. So does the kernel, where a profile has
//! its functions. Go calls none of the program's own functions from its collector: finalizers and
//! cleanups have separate goroutines. Where calls are counted, stacks show no callers, and all
//! functions stay. The names are those of Go 1.21 to 1.26.

use std::borrow::Cow;

use hashbrown::HashMap;

use super::{Frame, NameId, Profile, Stacks, symbol};

/// V8's name for its collector.
pub(super) const COLLECTOR: &str = "(garbage collector)";

/// The prefixes of the names of the collector's functions: those that goroutines start in, those
/// through which the program's functions enter it, and its inner loops.
const GO: [&str; 24] = [
    "runtime.(*activeSweep)",
    "runtime.(*gcCPULimiterState)",
    "runtime.(*gcControllerState)",
    "runtime.(*gcWork)",
    "runtime.(*mheap).reclaim",
    "runtime.(*mspan).ensureSwept",
    "runtime.(*pageAlloc).scavenge",
    "runtime.(*sweep",
    "runtime.bgscavenge",
    "runtime.bgsweep",
    "runtime.bulkBarrier",
    "runtime.deductSweepCredit",
    "runtime.gcmarknewobject",
    "runtime.greyobject",
    "runtime.markroot",
    "runtime.scanConservative",
    "runtime.scanObject",
    "runtime.scanSpan",
    "runtime.scanblock",
    "runtime.scanobject",
    "runtime.scanstack",
    "runtime.sweepone",
    "runtime.typeBitsBulkBarrier",
    "runtime.wbBufFlush",
];

/// The prefix of most of its functions, before a capital letter: `runtime.gcDrain`, but not
/// `runtime.gcallers`, which gathers callers.
const GO_COLLECTOR: &str = "runtime.gc";

/// Written in assembly, and in no package.
const GO_WRITE_BARRIER: &str = "gcWriteBarrier";

/// The suffixes of sources that may be Go. In JavaScript, `runtime.gcCount` is a function like
/// others.
const GO_SOURCES: [&str; 3] = [".go", ".s", ".wasm"];

/// Returns true if a function belongs to Go's collector, by its name and its source file, which may
/// be empty.
pub(super) fn is_gos(name: &str, file: &str) -> bool {
    let is_source = file.is_empty()
        || file.starts_with("wasm://")
        || GO_SOURCES.iter().any(|end| file.ends_with(end));
    let is_named = || {
        let rest = name.strip_prefix(GO_COLLECTOR);
        name == GO_WRITE_BARRIER
            || rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_uppercase()))
            || GO.iter().any(|start| name.starts_with(start))
    };
    is_source && is_named()
}

/// The profiles, in each of which Go's collector is one function of its program, for comparisons:
/// without times. The ids of frames stay.
///
/// # Cost
///
/// Proportional to the functions. Where one of the profiles has such a collector, all are copied,
/// and the cost is proportional to their stacks and samples, too.
pub(super) fn gathered(profiles: &[Profile]) -> Cow<'_, [Profile]> {
    let is_own: Vec<Vec<bool>> = profiles.iter().map(is_collector).collect();
    if !is_own.iter().flatten().any(|is_own| *is_own) {
        return Cow::Borrowed(profiles);
    }
    let all = profiles.iter().zip(&is_own);
    all.map(|(profile, is_own)| gather(profile, is_own))
        .collect()
}

/// Returns true for each frame that belongs to Go's collector.
fn is_collector(profile: &Profile) -> Vec<bool> {
    if !profile.calls.is_empty() {
        return Vec::new();
    }
    let text = |id| profile.names.get(id);
    let frames = profile.frames.iter();
    frames
        .map(|frame| is_gos(text(frame.name), text(frame.file)))
        .collect()
}

fn gather(profile: &Profile, is_own: &[bool]) -> Profile {
    let mut names = profile.names.clone();
    // A gigabyte of names leaves no room for this one, and then a frame has none.
    let name = names.intern(COLLECTOR).unwrap_or(NameId::EMPTY);
    let mut frames = profile.frames.clone();
    for (frame, _) in frames.iter_mut().zip(is_own).filter(|(_, is_own)| **is_own) {
        let module = frame.module;
        *frame = Frame {
            name,
            module,
            ..Frame::default()
        };
    }
    let is_own = |frame: u32| is_own.get(frame as usize).copied().unwrap_or_default();
    let is_kernel: Vec<bool> = (profile.frames.iter())
        .map(|frame| symbol::module(profile.names.get(frame.module)) == symbol::KERNEL)
        .collect();
    let mut stacks = Stacks::new();
    let mut index: HashMap<(u32, u32), u32> = HashMap::new();
    let count = profile.stacks.len();
    let (mut places, mut collects) = (vec![0; count], vec![false; count]);
    for stack in 1..count {
        let parent = profile.stacks.parents[stack] as usize;
        let frame = profile.stacks.frames[stack];
        collects[stack] = is_own(frame) || collects[parent] && !is_kernel[frame as usize];
        places[stack] = if collects[stack] && collects[parent] {
            places[parent]
        } else {
            *index.entry((places[parent], frame)).or_insert_with(|| {
                stacks.parents.push(places[parent]);
                stacks.frames.push(frame);
                stacks.len() as u32 - 1
            })
        };
    }
    let mut samples = profile.samples.clone();
    for sample in &mut samples {
        sample.stack.0 = places[sample.stack.0 as usize];
    }
    Profile {
        format: profile.format,
        unit: profile.unit.clone(),
        names,
        frames,
        source_mapped: Vec::new(),
        stacks,
        samples,
        begin: profile.begin,
        times: Vec::new(),
        threads: profile.threads.clone(),
        marks: Vec::new(),
        pages: profile.pages.clone(),
        calls: profile.calls.clone(),
        warnings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{ExplainOptions, Explanation, Verdict, explain};

    /// Frames of folded stacks, with the files that they are of.
    const FRAMES: [&str; 8] = [
        "words.parse (/work/words.go:1)",
        "runtime.mallocgc (/usr/local/go/src/runtime/malloc.go:1)",
        "runtime.systemstack (/usr/local/go/src/runtime/asm_amd64.s:1)",
        "runtime.futex (/usr/local/go/src/runtime/sys_linux_amd64.s:1)",
        "runtime.gcAssistAlloc (/usr/local/go/src/runtime/mgcmark.go:1)",
        "runtime.gcDrain (/usr/local/go/src/runtime/mgcmark.go:1)",
        "runtime.gcCount (/work/page.js:1)",
        "page_fault_[k]",
    ];
    const COLLECTS: [usize; 2] = [4, 5];
    const KERNEL: usize = 7;

    fn text(stacks: &[(Vec<usize>, u32)]) -> String {
        let line = |(stack, weight): &(Vec<usize>, u32)| {
            let names: Vec<&str> = stack.iter().map(|frame| FRAMES[*frame]).collect();
            format!("{} {weight}\n", names.join(";"))
        };
        stacks.iter().map(line).collect()
    }

    fn read(text: &str) -> Profile {
        Profile::read(text.as_bytes()).unwrap()
    }

    /// The stacks as names, with the cost of each.
    fn stacks(profile: &Profile) -> Vec<(Vec<String>, f64)> {
        let names = |stack| {
            let frames = profile.stacks.from_leaf(stack);
            let mut names: Vec<_> = frames.map(|it| profile.name(it).to_owned()).collect();
            names.reverse();
            names
        };
        let samples = profile.samples.iter();
        samples
            .map(|sample| (names(sample.stack), sample.weight))
            .collect()
    }

    proptest! {
        #[test]
        fn stacks_are_cut_at_the_collector(
            all in proptest::collection::vec(
                (proptest::collection::vec(0..FRAMES.len(), 1..9), 1..50_u32), 1..40,
            )
        ) {
            let profile = read(&text(&all));
            let found = gathered(std::slice::from_ref(&profile));
            // Straight from the definition, frame by frame.
            let mut expected = stacks(&profile);
            for ((names, _), (stack, _)) in expected.iter_mut().zip(&all) {
                let mut cut: Vec<String> = Vec::new();
                let mut collects = false;
                for (name, frame) in names.iter().zip(stack) {
                    let continues = collects && *frame != KERNEL;
                    let begins = COLLECTS.contains(frame);
                    match (begins || continues, collects) {
                        (true, true) => {}
                        (true, false) => cut.push(COLLECTOR.into()),
                        (false, _) => cut.push(name.clone()),
                    }
                    collects = begins || continues;
                }
                *names = cut;
            }
            prop_assert_eq!(stacks(&found[0]), expected);
            for frame in profile.frame_ids() {
                let name = profile.name(frame);
                let collects = COLLECTS.iter().any(|at| FRAMES[*at].starts_with(name));
                let expected = if collects { COLLECTOR } else { name };
                prop_assert_eq!(found[0].name(frame), expected);
            }
        }
    }

    #[test]
    fn what_has_no_collector_is_not_copied() {
        let profiles = [read(&text(&[(vec![0, 1, 2, 3, 6], 1)]))];
        assert!(matches!(gathered(&profiles), Cow::Borrowed(_)));
        let counted = "events: Ir\nfn=runtime.gcDrain\n1 1\ncfn=a\ncalls=1 2\n1 1\nfn=a\n2 1\n";
        assert!(matches!(gathered(&[read(counted)]), Cow::Borrowed(_)));
    }

    #[test]
    fn the_collectors_functions_are_known_by_their_names() {
        let go = "/usr/local/go/src/runtime/a.go";
        for (name, file, expected) in [
            ("runtime.gcBgMarkWorker.func2", go, true),
            ("runtime.gcmarknewobject", go, true),
            ("runtime.(*sweepLocked).sweep", go, true),
            ("runtime.(*mheap).reclaimChunk", go, true),
            ("runtime.bulkBarrierPreWriteSrcOnly", go, true),
            ("gcWriteBarrier", "/usr/local/go/src/runtime/a.s", true),
            ("runtime.gcDrain", "", true),
            ("runtime.gcDrain", "wasm://wasm/01ab", true),
            ("runtime.gcDrain", "https://example.com/main.wasm", true),
            ("runtime.gcDrain", "https://example.com/main.js", false),
            ("example.com/runtime.gcDrain", go, false),
            // Callers, counts, divisors, stacks and the allocation of marks.
            ("runtime.gcallers", go, false),
            ("runtime.gcount", go, false),
            ("runtime.gcd", go, false),
            ("runtime.gclinkptr.ptr", go, false),
            ("runtime.(*gcBitsArena).tryAlloc", go, false),
            ("runtime.mallocgc", go, false),
            ("gcWriteBarriers", go, false),
        ] {
            assert_eq!(is_gos(name, file), expected, "{name} {file}");
        }
    }

    /// Eight runs a side in which the collector's work is spread over many functions.
    fn more_garbage() -> Explanation {
        let side = |parse: u32, collector: u32| -> Vec<Profile> {
            let run = |run: u32| {
                let spread: String = (0..40)
                    .map(|at| format!("runtime.gcBgMarkWorker;runtime.scan{at} {collector}\n"))
                    .collect();
                read(&format!("words.parse {}\n{spread}", parse + run % 3))
            };
            (0..8).map(run).collect()
        };
        explain(&side(200, 1), &side(220, 12), &ExplainOptions::default()).unwrap()
    }

    #[test]
    fn more_garbage_is_the_collectors() {
        let found = more_garbage();
        let [collector, parse] = found.functions.as_slice() else {
            panic!("{found:#?}");
        };
        assert_eq!(collector.function.name, COLLECTOR);
        assert_eq!(collector.own.difference, 440.0);
        assert_eq!(collector.verdict, Verdict::Slower);
        assert_eq!(
            (parse.function.name.as_str(), parse.own.difference),
            ("words.parse", 20.0)
        );
        let categories = found.categories.iter();
        let garbage = categories.filter(|part| part.name == "gc");
        let garbage: f64 = garbage.map(|part| part.own.difference).sum();
        assert_eq!(garbage, 440.0);
        // Those that have no samples now do not count as functions.
        assert_eq!(found.rest.functions, 0);
    }

    #[test]
    fn it_stays_in_its_program_and_is_named_where_one_of_its_functions_is_asked_for() {
        let script = "w 1 1.0: 5 cycles:\n\t1 runtime.gcDrain+0x1 (/tmp/words.test)\n\n";
        let runs = [read(script)];
        let mut options = ExplainOptions::default();
        let found = explain(&runs, &runs, &options).unwrap();
        let function = &found.functions[0].function;
        assert_eq!(function.name, COLLECTOR);
        assert_eq!(function.module.as_deref(), Some("words.test"));
        options.same = vec![("runtime.gcDrain".into(), "main".into())];
        let refused = explain(&runs, &runs, &options).unwrap_err().to_string();
        assert!(
            refused.ends_with("similar names: (garbage collector)"),
            "{refused}"
        );
    }

    /// A program that computes less and collects more, and in which a single sample says that
    /// the one calls the other.
    #[test]
    fn nothing_is_inlined_into_the_collector() {
        let side = |parse: u32, collector: u32| -> Vec<Profile> {
            let run = |run: u32| {
                let (parse, collector) = (parse + run % 3, collector + run % 3);
                read(&format!(
                    "words.parse {parse}\nwords.parse;gcWriteBarrier 1\nruntime.gcDrain {collector}\n"
                ))
            };
            (0..8).map(run).collect()
        };
        let found = explain(&side(500, 10), &side(300, 210), &ExplainOptions::default()).unwrap();
        let certain: Vec<_> = found.certain().map(|it| &*it.function.name).collect();
        assert_eq!(certain, [COLLECTOR, "words.parse"], "{found:#?}");
    }
}
