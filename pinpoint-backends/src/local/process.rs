//! One child process and everything it starts: begun, measured, ended.
//!
//! A child leads a session, and so a process group, of its own. The terminal's
//! Ctrl-C does not reach it, and whatever it starts can be ended with it.
//!
//! The calls below the standard library are few: `wait4` for what the child
//! used, `waitid` to see its end before its number is free for others, `kill`
//! for the group, and what the child itself does before it becomes another
//! program.

#![expect(
    unsafe_code,
    reason = "these calls are in no safe interface of the standard library"
)]

use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pinpoint_core::Usage;
use tokio::sync::watch;

use super::LocalError;

/// What a process that was asked to end has left to do so.
const GRACE: Duration = Duration::from_secs(2);

/// How a child ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    pub(super) started: Instant,
    pub(super) status: ExitStatus,
    pub(super) timed_out: bool,
    /// Wall time includes making the process, some tenths of a millisecond.
    ///
    /// On Linux the peak of memory begins at what the new process shares with
    /// this one when it is made, before it becomes another program: the
    /// private memory of this process is a floor under it.
    pub(super) usage: Usage,
}

/// Why a child did not run.
#[derive(Debug)]
pub(super) enum NotRun {
    /// It could not be started.
    Spawn(io::Error),
    /// It could be started, and then not be waited for, or was not to be.
    Failed(LocalError),
}

/// Runs a command to its end, or to the timeout, or until the work is
/// abandoned; then nothing of its process group is left.
///
/// The process is on record in the `register` while it lives. What it `holds`
/// is let go after its end, even when the future was dropped before.
pub(super) async fn execute<H: Send + 'static>(
    work: &Arc<Work>,
    command: Command,
    timeout: Option<Duration>,
    register: File,
    holds: H,
) -> Result<Ended, NotRun> {
    // The kernel tells of a child's end to a thread that waits for it, at once
    // and on every system; this one does nothing else.
    let mut waiter = tokio::task::spawn_blocking({
        let work = Arc::clone(work);
        let living = work.living.subscribe();
        move || {
            let ended = work.lead(command, register);
            drop((holds, living));
            ended
        }
    });
    let mut timed_out = false;
    let joined = match timeout {
        None => waiter.await,
        Some(timeout) => match tokio::time::timeout(timeout, &mut waiter).await {
            Ok(joined) => joined,
            Err(_elapsed) => {
                timed_out = true;
                work.end();
                waiter.await
            }
        },
    };
    match joined {
        Ok(ended) => ended.map(|ended| Ended { timed_out, ..ended }),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_shut_down) => Err(NotRun::Failed(LocalError::ShutDown)),
        },
    }
}

/// Work that runs one child after another, and can be abandoned.
pub(super) struct Work {
    state: Mutex<State>,
    changed: Condvar,
    abandoned: watch::Sender<bool>,
    /// Each child that lives has a receiver.
    living: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    /// The child, from its start until its number is free for others.
    leader: Option<libc::pid_t>,
    /// How many children there were: tells this one from the next.
    count: u64,
    /// This child was asked to end.
    ending: bool,
    /// There is to be no other child.
    abandoned: bool,
}

