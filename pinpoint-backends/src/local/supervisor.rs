//! The process between this one and a command that it runs.
//!
//! A command may leave processes that go on after its end: in its process group,
//! or in sessions of their own, as a server does that detaches. What such a process
//! inherits when its parent ends is the nearest *subreaper* above it (see
//! `PR_SET_CHILD_SUBREAPER` in prctl(2)). This process must not be that: it may be
//! somebody's Python, with children of its own that are none of the benchmark's. So
//! each command has a small process above it, forked for it alone, to which all that
//! the command leaves comes back. It starts the command, waits for it, ends what is
//! left, reports, and is gone. The kernel also tells it when this process dies, in
//! whatever way, and then it ends the command as if it had been asked to.
//!
//! Outside of Linux there are no subreapers: there the process group of the command
//! is ended, and what left the group is not found.
//!
//! After `fork` in a program with several threads only async-signal-safe calls are
//! allowed until `exec`, and here comes none: the supervisor lives on as the copy
//! that it is. Whatever it needs is prepared before, in [`Plan`]. It allocates
//! nothing, takes no lock and can't panic. The command is begun by `posix_spawn`,
//! which copies no page tables a second time.

#![expect(
    unsafe_code,
    reason = "these calls are in no safe interface of the standard library"
)]

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libc::{c_char, c_int, pid_t};

/// What a process that was asked to end has left to do so.
const GRACE: Duration = Duration::from_secs(2);

/// What outlives its parent by less has not been left: helpers that notice the end
/// of their parent, as Python's, and the last command of a pipe.
const LINGER: Duration = Duration::from_millis(50);

/// How long killed processes may take to be gone. One that hangs in the kernel must
/// not hang us.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where the death of the parent is not told, how often to look.
const LOOK: Duration = Duration::from_millis(100);

/// At most so many processes that were left are named, and counted.
const MOST_NAMED: usize = 8;
const MOST_COUNTED: usize = 256;

const REPORT_LENGTH: usize = 1024;

/// A command, and where it writes.
pub(super) struct Launch {
    /// Its own ideas of standard streams are not looked at, and `env_clear` can't be
    /// seen: what this process has besides is to be removed by name.
    pub(super) command: Command,
    pub(super) stdout: File,
    pub(super) stderr: File,
}

/// All that is needed to start a command, made before the fork.
pub(super) struct Plan {
    program: CString,
    directory: Option<CString>,
    arguments: Strings,
    /// As `execvp` does it: a file that the kernel does not know how to run is a
    /// script for the shell.
    shell_arguments: Strings,
    environment: Strings,
    attributes: Attributes,
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    register: OwnedFd,
    report: OwnedFd,
    /// The end of the report's socket that stays here.
    receiver: UnixDatagram,
}

/// A supervisor that was started.
pub(super) struct Supervisor {
    pub(super) process: pid_t,
    receiver: UnixDatagram,
}

/// What a supervisor reports of a command that was started.
#[derive(Debug, PartialEq)]
pub(super) struct Report {
    /// As `wait` gives it.
    pub(super) status: c_int,
    pub(super) wall: Duration,
    pub(super) user: Duration,
    pub(super) system: Duration,
    /// In the system's unit.
    pub(super) peak_memory: u64,
    pub(super) left: Left,
}

/// Processes that were still running when the command had ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Left {
    /// Of how many that is known.
    pub(super) count: usize,
    /// How many of them could not be ended.
    pub(super) survived: usize,
    /// The first of them: `redis-server (pid 124)`.
    pub(super) names: Vec<String>,
}

impl Left {
    /// As a half sentence: "1 process was still running and was ended: …".
    pub(super) fn in_words(&self) -> Option<String> {
        let were = |count: usize| if count == 1 { "was" } else { "were" };
        let processes = match self.count {
            0 => return None,
            1 => "1 process".to_owned(),
            MOST_COUNTED => format!("{MOST_COUNTED} processes or more"),
            count => format!("{count} processes"),
        };
        let end = match self.survived {
            0 => format!("{} ended", were(self.count)),
            survived => format!("{survived} of them could not be ended"),
        };
        let more = match self.count.saturating_sub(self.names.len()) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let names = self.names.join(", ");
        Some(format!(
            "{processes} {} still running and {end}: {names}{more}",
            were(self.count)
        ))
    }
}

