//! The process between this one and a command that it runs.
//!
//! A command may leave processes running after its end: in its process group, or in sessions of
//! their own, as a server does that detaches. When its parent ends, such a process is inherited by
//! the nearest *subreaper* above it (see `PR_SET_CHILD_SUBREAPER` in prctl(2)). This process must
//! not be a subreaper: it may be a user's Python process, whose other children have nothing to do
//! with the benchmark. So each command has a small process above it, which inherits all processes
//! that the command leaves. It starts the command, waits for it, ends the remaining processes, and
//! reports. The kernel also notifies it when this process dies, in any way, and it then ends the
//! command as if it had been asked to.
//!
//! Outside of Linux there are no subreapers: there the process group of the command is ended, and
//! processes that left the group are not found. A supervisor serves for one command there.
//!
//! A supervisor is a fork of this process. Copying the address space, and losing the copy again,
//! takes a millisecond or more; a benchmark may take 50. So a supervisor stays for the next command
//! ([`Supervisors`]), unless it was asked to end the last one or could not end all processes, or
//! this process has changed what its children begin with (limits, rights, its cgroup, the files
//! that programs inherit; see [`Inheritance`]). It can't be another program: no executable of ours
//! is known to exist where this library is part of a Python process.
//!
//! After `fork` in a program with several threads only async-signal-safe calls are allowed until
//! `exec`, and the supervisor never calls `exec`: it stays a copy. All that it needs is prepared
//! by this process, in [`SharedPlan`]. It allocates nothing, takes no lock and can't panic. The
//! command is started by `posix_spawn`, which copies no page tables a second time.

#![expect(
    unsafe_code,
    reason = "these calls are in no safe interface of the standard library"
)]

mod child;
mod inheritance;
mod messages;
mod plan;
mod report;

use std::fs::File;
use std::io::{self, Read};
use std::mem::{self, MaybeUninit};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::ptr;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use libc::{c_int, pid_t};

use crate::process::processor_count::ProcessorCount;
use crate::process::sync::locked;
use child::Inherited;
use inheritance::Inheritance;
use messages::STAYS;
use plan::{Attributes, SharedPlan};
use report::Report;

pub(crate) use plan::{Launch, check_program, find};
pub(crate) use report::LeftoverProcesses;

/// The interval at which a supervisor with a command is checked: whether it was stopped, or has
/// died while a copy of its socket lives on in another process. In milliseconds.
const CHECK_INTERVAL: c_int = 100;

/// The supervisors of one executor.
#[derive(Default)]
pub(crate) struct Supervisors {
    /// One is enough: benchmarks run one at a time, and a build takes longer than a fork.
    idle: Mutex<Option<Supervisor>>,
}

impl Supervisors {
    /// Starts a command under an idle supervisor, or under a new one.
    pub(crate) fn start(&self, launch: &Launch, register: &File) -> io::Result<Supervisor> {
        let inheritance = Inheritance::of_this_thread();
        let idle = locked(&self.idle).take();
        let is_current = |idle: &Supervisor| idle.inheritance == inheritance;
        if let Some(mut idle) = idle.filter(is_current) {
            if let Err(error) = idle.prepare(launch) {
                self.keep(idle);
                return Err(error);
            }
            // It may have been killed since its last command.
            if idle.begin(launch, register).is_ok() {
                return Ok(idle);
            }
        }
        let mut new = Supervisor::new(inheritance)?;
        new.prepare(launch)?;
        new.begin(launch, register)?;
        Ok(new)
    }

    /// Keeps a supervisor for the next command.
    pub(crate) fn keep(&self, mut supervisor: Supervisor) {
        supervisor.was_idle = true;
        let other = locked(&self.idle).replace(supervisor);
        drop(other);
    }
}

/// A supervisor: idle, or with a command. An idle one ends when it is dropped.
pub(crate) struct Supervisor {
    pub(crate) process: pid_t,
    /// Its private memory, in bytes; 0 where the system does not say. It stays as it was at the
    /// fork.
    pub(crate) memory: u64,
    /// The counter of its command's instructions, or the reason it could not be opened. `None` if
    /// the command's instructions are not counted.
    pub(crate) count: Option<io::Result<ProcessorCount>>,
    /// It had a command before this one.
    was_idle: bool,
    inheritance: Inheritance,
    socket: UnixStream,
    plan: SharedPlan,
    is_reaped: bool,
}

