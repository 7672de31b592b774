//! The life of the supervising process.
//!
//! It allocates nothing, takes no lock and can't panic.

#![expect(
    unsafe_code,
    reason = "these calls are in no safe interface of the standard library"
)]

use std::ffi::CStr;
use std::fmt::Write as _;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use libc::{c_char, c_int, pid_t};

use super::messages::{ENDS, Received, STAYS, receive_files, send_end};
use super::plan::{Attributes, Plan};
use super::report::{MOST_COUNTED, ReportBuffer};

/// The time that a process has to end after the request.
const GRACE: Duration = Duration::from_secs(2);

/// Processes that outlive their parent by less do not count as left running: helpers that notice
/// the end of their parent, as Python's, and the last command of a pipe.
const LINGER: Duration = Duration::from_millis(50);

/// The longest time for killed processes to disappear. One that hangs in the kernel must
/// not hang us.
const DEATH_TIMEOUT: Duration = Duration::from_secs(2);

/// The interval for checks of the parent, where the kernel does not report its death.
const PARENT_CHECK: Option<Duration> = match cfg!(any(target_os = "linux", target_os = "android")) {
    true => None,
    false => Some(Duration::from_millis(100)),
};

/// Elsewhere a supervisor does not find all processes that its command left, or hear at once of the
/// end of its parent.
const MAY_STAY: bool = cfg!(any(target_os = "linux", target_os = "android"));

/// The most remaining processes that are named.
const MOST_NAMED: usize = 8;

/// Set by the signal that asks for the end. Only supervisors have its handler.
static ASKED_TO_END: AtomicBool = AtomicBool::new(false);

extern "C" fn note(signal: c_int) {
    if signal == libc::SIGTERM {
        ASKED_TO_END.store(true, Ordering::Relaxed);
    }
}

/// The part of its parent that a supervisor uses.
pub(super) struct Inherited {
    pub(super) socket: OwnedFd,
    /// An open `/dev/null`.
    pub(super) null: OwnedFd,
    pub(super) attributes: Attributes,
    /// The place of its plans.
    pub(super) plan: *mut Plan,
    pub(super) parent: pid_t,
}

/// The whole life of the supervisor. It is `extern "C"` so that a panic, which is
/// impossible, would not unwind into a copy of the program.
pub(super) extern "C" fn supervise(inherited: &Inherited) -> ! {
    let parent = inherited.parent;
    // SAFETY: this is the only thread of a process that was forked, and the functions
    // called allocate nothing and take no lock.
    unsafe {
        let waiting = become_supervisor(parent);
        let Some(socket) = keep_only_socket(inherited) else {
            libc::_exit(0);
        };
        #[cfg(any(target_os = "linux", target_os = "android"))]
        let cpus = {
            let mut cpus: libc::cpu_set_t = mem::zeroed();
            libc::sched_getaffinity(0, size_of_val(&cpus), &raw mut cpus);
            cpus
        };
        while let Some([stdout, stderr, register]) = next_files(socket, parent, &waiting) {
            let mut told = ReportBuffer::new();
            // The memory is written to by one of the two processes at a time.
            let plan = &*inherited.plan;
            plan.has_begun.store(true, Ordering::Relaxed);
            let stays = match begin(plan, &inherited.attributes, [stdout, stderr, register]) {
                Err(error) => {
                    let _ = write!(told, "{error}");
                    true
                }
                Ok((leader, began)) => accompany(leader, began, parent, &waiting, &mut told),
            };
            // A request that came with the end of the command is not for the next one.
            pause(None, &waiting, Some(Duration::ZERO));
            let stays = MAY_STAY && stays && !ASKED_TO_END.load(Ordering::Relaxed);
            // An idle supervisor holds no file of a command, no directory and no processor, and is
            // on record nowhere: who finds it there would wait for its end.
            libc::dup2(0, 1);
            libc::dup2(0, 2);
            libc::chdir(c"/".as_ptr());
            #[cfg(any(target_os = "linux", target_os = "android"))]
            libc::sched_setaffinity(0, size_of_val(&cpus), &raw const cpus);
            if stays {
                libc::ftruncate(register, 0);
            }
            for file in [stdout, stderr, register] {
                libc::close(file);
            }
            (*inherited.plan).report = told;
            send_end(socket, if stays { STAYS } else { ENDS });
            if !stays {
                break;
            }
        }
        libc::_exit(0);
    }
}

