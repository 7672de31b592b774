//! The state of this process that commands inherit by way of their supervisor.

#![expect(
    unsafe_code,
    reason = "these calls are in no safe interface of the standard library"
)]

use std::fs;
use std::os::unix::fs::MetadataExt;

use libc::{c_int, rlim_t};

/// The lines of `/proc/PID/status` with rights, signals that are ignored, and processors.
const STATUS: [&str; 13] = [
    "Umask:",
    "Uid:",
    "Gid:",
    "Groups:",
    "SigIgn:",
    "CapInh:",
    "CapPrm:",
    "CapEff:",
    "CapBnd:",
    "CapAmb:",
    "NoNewPrivs:",
    "Cpus_allowed:",
    "Mems_allowed:",
];

/// The number of limits in Linux; others have fewer.
const LIMITS: usize = 16;

/// A thread's state that its children begin with, as far as the system shows it. Two are equal if a
/// supervisor that was forked with one serves for the other, too.
#[derive(Debug, PartialEq)]
pub(super) struct Inheritance {
    status: Vec<String>,
    limits: [Option<(rlim_t, rlim_t)>; LIMITS],
    nice: c_int,
    cgroup: String,
    preference_to_kill: String,
    files: Vec<OpenFile>,
}

/// An open file that programs inherit, beyond the standard streams: its number, and which it is.
type OpenFile = (c_int, u64, u64);

impl Inheritance {
    pub(super) fn of_this_thread() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let status = text("/proc/thread-self/status");
        let is_inherited = |line: &&str| STATUS.iter().any(|name| line.starts_with(name));
        Self {
            status: (status.lines().filter(is_inherited).map(str::to_owned)).collect(),
            limits: std::array::from_fn(limit),
            // SAFETY: no memory is involved.
            nice: unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) },
            cgroup: text("/proc/self/cgroup"),
            preference_to_kill: text("/proc/self/oom_score_adj"),
            files: open_files(),
        }
    }
}

fn limit(resource: usize) -> Option<(rlim_t, rlim_t)> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointer is to a live value.
    let result = unsafe { libc::getrlimit(resource as _, &raw mut limit) };
    (result == 0).then_some((limit.rlim_cur, limit.rlim_max))
}

fn open_files() -> Vec<OpenFile> {
    let entries = fs::read_dir("/proc/self/fd").into_iter().flatten();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_inherited = |number: &c_int| {
        // SAFETY: no memory is involved.
        let flags = unsafe { libc::fcntl(*number, libc::F_GETFD) };
        *number > 2 && flags >= 0 && flags & libc::FD_CLOEXEC == 0
    };
    let mut files: Vec<OpenFile> = (numbers.filter(is_inherited))
        .filter_map(|number| {
            let file = fs::metadata(format!("/proc/self/fd/{number}")).ok()?;
            Some((number, file.dev(), file.ino()))
        })
        .collect();
    files.sort_unstable();
    files
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::thread;

    use super::*;

    /// On a thread of its own: it changes.
    #[test]
    fn a_change_of_what_children_begin_with_shows() {
        let changed = thread::spawn(|| {
            let before = Inheritance::of_this_thread();
            assert!(before.status.len() >= 10, "{before:?}");
            assert!(!before.preference_to_kill.is_empty());
            // SAFETY: no memory is involved, and this thread ends soon.
            unsafe {
                let nice = libc::getpriority(libc::PRIO_PROCESS, 0);
                libc::setpriority(libc::PRIO_PROCESS, 0, (nice + 1).min(19));
                libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            }
            let after = Inheritance::of_this_thread();
            (before.nice, before.status) != (after.nice, after.status)
        });
        assert!(changed.join().unwrap());
    }

    #[test]
    fn files_are_told_apart_by_their_number_and_identity() {
        let pipe = || {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(writer);
            File::from(std::os::fd::OwnedFd::from(reader))
        };
        let (one, other) = (pipe(), pipe());
        let number = one.as_raw_fd();
        let of = |number| {
            let files = open_files();
            files.into_iter().find(|file| file.0 == number)
        };
        assert_eq!(of(number), None);
        let pass_on = |flags: c_int| {
            // SAFETY: no memory is involved.
            unsafe { libc::fcntl(number, libc::F_SETFD, flags) }
        };
        pass_on(0);
        let first = of(number).unwrap();
        assert_eq!(of(number), Some(first));
        // SAFETY: both are open files of this test.
        unsafe { libc::dup2(other.as_raw_fd(), number) };
        assert_ne!(of(number).unwrap(), first);
        pass_on(libc::FD_CLOEXEC);
        assert_eq!(of(number), None);
    }
}