/// The answer of a supervisor whose command has ended.
pub(crate) struct Answer {
    /// The error is from the command's start.
    pub(crate) report: io::Result<Report>,
    /// The supervisor can take another command.
    pub(crate) stays: bool,
}

impl Supervisor {
    fn new(inheritance: Inheritance) -> io::Result<Self> {
        let plan = SharedPlan::new()?;
        let (socket, other) = UnixStream::pair()?;
        socket.set_nonblocking(true)?;
        let inherited = Inherited {
            // A copy never has one of the first three numbers.
            socket: OwnedFd::from(other).try_clone()?,
            null: OwnedFd::from(File::open("/dev/null")?).try_clone()?,
            attributes: Attributes::new()?,
            plan: plan.pointer(),
            // SAFETY: it takes nothing and can't fail.
            parent: unsafe { libc::getpid() },
        };
        // SAFETY: The signal sets are made by the calls that fill them. In the child only
        // `supervise` runs, which does only what is allowed there and does not return.
        let (process, error) = unsafe {
            // A signal in the child, before it has handlers set, would run those of this process,
            // which notify others.
            let mut all = MaybeUninit::uninit();
            let mut before = MaybeUninit::uninit();
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            let process = libc::fork();
            if process == 0 {
                child::supervise(&inherited);
            }
            let error = io::Error::last_os_error();
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
            (process, error)
        };
        if process < 0 {
            return Err(error);
        }
        Ok(Self {
            process,
            memory: private_memory(process),
            count: None,
            was_idle: false,
            inheritance,
            socket,
            plan,
            is_reaped: false,
        })
    }

    /// Writes the plan for a command, and opens the count of its instructions if requested.
    ///
    /// # Errors
    ///
    /// Fails as the start of the program would.
    fn prepare(&mut self, launch: &Launch) -> io::Result<()> {
        self.plan.write(launch)?;
        let counts = launch.count_instructions;
        self.count = counts.then(|| ProcessorCount::open(self.process));
        Ok(())
    }

    /// Starts the command for which the plan was written.
    ///
    /// # Errors
    ///
    /// When it is dead.
    fn begin(&self, launch: &Launch, register: &File) -> io::Result<()> {
        messages::send_files(&self.socket, [&launch.stdout, &launch.stderr, register])
    }

    /// Waits for the end of its command. Returns `None` if it was killed.
    pub(crate) fn wait(&self) -> Option<Answer> {
        loop {
            // Before the answer is looked for: one that has ended writes no more.
            let is_dead = has_ended(self.process, libc::WNOHANG);
            let mut message = [0];
            match (&self.socket).read(&mut message) {
                Ok(1) => {
                    let report = report::parse(&self.plan.report())?;
                    let stays = message == [STAYS];
                    return Some(Answer { report, stays });
                }
                Err(error) if !is_dead && is_passing(&error) => {}
                _ => {
                    // It is dead or dying, unless a copy of this process, as a user's program may
                    // fork, has shut down the socket of both.
                    ask_to_end(self.process);
                    return None;
                }
            }
            let mut poll = libc::pollfd {
                fd: self.socket.as_raw_fd(),
                events: libc::POLLIN,
                revents: 0,
            };
            // SAFETY: the pointer is to one live value. Errors show when it is read again.
            unsafe {
                libc::poll(&raw mut poll, 1, CHECK_INTERVAL);
            }
        }
    }

    /// Checks that it was killed while it was idle, or before it began with the command that it was
    /// then given: another supervisor can start that. Only for one that is gone.
    pub(crate) fn died_idle(&self) -> bool {
        self.was_idle && !self.plan.has_begun()
    }

    /// Kills the processes of one that was killed, as far as they are in its session: the command may
    /// have been started and not be on record. The session's number is not free for others until
    /// the supervisor is reaped.
    pub(crate) fn kill_session(&self) {
        /// The longest time for killed processes to disappear. One that hangs in the kernel must
        /// not hang us.
        const DEATH_TIMEOUT: Duration = Duration::from_secs(10);
        while !has_ended(self.process, 0) {}
        let began = Instant::now();
        while began.elapsed() < DEATH_TIMEOUT {
            let members = members(self.process);
            for member in &members {
                // SAFETY: no memory is involved.
                unsafe {
                    libc::kill(*member, libc::SIGKILL);
                }
            }
            if members.is_empty() {
                return;
            }
            #[expect(
                clippy::disallowed_methods,
                reason = "this is the thread that waits for the command"
            )]
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns when it is gone. One with a command must be dead, or about to end.
    pub(crate) fn end(&mut self) {
        self.dismiss();
        end(self.process);
        self.is_reaped = true;
    }