/// Leaves the terminal, takes in orphans, and is notified of exits. Returns the signals that are
/// blocked while waiting.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn become_supervisor(parent: pid_t) -> libc::sigset_t {
    // SAFETY: an all-zero sigaction is a valid one, and so is the set that
    // `sigfillset` fills; no other memory is involved.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = note as extern "C" fn(c_int) as usize;
        let mut waiting: libc::sigset_t = mem::zeroed();
        libc::sigfillset(&raw mut waiting);
        for signal in [libc::SIGCHLD, libc::SIGTERM] {
            libc::sigaction(signal, &raw const action, ptr::null_mut());
            libc::sigdelset(&raw mut waiting, signal);
        }
        libc::setsid();
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            libc::prctl(libc::PR_SET_NAME, c"pinpoint-run".as_ptr());
            libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
            // It comes with the end of the thread that forked, too, after which the process lives
            // on: so it is a signal that only makes a supervisor look for its parent.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGCHLD);
        }
        if libc::getppid() != parent {
            libc::_exit(0);
        }
        waiting
    }
}

/// Points the standard streams to nothing, and closes all files but the socket: among them are
/// locks that would stay taken, and pipes whose readers would wait. Those that programs inherit are
/// kept for the commands. Returns the new number of the socket, below `FD_SETSIZE`.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn keep_only_socket(inherited: &Inherited) -> Option<c_int> {
    /// The most files that are looked at, one by one.
    const MAX_FILES: c_int = 65_536;
    /// The first beyond the standard streams.
    const FIRST: c_int = 3;
    let socket = inherited.socket.as_raw_fd();
    // SAFETY: nothing here uses any of these files later.
    unsafe {
        for stream in 0..FIRST {
            libc::dup2(inherited.null.as_raw_fd(), stream);
        }
        let most = c_int::try_from(libc::sysconf(libc::_SC_OPEN_MAX)).unwrap_or(MAX_FILES);
        let most = most.clamp(FIRST, MAX_FILES);
        for file in FIRST..most {
            let flags = libc::fcntl(file, libc::F_GETFD);
            if file != socket && flags >= 0 && flags & libc::FD_CLOEXEC != 0 {
                libc::close(file);
            }
        }
        let low = libc::fcntl(socket, libc::F_DUPFD_CLOEXEC, FIRST);
        let is_low = usize::try_from(low).is_ok_and(|low| low < libc::FD_SETSIZE);
        is_low.then(|| {
            libc::close(socket);
            // Files may be open beyond a limit that was lowered, too.
            #[cfg(target_os = "linux")]
            libc::syscall(libc::SYS_close_range, most, c_int::MAX, 0);
            low
        })
    }
}

/// Waits for the files of the next command; absent when the supervisor is to end.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn next_files(socket: c_int, parent: pid_t, waiting: &libc::sigset_t) -> Option<[c_int; 3]> {
    // SAFETY: as for this function.
    unsafe {
        loop {
            // Before the socket is looked at: a request to end a command comes after its files, and
            // has to be answered with a report on it.
            let asked = ASKED_TO_END.load(Ordering::Relaxed) || libc::getppid() != parent;
            match receive_files(socket) {
                Received::Files(files) => return Some(files),
                Received::Nothing if !asked => pause(Some(socket), waiting, PARENT_CHECK),
                _ => return None,
            }
        }
    }
}