impl Work {
    pub(super) fn begin() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            abandoned: watch::Sender::new(false),
            living: watch::Sender::new(()),
        })
    }

    /// Ends the child, if one lives, and lets no other begin.
    pub(super) fn abandon(self: &Arc<Self>) {
        self.state().abandoned = true;
        self.abandoned.send_replace(true);
        self.end();
    }

    /// Returns when the work is abandoned.
    pub(super) async fn abandoned(&self) {
        // The sender lives as long as `self`, so waiting can't fail.
        let _ = self.abandoned.subscribe().wait_for(|done| *done).await;
    }

    /// Returns when no child lives.
    pub(super) async fn over(&self) {
        self.living.closed().await;
    }

    /// Is it abandoned, and no child alive?
    pub(super) fn is_over(&self) -> bool {
        *self.abandoned.borrow() && self.living.is_closed()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that is done under this lock leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a child and stays with it to its end.
    fn lead(&self, mut command: Command, register: File) -> Result<Ended, NotRun> {
        // SAFETY: the closure calls nothing but functions that POSIX allows
        // between fork and exec, and allocates nothing.
        unsafe {
            command.pre_exec(move || {
                if libc::setsid() < 0 {
                    return Err(io::Error::last_os_error());
                }
                put_on_record(&register);
                Ok(())
            });
        }
        // Held while the child is started: whoever wants to end it will know
        // its number.
        let mut state = self.state();
        if state.abandoned {
            return Err(NotRun::Failed(LocalError::Cancelled));
        }
        let started = Instant::now();
        let child = command.spawn().map_err(NotRun::Spawn)?;
        let leader = child.id().cast_signed();
        state.leader = Some(leader);
        state.count += 1;
        state.ending = false;
        drop(state);

        wait_for_end(leader);
        let wall = started.elapsed();

        let mut state = self.state();
        // The dead leader still keeps its number, so this can hit no others.
        signal(leader, libc::SIGKILL);
        state.leader = None;
        drop(state);
        self.changed.notify_all();
        let (status, used) = reap(leader).map_err(|source| {
            NotRun::Failed(LocalError::Spawn {
                program: command.get_program().to_string_lossy().into_owned(),
                source,
            })
        })?;
        wait_until_gone(leader);
        Ok(Ended {
            started,
            status,
            timed_out: false,
            usage: Usage {
                wall: wall.as_secs_f64(),
                user: seconds(used.ru_utime),
                system: seconds(used.ru_stime),
                peak_memory: peak_memory(&used),
            },
        })
    }

    /// Asks the child to end, and sees to it after the grace.
    ///
    /// The grace is the leader's: what it leaves behind ends with it.
    fn end(self: &Arc<Self>) {
        let mut state = self.state();
        let Some(leader) = state.leader else {
            return;
        };
        if mem::replace(&mut state.ending, true) {
            return;
        }
        signal(leader, libc::SIGTERM);
        let count = state.count;
        drop(state);
        let work = Arc::clone(self);
        let kill = move |grace| {
            let same = |state: &State| state.count == count && state.leader.is_some();
            let (state, _) = work
                .changed
                .wait_timeout_while(work.state(), grace, |state| same(state))
                .unwrap_or_else(PoisonError::into_inner);
            if same(&state) {
                signal(leader, libc::SIGKILL);
            }
        };
        let kill_now = kill.clone();
        if thread::Builder::new().spawn(move || kill(GRACE)).is_err() {
            // No thread to wait with: there can be no grace.
            kill_now(Duration::ZERO);
        }
    }
}

/// Sends a signal to a process group.
fn signal(leader: libc::pid_t, signal: libc::c_int) {
    // SAFETY: no memory is involved. The one way to fail is that nobody is
    // left in the group, and then there is nothing to do.
    unsafe {
        libc::kill(-leader, signal);
    }
}

/// Returns when the child has ended, and leaves it for [`reap`].
fn wait_for_end(child: libc::pid_t) {
    loop {
        // SAFETY: an all-zero siginfo_t is a valid one to be written to.
        let result = unsafe {
            let mut information: libc::siginfo_t = mem::zeroed();
            libc::waitid(
                libc::P_PID,
                child.cast_unsigned(),
                &raw mut information,
                libc::WEXITED | libc::WNOWAIT,
            )
        };
        // Anything but an interruption is told again by `reap`.
        if result == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
}

/// Gives killed processes the moment they need to be gone, so that they don't
/// disturb what runs next. Usually nobody is left, and one look is all.
#[expect(
    clippy::disallowed_methods,
    reason = "called on a thread that waits for the child"
)]
fn wait_until_gone(leader: libc::pid_t) {
    // Their parent is the first process of the system now. One that reaps
    // nobody, as in some containers, keeps them in the list for ever.
    const PATIENCE: Duration = Duration::from_millis(200);
    let began = Instant::now();
    // SAFETY: no memory is involved; signal 0 is none.
    while unsafe { libc::kill(-leader, 0) } == 0 && began.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(1));
    }
}