    /// Makes it end when it is idle. It hears of that even if other processes, forked by a user's
    /// program, have copies of the socket.
    fn dismiss(&self) {
        // It fails if the other end is closed.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if self.is_reaped {
            return;
        }
        self.dismiss();
        let process = self.process;
        // Giving back its memory takes time, and one that was stopped has to be continued; this may
        // be a thread of the runtime. If there is no other, it stays a dead process.
        let _ = thread::Builder::new().spawn(move || end(process));
    }
}

/// Makes a supervisor end its command, and then itself. Only while it is not reaped: its number is
/// not free for others until then.
pub(crate) fn ask_to_end(supervisor: pid_t) {
    // SAFETY: no memory is involved.
    unsafe {
        libc::kill(supervisor, libc::SIGTERM);
        // A stopped process would not notice.
        libc::kill(supervisor, libc::SIGCONT);
    }
}

/// The living processes of a session whose leader is dead. None where the system does not list
/// processes.
fn members(session: pid_t) -> Vec<pid_t> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_member = |process: &pid_t| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // The name in parentheses may hold anything. State, parent, group and session follow.
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        let mut fields = fields.split(' ');
        let is_alive = fields
            .next()
            .is_some_and(|state| !matches!(state, "Z" | "X"));
        is_alive && fields.nth(2).and_then(|field| field.parse().ok()) == Some(session)
    };
    processes.filter(is_member).collect()
}

/// Checks for errors after which the same can be tried again.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// The private memory of a process, in bytes; 0 where the system does not say.
fn private_memory(process: pid_t) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.unwrap_or(0) * 1024
}