/// Starts the command, and returns its number and its start time. It and this process are recorded
/// from then on.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn begin(
    plan: &Plan,
    attributes: &Attributes,
    [stdout, stderr, register]: [c_int; 3],
) -> Result<(pid_t, Duration), c_int> {
    // SAFETY: all pointers are to the memory of the plan, lists end with null, and
    // strings with a zero.
    unsafe {
        if libc::chdir(plan.directory) != 0
            || libc::dup2(stdout, 1) < 0
            || libc::dup2(stderr, 2) < 0
        {
            return Err(error_number());
        }
        // Inherited by everything that the command starts.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if let Some(cpus) = &plan.cpus
            && libc::sched_setaffinity(0, size_of_val(cpus), ptr::from_ref(cpus)) != 0
        {
            // They existed when the job began. The kernel's number, EINVAL, would be blamed on the
            // program.
            return Err(libc::ENODEV);
        }
        let recorded = record(register, c"/proc/self/stat", 0);
        let spawn = |program: *const c_char, arguments: *const *mut c_char, leader: &mut pid_t| {
            libc::posix_spawn(
                leader,
                program,
                ptr::null(),
                &raw const attributes.0,
                arguments,
                plan.environment,
            )
        };
        let mut leader = 0;
        let began = now();
        let mut error = spawn(plan.program, plan.arguments, &mut leader);
        if error == libc::ENOEXEC {
            error = spawn(c"/bin/sh".as_ptr(), plan.shell_arguments, &mut leader);
        }
        if error != 0 {
            return Err(error);
        }
        let mut path = ReportBuffer::new();
        let _ = write!(path, "/proc/{leader}/stat\0");
        if let Ok(path) = CStr::from_bytes_until_nul(path.bytes()) {
            record(register, path, recorded);
        }
        Ok((leader, began))
    }
}

/// Records the identity of a process: its number and start time, as the kernel gives
/// them, identify it uniquely. Without `/proc` nothing is recorded. Returns the place for
/// what follows.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn record(register: c_int, path: &CStr, at: libc::off_t) -> libc::off_t {
    let mut line = [0_u8; 1024];
    // SAFETY: the buffer has the length given.
    unsafe {
        let length = read_file(path, &mut line);
        let written = libc::pwrite(register, line.as_ptr().cast(), length, at);
        at + libc::off_t::try_from(written.max(0)).unwrap_or(0)
    }
}

/// Reads the beginning of a small file; empty if it can't be read.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn read_file(path: &CStr, buffer: &mut [u8]) -> usize {
    // SAFETY: the path ends with a zero, and the buffer has the length given.
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

/// Waits for the command, ends all processes that it leaves, and records everything for the report.
/// Returns true if that was all as usual: nobody asked for the end, and this process has no child.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn accompany(
    leader: pid_t,
    began: Duration,
    parent: pid_t,
    waiting: &libc::sigset_t,
    told: &mut ReportBuffer,
) -> bool {
    // SAFETY: as for this function.
    unsafe {
        let mut deadline = None;
        let (ended, status, used, written) = loop {
            let time = now();
            // Later output is not the command's, if others have to be ended. They may wait for its
            // number to be free.
            let written = has_ended(leader).then(|| lengths());
            if let Reaped::Leader(status, used) = reap(leader) {
                break (time, status, used, written.unwrap_or_else(|| lengths()));
            }
            let asked = ASKED_TO_END.load(Ordering::Relaxed) || libc::getppid() != parent;
            match deadline {
                None if asked => {
                    signal(leader, libc::SIGTERM);
                    deadline = Some(time + GRACE);
                }
                Some(moment) if time >= moment => {
                    signal(leader, libc::SIGKILL);
                    // Repeated if it still exists.
                    deadline = Some(time + DEATH_TIMEOUT);
                }
                _ => {}
            }
            let left = deadline.map(|moment| moment.saturating_sub(now()));
            pause(None, waiting, left.into_iter().chain(PARENT_CHECK).min());
        };
        let mut names = ReportBuffer::new();
        let asked = deadline.is_some();
        let rest = end_the_rest(leader, ended, asked, waiting, &mut names);
        let (count, survived) = (rest.count, rest.survived);
        // The types of the two differ between systems.
        let microseconds =
            |time: libc::timeval| (time.tv_sec as f64 * 1e6 + time.tv_usec as f64) as u64;
        let _ = writeln!(
            told,
            "0 {status} {} {} {} {} {count} {survived} {} {}",
            ended.saturating_sub(began).as_nanos(),
            microseconds(used.ru_utime),
            microseconds(used.ru_stime),
            used.ru_maxrss,
            written[0],
            written[1],
        );
        told.push(names.bytes());
        !asked && rest.is_gone
    }
}