/// Strings as C takes a list of them.
struct Strings {
    _owned: Vec<CString>,
    pointers: Vec<*mut c_char>,
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

struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    /// A process group of its own, no signal blocked, and none ignored for us.
    fn new() -> io::Result<Self> {
        let mut attributes = MaybeUninit::uninit();
        let mut none = MaybeUninit::uninit();
        let mut defaults = MaybeUninit::uninit();
        let flags = libc::POSIX_SPAWN_SETPGROUP
            | libc::POSIX_SPAWN_SETSIGMASK
            | libc::POSIX_SPAWN_SETSIGDEF;
        // SAFETY: `init` and `sigemptyset` make valid values of what they are given,
        // and the others are given nothing but such values.
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
        // SAFETY: they were initialised, and this happens once.
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
    /// As the start of the program fails: it is looked for here.
    pub(super) fn new(launch: Launch, register: &File) -> io::Result<Self> {
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
        // A copy is never one of the first three.
        let copy = |file: &File| Ok::<_, io::Error>(OwnedFd::from(file.try_clone()?));
        Ok(Self {
            directory: directory.map(|path| string(path.as_os_str())).transpose()?,
            arguments: Strings::new(arguments),
            shell_arguments: Strings::new(shell_arguments),
            environment: Strings::new(variables.collect::<Result<_, _>>()?),
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

    /// Starts the supervisor, which starts the command.
    pub(super) fn start(self) -> io::Result<Supervisor> {
        // SAFETY: `getpid` takes nothing and can't fail. The signal sets are made by
        // the calls that fill them. In the child nothing runs but `supervise`, which
        // keeps to what is allowed there and does not come back.
        let (process, error) = unsafe {
            let parent = libc::getpid();
            // A signal in the child, before it has handlers of its own, would run
            // those of this process, which tell others of it.
            let mut all = MaybeUninit::uninit();
            let mut before = MaybeUninit::uninit();
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            let process = libc::fork();
            if process == 0 {
                supervise(&self, parent);
            }
            let error = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
            (process, error)
        };
        if process < 0 {
            return Err(error);
        }
        Ok(Supervisor {
            process,
            receiver: self.receiver,
        })
    }
}

impl Supervisor {
    /// What it reported, once it has ended; absent when it was killed. The error is
    /// that of the command's start.
    pub(super) fn report(&self) -> Option<io::Result<Report>> {
        let mut report = [0; REPORT_LENGTH];
        let length = self.receiver.recv(&mut report).ok()?;
        parse(&String::from_utf8_lossy(&report[..length]))
    }
}

/// Reads what [`Told::send`] wrote.
fn parse(report: &str) -> Option<io::Result<Report>> {
    let mut lines = report.lines();
    let mut numbers = lines
        .next()?
        .split(' ')
        .map(|number| number.parse::<i64>().ok());
    let mut number = || numbers.next().flatten();
    let error = number()?;
    if error != 0 {
        let error = i32::try_from(error).ok()?;
        return Some(Err(io::Error::from_raw_os_error(error)));
    }
    let status = i32::try_from(number()?).ok()?;
    let mut unsigned = || u64::try_from(number()?).ok();
    let wall = Duration::from_nanos(unsigned()?);
    let user = Duration::from_micros(unsigned()?);
    let system = Duration::from_micros(unsigned()?);
    let peak_memory = unsigned()?;
    let count = usize::try_from(unsigned()?).ok()?;
    let survived = usize::try_from(unsigned()?).ok()?;
    let names = lines.filter_map(|line| {
        let (process, name) = line.split_once(' ')?;
        let name = name.replace(char::is_control, "\u{fffd}");
        Some(format!("{name} (pid {process})"))
    });
    Some(Ok(Report {
        status,
        wall,
        user,
        system,
        peak_memory,
        left: Left {
            count,
            survived,
            names: names.collect(),
        },
    }))
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

/// The file of a program, looked up as `execvp` does: a name without `/` in the
/// directories of the new program's `PATH`.
fn find(
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

/// Set by the signal that asks for the end. Only supervisors have its handler.
static ASKED_TO_END: AtomicBool = AtomicBool::new(false);

extern "C" fn note(signal: c_int) {
    if signal == libc::SIGTERM {
        ASKED_TO_END.store(true, Ordering::Relaxed);
    }
}

/// The report, written into a buffer of fixed size: nothing may be allocated here.
struct Told {
    text: [u8; REPORT_LENGTH],
    length: usize,
}

impl fmt::Write for Told {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

impl Told {
    const fn new() -> Self {
        Self {
            text: [0; REPORT_LENGTH],
            length: 0,
        }
    }

    /// Adds what there is room for.
    fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if let Some(place) = self.text.get_mut(self.length) {
                *place = *byte;
                self.length += 1;
            }
        }
    }

    fn bytes(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or_default()
    }
}

/// The whole life of the supervisor. It is `extern "C"` so that a panic, which can't
/// be, would not unwind into a copy of the program.
extern "C" fn supervise(plan: &Plan, parent: pid_t) -> ! {
    let mut told = Told::new();
    // SAFETY: this is the only thread of a process that was forked, and what is
    // called allocates nothing and takes no lock.
    unsafe {
        let waiting = become_supervisor(parent);
        match begin(plan) {
            Err(error) => {
                let _ = write!(told, "{error}");
            }
            Ok((leader, began)) => accompany(leader, began, parent, &waiting, &mut told),
        }
        let bytes = told.bytes();
        libc::send(
            plan.report.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            0,
        );
        libc::_exit(0);
    }
}

/// Leaves the terminal, takes in orphans, and hears of ends. The answer is what is
/// blocked while waiting.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn become_supervisor(parent: pid_t) -> libc::sigset_t {
    // SAFETY: an all-zero sigaction is a valid one, and so is the set that
    // `sigfillset` fills; no other memory is involved.
    unsafe {
        libc::setsid();
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            libc::prctl(libc::PR_SET_NAME, c"pinpoint-run".as_ptr());
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
        }
        if libc::getppid() != parent {
            libc::_exit(0);
        }
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = note as extern "C" fn(c_int) as usize;
        let mut waiting: libc::sigset_t = mem::zeroed();
        libc::sigfillset(&raw mut waiting);
        for signal in [libc::SIGCHLD, libc::SIGTERM] {
            libc::sigaction(signal, &raw const action, ptr::null_mut());
            libc::sigdelset(&raw mut waiting, signal);
        }
        waiting
    }
}

/// Starts the command; the answer is its number, and when it began. It and this
/// process are on record from then on.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn begin(plan: &Plan) -> Result<(pid_t, Duration), c_int> {
    // SAFETY: all pointers are to what the plan owns, lists end with null, and
    // strings with a zero.
    unsafe {
        if let Some(directory) = &plan.directory
            && libc::chdir(directory.as_ptr()) != 0
        {
            return Err(error_number());
        }
        for (from, to) in [(&plan.stdin, 0), (&plan.stdout, 1), (&plan.stderr, 2)] {
            if libc::dup2(from.as_raw_fd(), to) < 0 {
                return Err(error_number());
            }
        }
        let recorded = record(plan.register.as_raw_fd(), c"/proc/self/stat", 0);
        let spawn = |program: &CStr, arguments: &Strings, leader: &mut pid_t| {
            libc::posix_spawn(
                leader,
                program.as_ptr(),
                ptr::null(),
                &raw const plan.attributes.0,
                arguments.pointers.as_ptr(),
                plan.environment.pointers.as_ptr(),
            )
        };
        let mut leader = 0;
        let began = now();
        let mut error = spawn(&plan.program, &plan.arguments, &mut leader);
        if error == libc::ENOEXEC {
            error = spawn(c"/bin/sh", &plan.shell_arguments, &mut leader);
        }
        if error != 0 {
            return Err(error);
        }
        let mut path = Told::new();
        let _ = write!(path, "/proc/{leader}/stat\0");
        if let Ok(path) = CStr::from_bytes_until_nul(path.bytes()) {
            record(plan.register.as_raw_fd(), path, recorded);
        }
        close_others(plan.report.as_raw_fd());
        Ok((leader, began))
    }
}

/// Writes down who a process is: what the kernel says of it names it once and for
/// all, its number and when it started. Where there is no `/proc` nothing is
/// recorded. The answer is where what follows goes.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn record(register: c_int, path: &CStr, at: libc::off_t) -> libc::off_t {
    let mut line = [0_u8; 1024];
    // SAFETY: the buffer is as long as is said.
    unsafe {
        let length = read_file(path, &mut line);
        let written = libc::pwrite(register, line.as_ptr().cast(), length, at);
        at + libc::off_t::try_from(written.max(0)).unwrap_or(0)
    }
}

/// The beginning of a small file; nothing if it can't be read.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn read_file(path: &CStr, buffer: &mut [u8]) -> usize {
    // SAFETY: the path ends with a zero, and the buffer is as long as is said.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return 0;
        }
        let length = libc::read(file, buffer.as_mut_ptr().cast(), buffer.len());
        libc::close(file);
        usize::try_from(length).unwrap_or(0)
    }
}

