//! The processor's own count of instructions; see perf_event_open(2).
//!
//! It is opened for the supervisor before it starts the command, and passes on to all that it starts
//! (`inherit`). It begins where one of them becomes the command (`enable_on_exec`), and ends with
//! the last of them.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// A count of the processor: of all that a process starts from now on.
pub(crate) struct ProcessorCount {
    /// One for each kind of core.
    files: Vec<File>,
}

impl ProcessorCount {
    /// Opens the count of what a process of one thread starts; 0 is the calling thread.
    pub(crate) fn open(process: libc::pid_t) -> io::Result<Self> {
        let files = kinds_of_cores(Path::new("/sys/bus/event_source/devices"))
            .into_iter()
            .map(|kind| perf::open_instructions(process, kind))
            .collect::<io::Result<_>>()?;
        Ok(Self { files })
    }

    /// The count, once all counted processes have ended.
    ///
    /// # Errors
    ///
    /// When part of it is missing: if the processor has too few counters, the kernel lets them take
    /// turns.
    pub(crate) fn read(&self) -> io::Result<u64> {
        let (mut count, mut enabled, mut running) = (0, 0, 0);
        for file in &self.files {
            let [counted, was_enabled, ran] = perf::read(file)?;
            count += counted;
            enabled = was_enabled.max(enabled);
            running += ran;
        }
        // In nanoseconds. A few thousand pass until the counter of a new process runs.
        let missed = enabled.saturating_sub(running);
        if count == 0 || missed > (enabled / 100).max(100_000) {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "others used them during the run",
            ));
        }
        Ok(count)
    }
}

/// The kinds of cores, which extend the number of an event; 0 where all cores are alike.
fn kinds_of_cores(devices: &Path) -> Vec<u64> {
    let devices = fs::read_dir(devices).into_iter().flatten().flatten();
    let kinds: Vec<u64> = devices
        .map(|device| device.path())
        // Other devices have no such file, or count for a whole machine (`cpumask`).
        .filter(|device| device.join("cpus").exists())
        .filter_map(|device| fs::read_to_string(device.join("type")).ok())
        .filter_map(|kind| kind.trim().parse().ok())
        .collect();
    if kinds.len() > 1 { kinds } else { vec![0] }
}

/// The kernel's system calls.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod perf {
    #![expect(
        unsafe_code,
        reason = "these calls are in no safe interface of the standard library"
    )]

    use std::fs::File;
    use std::io::{self, Read};
    use std::os::fd::FromRawFd;

    use perf_event_open_sys::bindings::{
        PERF_COUNT_HW_INSTRUCTIONS, PERF_FLAG_FD_CLOEXEC, PERF_FORMAT_TOTAL_TIME_ENABLED,
        PERF_FORMAT_TOTAL_TIME_RUNNING, PERF_PMU_TYPE_SHIFT, PERF_TYPE_HARDWARE, perf_event_attr,
    };
    use perf_event_open_sys::perf_event_open;

    /// Counts instructions on one kind of core.
    pub(crate) fn open_instructions(process: libc::pid_t, kind: u64) -> io::Result<File> {
        let event = u64::from(PERF_COUNT_HW_INSTRUCTIONS) | kind << PERF_PMU_TYPE_SHIFT;
        open(process, PERF_TYPE_HARDWARE, event)
    }

    /// Counts in the processes that this one starts, from `exec` on, and outside of the kernel.
    pub(crate) fn open(process: libc::pid_t, class: u32, event: u64) -> io::Result<File> {
        let format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        let mut attributes = perf_event_attr {
            size: size_of::<perf_event_attr>() as u32,
            type_: class,
            config: event,
            read_format: format.into(),
            ..Default::default()
        };
        attributes.set_disabled(1);
        attributes.set_inherit(1);
        attributes.set_enable_on_exec(1);
        attributes.set_exclude_kernel(1);
        attributes.set_exclude_hv(1);
        // SAFETY: the attributes are of the size that they say, and the call reads no other memory.
        // Nothing else owns the file that it opens.
        unsafe {
            let file = perf_event_open(
                &raw mut attributes,
                process,
                -1,
                -1,
                PERF_FLAG_FD_CLOEXEC.into(),
            );
            match file {
                0.. => Ok(File::from_raw_fd(file)),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// The count, and the nanoseconds for which it was enabled and for which it ran.
    pub(crate) fn read(mut file: &File) -> io::Result<[u64; 3]> {
        let mut bytes = [0; 24];
        file.read_exact(&mut bytes)?;
        let (numbers, _) = bytes.as_chunks();
        Ok([0, 1, 2].map(|at| u64::from_ne_bytes(numbers[at])))
    }
}

/// Other systems have no such counters.
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
mod perf {
    use std::fs::File;
    use std::io;

    pub(crate) fn open_instructions(_process: libc::pid_t, _kind: u64) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn read(_file: &File) -> io::Result<[u64; 3]> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn kinds_of_cores_are_those_that_count_for_some_processors() {
        let directory = tempfile::tempdir().unwrap();
        let device = |name: &str, kind: &str, processors: &str| {
            let place = directory.path().join(name);
            fs::create_dir(&place).unwrap();
            fs::write(place.join("type"), format!("{kind}\n")).unwrap();
            fs::write(place.join(processors), "0-7\n").unwrap();
        };
        assert_eq!(kinds_of_cores(&directory.path().join("none")), [0]);
        device("power", "12", "cpumask");
        device("cpu_core", "4", "cpus");
        assert_eq!(kinds_of_cores(directory.path()), [0]);
        device("cpu_atom", "10", "cpus");
        let mut kinds = kinds_of_cores(directory.path());
        kinds.sort_unstable();
        assert_eq!(kinds, [4, 10]);
    }

    /// The kernel's own counts exist in virtual machines, too.
    #[cfg(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ))]
    #[test]
    fn a_count_begins_with_the_program_and_ends_with_all_that_it_started() {
        use perf_event_open_sys::bindings::{PERF_COUNT_SW_PAGE_FAULTS, PERF_TYPE_SOFTWARE};

        let open = || perf::open(0, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS.into());
        let Ok(count) = open() else {
            println!("skipped: perf_event_open is not allowed here");
            return;
        };
        std::hint::black_box(vec![1_u8; 10 << 20]);
        assert_eq!(perf::read(&count).unwrap(), [0, 0, 0]);
        drop(count);
        let faults = |script: &str| {
            let count = open().unwrap();
            let child = Command::new("sh").args(["-c", script]).spawn();
            #[expect(clippy::disallowed_methods, reason = "no runtime waits for this test")]
            child.unwrap().wait().unwrap();
            let [faults, enabled, running] = perf::read(&count).unwrap();
            assert!(0 < running && running <= enabled, "{running} of {enabled}");
            faults
        };
        let one = faults("exit");
        assert!(one > 0);
        assert!(faults("sh -c exit; sh -c exit; exit") > 2 * one);

        // As a supervisor, which is there before its count is opened.
        let mut starter = Command::new("sh")
            .args(["-c", "read line; sh -c exit"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let number = starter.id().cast_signed();
        let faults = PERF_COUNT_SW_PAGE_FAULTS.into();
        let count = perf::open(number, PERF_TYPE_SOFTWARE, faults).unwrap();
        drop(starter.stdin.take());
        #[expect(clippy::disallowed_methods, reason = "no runtime waits for this test")]
        starter.wait().unwrap();
        assert!(perf::read(&count).unwrap()[0] > 0);
    }
}