/// Checks whether the command has ended, but is not reaped yet.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn has_ended(leader: pid_t) -> bool {
    // SAFETY: an all-zero siginfo_t is a valid one to be written to.
    unsafe {
        let mut about: libc::siginfo_t = mem::zeroed();
        let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_PID, leader.cast_unsigned(), &raw mut about, options) == 0
            && about.si_pid() == leader
    }
}

/// The lengths of both outputs.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn lengths() -> [u64; 2] {
    // SAFETY: as for this function.
    unsafe { [length(1), length(2)] }
}

/// The length of an open file.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn length(file: c_int) -> u64 {
    // SAFETY: an all-zero stat is a valid one to be written to.
    unsafe {
        let mut about: libc::stat = mem::zeroed();
        match libc::fstat(file, &raw mut about) {
            0 => u64::try_from(about.st_size).unwrap_or(0),
            _ => 0,
        }
    }
}

/// Processes that a command left.
struct Rest {
    /// Their number; 0 if their end was requested.
    count: usize,
    /// The number that could not be ended, as far as known.
    survived: usize,
    /// This process has no child, for certain.
    is_gone: bool,
}

/// Ends all processes that the command left.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn end_the_rest(
    leader: pid_t,
    ended: Duration,
    asked: bool,
    waiting: &libc::sigset_t,
    names: &mut ReportBuffer,
) -> Rest {
    // SAFETY: as for this function.
    unsafe {
        // Processes that are not below this one are in the group, if anywhere.
        if !cfg!(any(target_os = "linux", target_os = "android")) {
            libc::kill(-leader, libc::SIGKILL);
            return Rest {
                count: 0,
                survived: 0,
                is_gone: false,
            };
        }
        let linger = if asked { ended } else { ended + LINGER };
        let mut seen = [0; MOST_COUNTED];
        let mut count = 0;
        let mut patience = None;
        loop {
            if let Reaped::NobodyLeft = reap(leader) {
                return Rest {
                    count: if asked { 0 } else { count },
                    survived: 0,
                    is_gone: true,
                };
            }
            let time = now();
            if time < linger {
                pause(None, waiting, Some(linger.saturating_sub(time)));
                continue;
            }
            let late = time >= *patience.get_or_insert(time + DEATH_TIMEOUT);
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
                return Rest {
                    count,
                    survived: alive,
                    is_gone: false,
                };
            }
            pause(None, waiting, Some(Duration::from_millis(10)));
        }
    }
}

/// Adds the name of a process to a list.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn name(process: pid_t, names: &mut ReportBuffer) {
    let mut path = ReportBuffer::new();
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

/// Calls back with each child of this process, as the kernel lists them; returns false where it
/// does not.
///
/// # Safety
///
/// As for [`supervise`].
unsafe fn each_child(mut each: impl FnMut(pid_t)) -> bool {
    let path = c"/proc/thread-self/children";
    let mut buffer = [0_u8; 1024];
    // SAFETY: the path ends with a zero, and the buffer has the length given.
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

/// Reaps the processes that have ended.
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

/// Sends a signal to the command and its process group, which it may have left. Only until the
/// command is reaped: its number is in use until then.
///
/// # Safety
///
/// No conditions: no memory is involved, and a signal to no process does no harm.
unsafe fn signal(leader: pid_t, signal: c_int) {
    // SAFETY: as stated above.
    unsafe {
        libc::kill(-leader, signal);
        if libc::getpgid(leader) != leader {
            libc::kill(leader, signal);
        }
    }
}

/// Returns at a signal, after some time, or when a file can be read.
///
/// # Safety
///
/// As for [`supervise`]; the file's number is below `FD_SETSIZE`.
unsafe fn pause(file: Option<c_int>, waiting: &libc::sigset_t, most: Option<Duration>) {
    let time = most.map(|most| libc::timespec {
        tv_sec: libc::time_t::try_from(most.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: most.subsec_nanos() as _,
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    let none = ptr::null_mut();
    // SAFETY: an all-zero set of files is an empty one, and all pointers are to live values.
    unsafe {
        let mut files: libc::fd_set = mem::zeroed();
        if let Some(file) = file {
            libc::FD_SET(file, &raw mut files);
        }
        let most = file.map_or(0, |file| file + 1);
        libc::pselect(most, &raw mut files, none, none, time, waiting);
    }
}

/// A clock that is never set.
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