/// Closes all files but one: among them are locks that would stay taken, and pipes
/// whose readers would wait.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn close_others(kept: c_int) {
    /// Where files can't be closed all at once.
    const MOST: c_int = 65_536;
    // SAFETY: nothing here uses any of these files later.
    unsafe {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            let below = u32::try_from(kept - 1).unwrap_or(0);
            let above = u32::try_from(kept + 1).unwrap_or(0);
            let close = |from: u32, to: u32| libc::syscall(libc::SYS_close_range, from, to, 0);
            if close(0, below) == 0 && close(above, u32::MAX) == 0 {
                return;
            }
        }
        let most = c_int::try_from(libc::sysconf(libc::_SC_OPEN_MAX)).unwrap_or(MOST);
        for file in 0..most.min(MOST) {
            if file != kept {
                libc::close(file);
            }
        }
    }
}

/// Waits for the command, ends what it leaves, and notes all for the report.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn accompany(
    leader: pid_t,
    began: Duration,
    parent: pid_t,
    waiting: &libc::sigset_t,
    told: &mut Told,
) {
    // SAFETY: as for this function.
    unsafe {
        let mut deadline = None;
        let (ended, status, used) = loop {
            let time = now();
            if let Reaped::Leader(status, used) = reap(leader) {
                break (time, status, used);
            }
            let asked = ASKED_TO_END.load(Ordering::Relaxed) || libc::getppid() != parent;
            match deadline {
                None if asked => {
                    signal(leader, libc::SIGTERM);
                    deadline = Some(time + GRACE);
                }
                Some(moment) if time >= moment => {
                    signal(leader, libc::SIGKILL);
                    // Again if it should still be there.
                    deadline = Some(time + PATIENCE);
                }
                _ => {}
            }
            let told_of_death = cfg!(any(target_os = "linux", target_os = "android"));
            let look = (!told_of_death).then_some(LOOK);
            let left = deadline.map(|moment| moment.saturating_sub(now()));
            pause(waiting, left.into_iter().chain(look).min());
        };
        let mut names = Told::new();
        let asked = deadline.is_some();
        let (count, survived) = end_the_rest(leader, ended, asked, waiting, &mut names);
        // The types of the two differ between systems.
        let microseconds =
            |time: libc::timeval| (time.tv_sec as f64 * 1e6 + time.tv_usec as f64) as u64;
        let _ = writeln!(
            told,
            "0 {status} {} {} {} {} {count} {survived}",
            ended.saturating_sub(began).as_nanos(),
            microseconds(used.ru_utime),
            microseconds(used.ru_stime),
            used.ru_maxrss,
        );
        told.push(names.bytes());
    }
}