fn reap(child: libc::pid_t) -> io::Result<(ExitStatus, libc::rusage)> {
    loop {
        let mut status = 0;
        // SAFETY: an all-zero rusage is a valid one to be written to.
        let mut used: libc::rusage = unsafe { mem::zeroed() };
        // SAFETY: both pointers are to live values of the right types.
        let reaped = unsafe { libc::wait4(child, &raw mut status, 0, &raw mut used) };
        if reaped == child {
            return Ok((ExitStatus::from_raw(status), used));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

fn peak_memory(used: &libc::rusage) -> u64 {
    // Linux and the BSDs count in KiB, macOS in bytes.
    let unit = if cfg!(target_vendor = "apple") {
        1
    } else {
        1024
    };
    u64::try_from(used.ru_maxrss).unwrap_or(0) * unit
}

/// In the child, before it becomes another program: writes down who it is.
///
/// What the kernel says of a process names it once and for all: its number and
/// when it started. Done by the child itself, there is no moment in which it
/// runs unrecorded, whenever the parent may die. Where there is no `/proc`
/// nothing is recorded, which [`end_leftover`] takes for "nobody".
fn put_on_record(register: &File) {
    let mut line = [0_u8; 1024];
    // SAFETY: the path ends with a zero, and the buffer is as long as is said.
    unsafe {
        let own = libc::open(
            c"/proc/self/stat".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        );
        if own < 0 {
            return;
        }
        let length = libc::read(own, line.as_mut_ptr().cast(), line.len());
        if let Ok(length) = usize::try_from(length) {
            libc::pwrite(register.as_raw_fd(), line.as_ptr().cast(), length, 0);
        }
        libc::close(own);
    }
}

/// Ends the process group that is on record, if it lives on.
///
/// Only for whoever holds the lock under which it was started: the process
/// that started it is dead then.
pub(super) async fn end_leftover(record: &str) {
    let Some(recorded) = Identity::parse(record) else {
        return;
    };
    // It dies as soon as it is scheduled; one that hangs in the kernel must not
    // hang us.
    const PATIENCE: Duration = Duration::from_secs(10);
    let began = Instant::now();
    while recorded.lives() && began.elapsed() < PATIENCE {
        signal(recorded.process, libc::SIGKILL);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[derive(PartialEq)]
struct Identity {
    process: libc::pid_t,
    /// In ticks since the machine started.
    started: u64,
    dead: bool,
}

impl Identity {
    /// From a line of `/proc/PID/stat`. See proc(5): the name in parentheses
    /// may hold anything, the state is field 3, the start field 22.
    fn parse(stat: &str) -> Option<Self> {
        let (process, rest) = stat.split_once(" (")?;
        let (_name, fields) = rest.lines().next()?.rsplit_once(") ")?;
        let mut fields = fields.split(' ');
        let dead = fields.next()? == "Z";
        Some(Self {
            process: process.parse().ok().filter(|process| *process > 1)?,
            started: fields.nth(18)?.parse().ok()?,
            dead,
        })
    }

    fn lives(&self) -> bool {
        std::fs::read_to_string(format!("/proc/{}/stat", self.process))
            .ok()
            .and_then(|stat| Self::parse(&stat))
            .is_some_and(|now| now.started == self.started && !now.dead)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_blanks_and_parentheses() {
        let stat =
            "4711 (a) b (c)) S 1 4711 4711 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 9 9\n";
        let identity = Identity::parse(stat).unwrap();
        assert_eq!(identity.process, 4711);
        assert_eq!(identity.started, 987_654);
        assert!(!identity.dead);
    }

    #[test]
    fn what_is_no_record_names_nobody() {
        for text in ["", "\0\0", "1 (init) S 0 1", "x (a) S 1 2 3", "12"] {
            assert!(Identity::parse(text).is_none(), "{text:?}");
        }
    }
}
