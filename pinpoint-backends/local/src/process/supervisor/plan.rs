//! Everything needed to start a command, made by this process for the supervisor.

#![expect(
    unsafe_code,
    reason = "these calls are in no safe interface of the standard library"
)]

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};

use libc::{c_char, c_int};

use super::report::ReportBuffer;
use crate::process::cpus::CpuList;

/// A command, and the files it writes to.
pub(crate) struct Launch {
    /// Its own settings of standard streams are ignored, and `env_clear` can't be detected: other
    /// variables of this process have to be removed by name.
    pub(crate) command: Command,
    pub(crate) stdout: File,
    pub(crate) stderr: File,
    /// The processors that it is pinned to.
    pub(crate) cpus: Option<CpuList>,
    /// Makes the processor count its instructions.
    pub(crate) count_instructions: bool,
}

/// Everything needed to start a command, in memory shared with its supervisor: the supervisor may
/// not allocate. It is a fork of this process, so that addresses in that memory are the same in
/// both.
pub(super) struct Plan {
    pub(super) program: *const c_char,
    pub(super) directory: *const c_char,
    pub(super) arguments: *const *mut c_char,
    /// As in `execvp`: a file that the kernel does not know how to run is a
    /// script for the shell.
    pub(super) shell_arguments: *const *mut c_char,
    pub(super) environment: *const *mut c_char,
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) cpus: Option<libc::cpu_set_t>,
    /// Set by the supervisor before it does anything for the command.
    pub(super) has_begun: AtomicBool,
    /// Written by the supervisor.
    pub(super) report: ReportBuffer,
}

/// Memory with one plan.
pub(super) struct SharedPlan(NonNull<Plan>);

// SAFETY: the memory belongs to this value, not to a thread.
unsafe impl Send for SharedPlan {}

/// More than the kernel takes as arguments and environment of a program, 6 MiB. Only pages that are
/// written to exist.
const PLAN_LENGTH: usize = 8 << 20;

impl SharedPlan {
    /// Memory that is shared with the processes that this one forks.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: a new mapping, which is no other memory.
        let memory = unsafe {
            libc::mmap(
                ptr::null_mut(),
                PLAN_LENGTH,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANON,
                -1,
                0,
            )
        };
        match NonNull::new(memory) {
            Some(start) if memory != libc::MAP_FAILED => Ok(Self(start.cast())),
            _ => Err(io::Error::last_os_error()),
        }
    }

    pub(super) fn pointer(&self) -> *mut Plan {
        self.0.as_ptr()
    }

    /// Writes the plan for a command. Its supervisor must be idle.
    ///
    /// # Errors
    ///
    /// Fails as the start of the program would: the program is looked up here.
    pub(super) fn write(&mut self, launch: &Launch) -> io::Result<()> {
        let command = &launch.command;
        let environment = environment(command);
        let directory = command.get_current_dir();
        let program = find(command.get_program(), directory, &environment)?;
        // An idle supervisor is elsewhere.
        let directory = std::path::absolute(directory.unwrap_or(Path::new(".")))?;
        let mut memory = Remaining {
            next: self.pointer().cast(),
            length: PLAN_LENGTH,
        };
        memory.skip(size_of::<Plan>())?;
        let program = memory.string(program.as_os_str())?;
        let directory = memory.string(directory.as_os_str())?;
        let mut arguments = vec![memory.string(command.get_program())?];
        let mut shell_arguments = vec![memory.string("/bin/sh".as_ref())?, program];
        for argument in command.get_args() {
            let argument = memory.string(argument)?;
            arguments.push(argument);
            shell_arguments.push(argument);
        }
        let variables = environment.into_iter().map(|(mut variable, value)| {
            variable.push("=");
            variable.push(value);
            memory.string(&variable)
        });
        let variables = variables.collect::<io::Result<Vec<_>>>()?;
        let plan = Plan {
            program,
            directory,
            arguments: memory.list(&arguments)?,
            shell_arguments: memory.list(&shell_arguments)?,
            environment: memory.list(&variables)?,
            #[cfg(any(target_os = "linux", target_os = "android"))]
            cpus: launch.cpus.as_ref().map(CpuList::set),
            has_begun: AtomicBool::new(false),
            report: ReportBuffer::new(),
        };
        // SAFETY: the memory is longer than a plan and begins with a page, and nothing else uses it
        // while the supervisor is idle.
        unsafe {
            self.pointer().write(plan);
        }
        Ok(())
    }

    /// Checks that the supervisor has begun with the command.
    pub(super) fn has_begun(&self) -> bool {
        // SAFETY: a plan was written, and both processes only use this as an atomic value.
        unsafe { &(*self.pointer()).has_begun }.load(Ordering::Relaxed)
    }

    /// The report of a supervisor that is idle again, or has ended.
    pub(super) fn report(&self) -> String {
        // SAFETY: the supervisor, which alone writes there, has finished its report.
        let report = unsafe { &(*self.pointer()).report };
        String::from_utf8_lossy(report.bytes()).into_owned()
    }
}

