//! Sets of processors, and threads pinned to them.

#![expect(
    unsafe_code,
    reason = "these calls are in no safe interface of the standard library"
)]

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The number of processors that a set of the kernel has room for.
const MAX_CPUS: usize = 1024;

/// Processors by their numbers, written as `taskset` takes them: `0-3,6`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuList(BTreeSet<usize>);

/// A text is not a list of processors.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{part}` is neither a processor below {MAX_CPUS} nor a range of them; write a list as in 0-3,6"
)]
pub struct CpuListError {
    /// The part that is wrong.
    pub part: String,
}

impl FromStr for CpuList {
    type Err = CpuListError;

    fn from_str(text: &str) -> Result<Self, CpuListError> {
        let number = |text: &str| {
            let text = text.trim();
            let number = text.parse::<usize>().ok();
            // Rust reads numbers with a sign, too.
            number.filter(|number| *number < MAX_CPUS && !text.starts_with('+'))
        };
        let mut cpus = BTreeSet::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last => cpus.extend(first..=last),
                _ => return Err(CpuListError { part: part.into() }),
            }
        }
        Ok(Self(cpus))
    }
}

impl TryFrom<String> for CpuList {
    type Error = CpuListError;

    fn try_from(text: String) -> Result<Self, CpuListError> {
        text.parse()
    }
}

impl From<CpuList> for String {
    fn from(cpus: CpuList) -> Self {
        cpus.to_string()
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.iter().copied().peekable();
        let mut separator = "";
        while let Some(first) = rest.next() {
            let mut last = first;
            while let Some(next) = rest.next_if(|next| *next == last + 1) {
                last = next;
            }
            write!(formatter, "{separator}{first}")?;
            if last > first {
                write!(formatter, "-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl CpuList {
    /// The number of processors.
    #[expect(clippy::len_without_is_empty, reason = "no list is empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The numbers of the processors, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().copied()
    }

    /// Those of them that processes can't be pinned to here, and those that they can be pinned to;
    /// absent when they can be pinned to all.
    pub(crate) fn missing(&self) -> io::Result<Option<[Self; 2]>> {
        let all = Self((0..MAX_CPUS).collect());
        let available = on_a_thread(|| {
            all.pin_this_thread()?;
            Self::of_this_thread()
        })?;
        let missing: BTreeSet<usize> = self.0.difference(&available.0).copied().collect();
        Ok((!missing.is_empty()).then_some([Self(missing), available]))
    }
}

/// Calls a function on a new thread, which may be pinned.
pub(crate) fn on_a_thread<T: Send>(
    function: impl FnOnce() -> io::Result<T> + Send,
) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, function)?;
        match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[cfg(any(target_os = "linux", target_os = "android"))]
impl CpuList {
    /// The set in the kernel's form.
    pub(crate) fn set(&self) -> libc::cpu_set_t {
        // SAFETY: an all-zero set is an empty one, and every number is below its size.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            for cpu in &self.0 {
                libc::CPU_SET(*cpu, &mut set);
            }
            set
        }
    }

    /// Pins the thread that calls this. Processors that it may not use are left out, as
    /// long as there are others.
    pub(crate) fn pin_this_thread(&self) -> io::Result<()> {
        let set = self.set();
        // SAFETY: the pointer is to a live set of this size.
        let result = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
        check(result)
    }

    /// The processors that the thread that calls this may run on.
    pub(crate) fn of_this_thread() -> io::Result<Self> {
        // SAFETY: an all-zero set is a valid one to be written to, the pointer is to a
        // live one of this size, and every number is below it.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            check(libc::sched_getaffinity(0, size_of_val(&set), &raw mut set))?;
            let is_in = |cpu: &usize| libc::CPU_ISSET(*cpu, &set);
            Ok(Self((0..MAX_CPUS).filter(is_in).collect()))
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn check(result: libc::c_int) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
impl CpuList {
    pub(crate) fn pin_this_thread(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn of_this_thread() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_written_as_taskset_takes_it() {
        for (text, written) in [
            ("0", "0"),
            ("0-3,6", "0-3,6"),
            ("6, 3,0-2,1", "0-3,6"),
            ("1,0", "0-1"),
            ("1023", "1023"),
        ] {
            let cpus: CpuList = text.parse().unwrap();
            assert_eq!(cpus.to_string(), written);
            let json = serde_json::to_string(&cpus).unwrap();
            assert_eq!(json, format!("{written:?}"));
            assert_eq!(serde_json::from_str::<CpuList>(&json).unwrap(), cpus);
        }
        // A long range takes no memory before it is rejected.
        for text in [
            "",
            ",",
            "1,",
            "a",
            "-1",
            "+0",
            "0-+1",
            "3-1",
            "0-1-2",
            "1024",
            "0-99999999999",
        ] {
            assert!(text.parse::<CpuList>().is_err(), "{text}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_processor_that_does_not_exist_is_named_with_those_that_do() {
        let mine = CpuList::of_this_thread().unwrap();
        assert!(mine.missing().unwrap().is_none());
        let last = MAX_CPUS - 1;
        assert!(!mine.0.contains(&last), "{mine}");
        let mut more = mine.clone();
        more.0.insert(last);
        let [missing, available] = more.missing().unwrap().unwrap();
        assert_eq!(missing.to_string(), last.to_string());
        assert!(available.0.is_superset(&mine.0), "{available}");
        // The thread that asks is not pinned by that.
        assert_eq!(CpuList::of_this_thread().unwrap(), mine);
    }
}