/// Returns when a child has ended, and is reaped.
fn end(child: pid_t) {
    while !has_ended(child, 0) {}
    loop {
        // SAFETY: the status pointer is null, so nothing is written.
        let reaped = unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
        if reaped == child || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}

/// Checks whether a child has ended; it is not reaped. One that was stopped, as by a benchmark that
/// stops its parent, is continued. The options are for `waitid`: without [`libc::WNOHANG`] this
/// returns at the next change, or earlier.
fn has_ended(child: pid_t, options: c_int) -> bool {
    // SAFETY: an all-zero siginfo_t is a valid one to be written to, and the number is that of a
    // child which is not reaped.
    unsafe {
        let mut information: libc::siginfo_t = mem::zeroed();
        let wait = |information: &mut libc::siginfo_t, options| {
            libc::waitid(libc::P_PID, child.cast_unsigned(), information, options)
        };
        let changes = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT;
        if wait(&mut information, changes | options) != 0 {
            // Where something else waits for all children of this process, the child is already
            // gone.
            return io::Error::last_os_error().kind() != io::ErrorKind::Interrupted;
        }
        if information.si_pid() != child {
            return false;
        }
        if information.si_code == libc::CLD_STOPPED {
            // It is reported once.
            wait(&mut information, libc::WSTOPPED | libc::WNOHANG);
            libc::kill(child, libc::SIGCONT);
            return false;
        }
        true
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    fn launch(script: &str) -> Launch {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        Launch {
            command,
            stdout: tempfile::tempfile().unwrap(),
            stderr: tempfile::tempfile().unwrap(),
            cpus: None,
            count_instructions: false,
        }
    }

    fn start(supervisors: &Supervisors, launch: &Launch) -> Supervisor {
        let register = tempfile::tempfile().unwrap();
        supervisors.start(launch, &register).unwrap()
    }

    /// Runs a script to its end, and keeps its supervisor, whose number is returned.
    fn run(supervisors: &Supervisors, script: &str) -> pid_t {
        let supervisor = start(supervisors, &launch(script));
        let answer = supervisor.wait().unwrap();
        assert_eq!(answer.report.unwrap().status, 0);
        assert!(answer.stays);
        let process = supervisor.process;
        supervisors.keep(supervisor);
        process
    }

    fn signal(process: pid_t, signal: c_int) {
        // SAFETY: no memory is involved, and the process is a child of this one.
        assert_eq!(unsafe { libc::kill(process, signal) }, 0);
    }

    fn until(what: &str, happened: impl Fn() -> bool) {
        for _ in 0..30_000 {
            if happened() {
                return;
            }
            #[expect(clippy::disallowed_methods, reason = "no runtime waits for this test")]
            thread::sleep(Duration::from_millis(2));
        }
        panic!("waited for {what}");
    }

    fn state(process: pid_t) -> Option<char> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.chars().next()
    }

    #[test]
    fn a_supervisor_is_replaced_when_this_process_has_changed_what_its_children_begin_with() {
        let supervisors = Supervisors::default();
        // The niceness of one thread, so that other tests keep theirs.
        let changed = move || {
            let one = run(&supervisors, "exit");
            assert_eq!(run(&supervisors, "exit"), one);
            // SAFETY: no memory is involved.
            let nicer = unsafe {
                let nicer = (libc::getpriority(libc::PRIO_PROCESS, 0) + 1).min(19);
                assert_eq!(libc::setpriority(libc::PRIO_PROCESS, 0, nicer), 0);
                nicer
            };
            assert_ne!(run(&supervisors, &format!("test $(nice) = {nicer}")), one);
        };
        thread::spawn(changed).join().unwrap();
    }

    #[test]
    fn a_supervisor_that_was_killed_before_it_saw_a_command_has_not_begun() {
        let supervisors = Supervisors::default();
        let one = run(&supervisors, "exit");
        signal(one, libc::SIGSTOP);
        until("its stop", || state(one) == Some('T'));
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        let script = format!(": > {}", file.display());
        let mut supervisor = start(&supervisors, &launch(&script));
        assert_eq!(supervisor.process, one);
        signal(one, libc::SIGKILL);
        assert!(supervisor.wait().is_none());
        supervisor.end();
        assert!(supervisor.died_idle() && !file.exists());
        assert_ne!(run(&supervisors, &script), one);
        assert!(file.exists());
    }

    #[test]
    fn the_session_of_a_supervisor_that_was_killed_with_a_command_ends() {
        let supervisors = Supervisors::default();
        let one = run(&supervisors, "exit");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        let script = format!(
            "sleep 1000 & echo $$ $! > {}; kill -KILL $PPID; sleep 1000",
            file.display()
        );
        let mut supervisor = start(&supervisors, &launch(&script));
        assert_eq!(supervisor.process, one);
        assert!(supervisor.wait().is_none());
        supervisor.kill_session();
        let processes = fs::read_to_string(file).unwrap();
        for process in processes.split_whitespace() {
            let state = state(process.parse().unwrap());
            assert!(matches!(state, None | Some('Z' | 'X')), "{state:?}");
        }
        supervisor.end();
        assert!(!supervisor.died_idle());
    }

    #[test]
    fn a_command_ends_when_a_copy_of_this_process_shuts_down_the_socket() {
        let supervisors = Supervisors::default();
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        let script = format!("echo $$ > {}; sleep 1000", file.display());
        let mut supervisor = start(&supervisors, &launch(&script));
        let number = || fs::read_to_string(&file).ok()?.trim().parse().ok();
        until("the command", || number().is_some());
        supervisor.socket.shutdown(Shutdown::Both).unwrap();
        assert!(supervisor.wait().is_none());
        supervisor.end();
        assert_eq!(state(number().unwrap()), None);
        assert_eq!(state(supervisor.process), None);
    }

    #[test]
    fn a_supervisor_outlives_the_thread_that_forked_it_and_ends_with_the_last_of_its_handles() {
        let supervisors = std::sync::Arc::new(Supervisors::default());
        let on_a_thread = || {
            let supervisors = std::sync::Arc::clone(&supervisors);
            thread::spawn(move || run(&supervisors, "exit"))
                .join()
                .unwrap()
        };
        let one = on_a_thread();
        assert_eq!(on_a_thread(), one);
        drop(supervisors);
        until("its end", || state(one).is_none());
    }

    #[test]
    fn a_command_that_can_not_start_leaves_the_supervisor_for_the_next() {
        let supervisors = Supervisors::default();
        let one = run(&supervisors, "exit");
        let register = tempfile::tempfile().unwrap();
        let mut missing = launch("exit");
        missing.command = Command::new("pinpoint-no-such-program");
        assert!(supervisors.start(&missing, &register).is_err());
        // Found by the kernel only.
        missing.command = Command::new("/pinpoint/no/such/program");
        let supervisor = start(&supervisors, &missing);
        let answer = supervisor.wait().unwrap();
        assert_eq!(
            answer.report.unwrap_err().raw_os_error(),
            Some(libc::ENOENT)
        );
        supervisors.keep(supervisor);
        assert_eq!(run(&supervisors, "exit"), one);
    }
}