impl Drop for SharedPlan {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and this happens once.
        unsafe {
            libc::munmap(self.pointer().cast(), PLAN_LENGTH);
        }
    }
}

/// The unused memory behind a plan.
struct Remaining {
    next: *mut u8,
    length: usize,
}

impl Remaining {
    /// Takes the next bytes.
    fn skip(&mut self, length: usize) -> io::Result<*mut u8> {
        let taken = self.next;
        // As the kernel would say.
        let too_long = || io::Error::from_raw_os_error(libc::E2BIG);
        self.length = self.length.checked_sub(length).ok_or_else(too_long)?;
        // SAFETY: that many bytes remain.
        self.next = unsafe { taken.add(length) };
        Ok(taken)
    }

    /// Adds a string in C's form.
    fn string(&mut self, text: &OsStr) -> io::Result<*mut c_char> {
        let text = CString::new(text.as_bytes())?;
        let bytes = text.as_bytes_with_nul();
        let place = self.skip(bytes.len())?;
        // SAFETY: the place has that length, and nothing refers to it yet.
        unsafe {
            place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        Ok(place.cast())
    }

    /// Adds a list of strings in C's form, which ends with null.
    fn list(&mut self, strings: &[*mut c_char]) -> io::Result<*const *mut c_char> {
        self.skip(self.next.align_offset(align_of::<*mut c_char>()))?;
        let place = self.skip(size_of_val(strings) + size_of::<*mut c_char>())?;
        let place = place.cast::<*mut c_char>();
        // SAFETY: the place is aligned and has that length, and nothing refers to it yet.
        unsafe {
            place.copy_from_nonoverlapping(strings.as_ptr(), strings.len());
            place.add(strings.len()).write(ptr::null_mut());
        }
        Ok(place)
    }
}

/// The attributes of every command's start.
pub(super) struct Attributes(pub(super) libc::posix_spawnattr_t);

impl Attributes {
    /// Sets a new process group, blocks no signals, and ignores none on our behalf.
    pub(super) fn new() -> io::Result<Self> {
        let mut attributes = MaybeUninit::uninit();
        let mut none = MaybeUninit::uninit();
        let mut defaults = MaybeUninit::uninit();
        let flags = libc::POSIX_SPAWN_SETPGROUP
            | libc::POSIX_SPAWN_SETSIGMASK
            | libc::POSIX_SPAWN_SETSIGDEF;
        // SAFETY: `init` and `sigemptyset` make valid values of their arguments, and the others get
        // only such values.
        unsafe {
            check(libc::posix_spawnattr_init(attributes.as_mut_ptr()))?;
            let mut attributes = Self(attributes.assume_init());
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigemptyset(defaults.as_mut_ptr());
            // Rust's runtime ignores it.
            libc::sigaddset(defaults.as_mut_ptr(), libc::SIGPIPE);
            let place = &raw mut attributes.0;
            check(libc::posix_spawnattr_setflags(place, flags as _))?;
            check(libc::posix_spawnattr_setpgroup(place, 0))?;
            check(libc::posix_spawnattr_setsigmask(place, none.as_ptr()))?;
            check(libc::posix_spawnattr_setsigdefault(
                place,
                defaults.as_ptr(),
            ))?;
            Ok(attributes)
        }
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: they were initialized, and this happens once.
        unsafe {
            libc::posix_spawnattr_destroy(&raw mut self.0);
        }
    }
}

fn check(code: c_int) -> io::Result<()> {
    match code {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// The environment of this process with the changes of the command.
fn environment(command: &Command) -> Vec<(OsString, OsString)> {
    let mut variables: std::collections::BTreeMap<OsString, OsString> =
        std::env::vars_os().collect();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => variables.insert(name.to_owned(), value.to_owned()),
            None => variables.remove(name),
        };
    }
    variables.into_iter().collect()
}

/// Checks a command for another program to start: its program exists and is executable.
pub(crate) fn check_program(command: &Command) -> io::Result<()> {
    let directory = command.get_current_dir();
    let file = find(command.get_program(), directory, &environment(command))?;
    let file_is = file.metadata()?;
    if file_is.is_file() && file_is.permissions().mode() & 0o111 != 0 {
        return Ok(());
    }
    Err(io::Error::from_raw_os_error(libc::EACCES))
}

/// The file of a program, looked up as `execvp` does: a name without `/` in the
/// directories of the new program's `PATH`.
pub(crate) fn find(
    program: &OsStr,
    directory: Option<&Path>,
    environment: &[(OsString, OsString)],
) -> io::Result<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return Ok(program.into());
    }
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new("/bin:/usr/bin"), |(_, value)| value);
    let mut error = libc::ENOENT;
    for place in path.as_bytes().split(|byte| *byte == b':') {
        let place = PathBuf::from(OsString::from_vec(place.to_vec()));
        let file = directory.unwrap_or(Path::new("")).join(place).join(program);
        match file.metadata() {
            Ok(file_is) if !file_is.is_file() => {}
            Ok(file_is) if file_is.permissions().mode() & 0o111 == 0 => {
                error = libc::EACCES;
            }
            Ok(_) => return Ok(file),
            Err(_) => {}
        }
    }
    Err(io::Error::from_raw_os_error(error))
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn launch(command: Command) -> Launch {
        let null = || File::options().write(true).open("/dev/null").unwrap();
        Launch {
            command,
            stdout: null(),
            stderr: null(),
            cpus: None,
            count_instructions: false,
        }
    }

    #[test]
    fn a_plan_has_the_command_its_arguments_and_its_variables() {
        let mut command = Command::new("/bin/tool");
        command.args(["one", "", "three"]).current_dir("/tmp");
        command.env("PINPOINT_TEST_VARIABLE", "its value");
        let mut shared = SharedPlan::new().unwrap();
        shared.write(&launch(command)).unwrap();
        // SAFETY: it was written, lists end with null, and strings with a zero.
        let text = |place: *const c_char| unsafe { CStr::from_ptr(place) }.to_str().unwrap();
        let list = |mut place: *const *mut c_char| {
            let mut found = Vec::new();
            // SAFETY: as above.
            unsafe {
                while !(*place).is_null() {
                    found.push(text(*place));
                    place = place.add(1);
                }
            }
            found
        };
        // SAFETY: it was written.
        let plan = unsafe { &*shared.pointer() };
        assert_eq!(
            (text(plan.program), text(plan.directory)),
            ("/bin/tool", "/tmp")
        );
        assert_eq!(list(plan.arguments), ["/bin/tool", "one", "", "three"]);
        let by_shell = ["/bin/sh", "/bin/tool", "one", "", "three"];
        assert_eq!(list(plan.shell_arguments), by_shell);
        let variables = list(plan.environment);
        assert!(variables.contains(&"PINPOINT_TEST_VARIABLE=its value"));
    }

    #[test]
    fn a_command_that_no_system_could_start_is_refused() {
        let mut command = Command::new("/bin/tool");
        command.arg("x".repeat(PLAN_LENGTH));
        let mut shared = SharedPlan::new().unwrap();
        let error = shared.write(&launch(command)).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::E2BIG));
        shared.write(&launch(Command::new("/bin/tool"))).unwrap();
    }

    #[test]
    fn a_program_is_looked_for_where_its_own_path_says() {
        let directory = tempfile::tempdir().unwrap();
        let places = ["a", "b", "c"].map(|name| directory.path().join(name));
        let make = |place: &Path, mode| {
            std::fs::create_dir(place).unwrap();
            let file = place.join("tool");
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        make(&places[0], 0o644);
        make(&places[1], 0o755);
        std::fs::create_dir_all(places[2].join("tool")).unwrap();
        let look = |path: &str| {
            let environment = [("PATH".into(), path.into())];
            find("tool".as_ref(), Some(directory.path()), &environment)
        };
        assert_eq!(look("missing:c:a:b").unwrap(), places[1].join("tool"));
        let denied = look("a").unwrap_err();
        assert_eq!(denied.kind(), io::ErrorKind::PermissionDenied);
        let missing = look("").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert_eq!(missing.raw_os_error(), Some(libc::ENOENT));
        let found = find("./tool".as_ref(), None, &[]).unwrap();
        assert_eq!(found, Path::new("./tool"));
    }
}