/// Ends what the command left. The answer is how many processes that were, if their
/// end was not asked for, and how many of them could not be ended.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn end_the_rest(
    leader: pid_t,
    ended: Duration,
    asked: bool,
    waiting: &libc::sigset_t,
    names: &mut Told,
) -> (usize, usize) {
    // SAFETY: as for this function.
    unsafe {
        // What is not under this process is in the group, if it is anywhere.
        if !cfg!(any(target_os = "linux", target_os = "android")) {
            libc::kill(-leader, libc::SIGKILL);
            return (0, 0);
        }
        let linger = if asked { ended } else { ended + LINGER };
        let mut seen = [0; MOST_COUNTED];
        let mut count = 0;
        let mut patience = None;
        loop {
            if let Reaped::NobodyLeft = reap(leader) {
                return (if asked { 0 } else { count }, 0);
            }
            let time = now();
            if time < linger {
                pause(waiting, Some(linger.saturating_sub(time)));
                continue;
            }
            let late = time >= *patience.get_or_insert(time + PATIENCE);
            let (mut alive, mut killed) = (0, 0);
            let listed = each_child(|child| {
                alive += 1;
                if !seen.contains(&child)
                    && let Some(place) = seen.get_mut(count)
                {
                    *place = child;
                    count += 1;
                    if count <= MOST_NAMED {
                        name(child, names);
                    }
                }
                if libc::kill(child, libc::SIGKILL) == 0 {
                    killed += 1;
                }
            });
            if !listed {
                libc::kill(-leader, libc::SIGKILL);
            }
            if late || (listed && alive > 0 && killed == 0) {
                return (count, alive);
            }
            pause(waiting, Some(Duration::from_millis(10)));
        }
    }
}

