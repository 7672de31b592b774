//! Everything needed to start a command, made before the fork.

#![expect(
    unsafe_code,
    reason = "these calls are in no safe interface of the standard library"
)]

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;

use libc::{c_char, c_int};

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

/// Everything needed to start a command, made before the fork.
pub(crate) struct Plan {
    pub(super) program: CString,
    pub(super) directory: Option<CString>,
    pub(super) arguments: Strings,
    /// As in `execvp`: a file that the kernel does not know how to run is a
    /// script for the shell.
    pub(super) shell_arguments: Strings,
    pub(super) environment: Strings,
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) cpus: Option<libc::cpu_set_t>,
    pub(super) attributes: Attributes,
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) register: OwnedFd,
    pub(super) report: OwnedFd,
    /// This process's end of the report's socket.
    pub(super) receiver: UnixDatagram,
}

/// A list of strings in C's form.
pub(super) struct Strings {
    _owned: Vec<CString>,
    pub(super) pointers: Vec<*mut c_char>,
}

impl Strings {
    fn new(owned: Vec<CString>) -> Self {
        let pointers = owned
            .iter()
            .map(|string| string.as_ptr().cast_mut())
            .chain([ptr::null_mut()])
            .collect();
        Self {
            _owned: owned,
            pointers,
        }
    }
}

pub(super) struct Attributes(pub(super) libc::posix_spawnattr_t);

impl Attributes {
    /// Sets a new process group, blocks no signals, and ignores none on our behalf.
    fn new() -> io::Result<Self> {
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

impl Plan {
    /// # Errors
    ///
    /// Fails as the start of the program would: the program is looked up here.
    pub(crate) fn new(launch: Launch, register: &File) -> io::Result<Self> {
        let command = &launch.command;
        let environment = environment(command);
        let directory = command.get_current_dir();
        let program = find(command.get_program(), directory, &environment)?;
        let program = string(program.as_os_str())?;
        let mut arguments = vec![string(command.get_program())?];
        let mut shell_arguments = vec![c"/bin/sh".to_owned(), program.clone()];
        for argument in command.get_args() {
            arguments.push(string(argument)?);
            shell_arguments.push(string(argument)?);
        }
        let variables = environment.into_iter().map(|(mut variable, value)| {
            variable.push("=");
            variable.push(value);
            string(&variable)
        });
        let (receiver, report) = UnixDatagram::pair()?;
        receiver.set_nonblocking(true)?;
        let null = File::open("/dev/null")?;
        // A copy never has one of the first three numbers.
        let copy = |file: &File| Ok::<_, io::Error>(OwnedFd::from(file.try_clone()?));
        Ok(Self {
            directory: directory.map(|path| string(path.as_os_str())).transpose()?,
            arguments: Strings::new(arguments),
            shell_arguments: Strings::new(shell_arguments),
            environment: Strings::new(variables.collect::<Result<_, _>>()?),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            cpus: launch.cpus.as_ref().map(CpuList::set),
            attributes: Attributes::new()?,
            stdin: copy(&null)?,
            stdout: copy(&launch.stdout)?,
            stderr: copy(&launch.stderr)?,
            register: copy(register)?,
            report: OwnedFd::from(report).try_clone()?,
            program,
            receiver,
        })
    }
}

fn string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(io::Error::from)
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
    use super::*;

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