/// Adds the name of a process to a list.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn name(process: pid_t, names: &mut Told) {
    let mut path = Told::new();
    let _ = write!(path, "/proc/{process}/comm\0");
    let mut name = [0; 64];
    // SAFETY: as for this function.
    let length = CStr::from_bytes_until_nul(path.bytes())
        .map_or(0, |path| unsafe { read_file(path, &mut name) });
    let _ = write!(names, "{process} ");
    let name = name.get(..length).unwrap_or_default();
    for byte in name.strip_suffix(b"\n").unwrap_or(name) {
        names.push(&[if *byte == b'\n' { b' ' } else { *byte }]);
    }
    names.push(b"\n");
}

/// Calls back with each process whose parent this one is, as the kernel lists them;
/// false where it does not.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn each_child(mut each: impl FnMut(pid_t)) -> bool {
    let path = c"/proc/thread-self/children";
    let mut buffer = [0_u8; 1024];
    // SAFETY: the path ends with a zero, and the buffer is as long as is said.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return false;
        }
        let mut number: pid_t = 0;
        loop {
            let length = libc::read(file, buffer.as_mut_ptr().cast(), buffer.len());
            let bytes = buffer.get(..usize::try_from(length).unwrap_or(0));
            let bytes = bytes.unwrap_or_default();
            if bytes.is_empty() {
                break;
            }
            for byte in bytes {
                if byte.is_ascii_digit() {
                    let digit = pid_t::from(byte - b'0');
                    number = number.saturating_mul(10).saturating_add(digit);
                } else if number > 0 {
                    each(mem::take(&mut number));
                }
            }
        }
        libc::close(file);
        if number > 0 {
            each(number);
        }
    }
    true
}

enum Reaped {
    /// The command ended.
    Leader(c_int, libc::rusage),
    /// Others may have ended, and some live.
    Others,
    NobodyLeft,
}

/// Takes note of all that have ended.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn reap(leader: pid_t) -> Reaped {
    loop {
        let mut status = 0;
        // SAFETY: an all-zero rusage is a valid one to be written to, and both
        // pointers are to live values of the right types.
        let (reaped, used) = unsafe {
            let mut used: libc::rusage = mem::zeroed();
            let reaped = libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut used);
            (reaped, used)
        };
        match reaped {
            0 => return Reaped::Others,
            reaped if reaped == leader => return Reaped::Leader(status, used),
            reaped if reaped > 0 => {}
            _ if error_number() == libc::EINTR => {}
            _ => return Reaped::NobodyLeft,
        }
    }
}

/// Sends a signal to the command and its process group, which it may have left.
/// For as long as the command is not reaped: its number is nobody else's.
///
/// # Safety
///
/// None is needed: no memory is involved, and that nobody is there is no harm.
unsafe fn signal(leader: pid_t, signal: c_int) {
    // SAFETY: as is said above.
    unsafe {
        libc::kill(-leader, signal);
        if libc::getpgid(leader) != leader {
            libc::kill(leader, signal);
        }
    }
}

/// Returns at a signal, or after some time.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn pause(waiting: &libc::sigset_t, most: Option<Duration>) {
    let time = most.map(|most| libc::timespec {
        tv_sec: libc::time_t::try_from(most.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: most.subsec_nanos() as _,
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    let none = ptr::null_mut();
    // SAFETY: no files are waited for, and both pointers are to live values.
    unsafe {
        libc::pselect(0, none, none, none, time, waiting);
    }
}

/// A clock that nobody sets.
fn now() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live value.
    unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time);
    }
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

fn error_number() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_is_written() {
        let text = "0 256 1500 20 30 4096 2 1\n12 a b\n13 c\u{1b}[2J\n";
        let report = parse(text).unwrap().unwrap();
        assert_eq!(
            report,
            Report {
                status: 256,
                wall: Duration::from_nanos(1500),
                user: Duration::from_micros(20),
                system: Duration::from_micros(30),
                peak_memory: 4096,
                left: Left {
                    count: 2,
                    survived: 1,
                    names: vec!["a b (pid 12)".into(), "c\u{fffd}[2J (pid 13)".into()],
                },
            }
        );
        let error = parse("2").unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        for text in ["", "0", "0 1 2 3", "x"] {
            assert!(parse(text).is_none(), "{text:?}");
        }
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
