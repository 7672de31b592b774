//! One child process and everything it starts: from its start to its end, with measurements.
//!
//! A command is started by its supervising process, which ensures its end: see `supervisor`. It
//! leads a process group in a session without a terminal, so Ctrl-C does not reach it.

#![expect(
    unsafe_code,
    reason = "these calls are in no safe interface of the standard library"
)]

use std::fs::File;
use std::io;
use std::mem;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pinpoint_core::{Key, Usage};
use tokio::sync::watch;

use crate::process::supervisor::{self, Answer, Supervisor};
pub(crate) use crate::process::supervisor::{Launch, LeftoverProcesses, Supervisors};

/// The interval at which a child's output is measured.
const WATCH: Duration = Duration::from_millis(100);

/// A child that writes more than this to one of its outputs is ended: it would fill
/// the disk.
const MOST_OUTPUT: u64 = 1 << 30;

/// The end of a child.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) started: Instant,
    pub(crate) status: ExitStatus,
    /// The limit for which it was ended.
    pub(crate) beyond: Option<ExceededLimit>,
    /// Wall time includes creating the process, some tenths of a millisecond.
    pub(crate) usage: Usage,
    /// The private memory of its supervisor, in bytes; 0 where the system does not say. On Linux
    /// the peak of memory begins there: a new process shares it before it becomes another program.
    pub(crate) supervisor_memory: u64,
    /// The reason why its instructions were not counted, if requested.
    pub(crate) uncounted: Option<io::Error>,
    /// The processes that it left, which were ended after it.
    pub(crate) left: LeftoverProcesses,
    /// Bytes that its two outputs had at its end: leftover processes may have written more.
    pub(crate) written: [u64; 2],
}

impl Ended {
    /// The reason for its failure, in a line with the line of its output that explains it; absent
    /// when it succeeded.
    pub(crate) fn failure(&self, error_line: &str) -> Option<String> {
        match self.beyond {
            Some(ExceededLimit::Timeout(limit)) => {
                return Some(format!("timed out after {limit:?}"));
            }
            Some(ExceededLimit::Output) => {
                return Some(format!(
                    "wrote more than {} MiB of output; send what is not needed to /dev/null",
                    MOST_OUTPUT >> 20
                ));
            }
            None if self.status.success() => return None,
            None => {}
        }
        let how = match self.status.code() {
            Some(code) => format!("failed with exit code {code}"),
            None => format!("was ended by a {}", self.status),
        };
        Some(match error_line {
            "" => how,
            line => format!("{how}: {line}"),
        })
    }
}

/// A limit for one child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExceededLimit {
    Timeout(Duration),
    Output,
}

/// A child did not come to its end, or is not to begin.
#[derive(Debug)]
pub(crate) enum Interrupted {
    /// It was canceled.
    Canceled,
    /// The runtime is being shut down.
    ShutDown,
    /// The supervising process of its command was killed.
    SupervisorKilled { program: String },
}

/// The reason why a child did not run.
#[derive(Debug)]
pub(crate) enum NotRun {
    /// It could not be started.
    Spawn(io::Error),
    /// It was not allowed to run, or not waited for.
    Interrupted(Interrupted),
}

/// Runs a command to its end, or to a limit, or until its request is canceled; none of its
/// processes remain then.
///
/// The process is recorded in the `register` while it lives. `holds` is released after its end,
/// even when the future was dropped before.
pub(crate) async fn execute<H: Send + 'static>(
    processes: &Arc<Processes>,
    launch: Launch,
    timeout: Option<Duration>,
    register: File,
    holds: H,
) -> Result<Ended, NotRun> {
    let files = [&launch.stdout, &launch.stderr].map(File::try_clone);
    // A request for the end of an earlier child may have come too late.
    processes.state().asked = false;
    // The kernel reports a child's end to a thread that waits for it, at once
    // and on every system; this one does nothing else.
    let mut waiter = tokio::task::spawn_blocking({
        let processes = Arc::clone(processes);
        let living = processes.living.subscribe();
        move || {
            let ended = processes.lead(&launch, &register);
            drop((launch, register, holds, living));
            ended
        }
    });
    let too_late = async {
        match timeout {
            None => std::future::pending().await,
            Some(timeout) => {
                tokio::time::sleep(timeout).await;
                timeout
            }
        }
    };
    let too_much = async {
        let length = |file: &io::Result<File>| {
            let metadata = file.as_ref().ok().and_then(|file| file.metadata().ok());
            metadata.map_or(0, |metadata| metadata.len())
        };
        while files.iter().all(|file| length(file) <= MOST_OUTPUT) {
            tokio::time::sleep(WATCH).await;
        }
    };
    let mut beyond = None;
    let joined = tokio::select! {
        biased;
        joined = &mut waiter => joined,
        limit = async {
            tokio::select! {
                timeout = too_late => ExceededLimit::Timeout(timeout),
                () = too_much => ExceededLimit::Output,
            }
        } => {
            beyond = Some(limit);
            processes.end();
            waiter.await
        }
    };
    match joined {
        Ok(ended) => {
            let ended = ended.map(|ended| Ended { beyond, ..ended })?;
            tracing::debug!(status = %ended.status, wall = ended.usage.wall, "the process ended");
            Ok(ended)
        }
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_shut_down) => Err(NotRun::Interrupted(Interrupted::ShutDown)),
        },
    }
}

/// The processes of one request: they run one after another, and are canceled together.
pub(crate) struct Processes {
    key: Key,
    bot: Option<Arc<str>>,
    supervisors: Arc<Supervisors>,
    state: Mutex<State>,
    canceled: watch::Sender<bool>,
    /// Each living child has a receiver.
    living: watch::Sender<()>,
}

/// A command that has ended, or whose supervisor was killed.
struct Supervised {
    /// The time before its start.
    started: Instant,
    supervisor: Supervisor,
    answer: Option<Answer>,
    /// The supervisor was asked to end it.
    was_asked: bool,
}

#[derive(Default)]
struct State {
    /// The supervisor of the child, from the child's start to its end.
    supervisor: Option<libc::pid_t>,
    /// The child is to end, even if it has not started.
    asked: bool,
    /// No further child may start.
    canceled: bool,
}

impl Processes {
    pub(crate) fn new(key: Key, bot: Option<Arc<str>>, supervisors: Arc<Supervisors>) -> Arc<Self> {
        Arc::new(Self {
            key,
            bot,
            supervisors,
            state: Mutex::default(),
            canceled: watch::Sender::new(false),
            living: watch::Sender::new(()),
        })
    }

    /// The key of their request.
    pub(crate) fn key(&self) -> &Key {
        &self.key
    }

    /// The bot of their job, for traces.
    pub(crate) fn bot(&self) -> Option<&str> {
        self.bot.as_deref()
    }

    /// Ends the child, if there is one, and lets no other start.
    pub(crate) fn cancel(&self) {
        self.state().canceled = true;
        self.canceled.send_replace(true);
        self.end();
    }

    /// Returns when no child lives.
    pub(crate) async fn ended(&self) {
        self.living.closed().await;
    }

    /// Checks that they are canceled, with no child alive.
    pub(crate) fn is_over(&self) -> bool {
        *self.canceled.borrow() && self.living.is_closed()
    }

    /// Awaits a future that needs them, until they are canceled.
    pub(crate) async fn unless_canceled<T, E: From<Interrupted>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let mut canceled = self.canceled.subscribe();
        tokio::select! {
            biased;
            // The sender lives as long as `self`, so waiting can't fail.
            _ = canceled.wait_for(|canceled| *canceled) => Err(Interrupted::Canceled.into()),
            done = work => done,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No operation under this lock leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a command under a supervisor. Returns the time at which it was started, too.
    fn supervise(&self, launch: &Launch, register: &File) -> Result<Supervised, NotRun> {
        // Held while the child is started, so that a cancel finds its number.
        let mut state = self.state();
        if state.canceled {
            return Err(NotRun::Interrupted(Interrupted::Canceled));
        }
        let started = Instant::now();
        let supervisors = &self.supervisors;
        let supervisor = supervisors.start(launch, register).map_err(NotRun::Spawn)?;
        state.supervisor = Some(supervisor.process);
        if state.asked {
            supervisor::ask_to_end(supervisor.process);
        }
        drop(state);

        let answer = supervisor.wait();
        // Its number is not free for others before it is reaped, so no other process is signaled by
        // it.
        let mut state = self.state();
        state.supervisor = None;
        let was_asked = state.asked;
        drop(state);
        Ok(Supervised {
            started,
            supervisor,
            answer,
            was_asked,
        })
    }

    /// Starts a child and stays with it to its end.
    fn lead(&self, launch: &Launch, register: &File) -> Result<Ended, NotRun> {
        let Supervised {
            started,
            mut supervisor,
            answer,
            was_asked,
        } = self.supervise(launch, register)?;
        let (count, supervisor_memory) = (supervisor.count.take(), supervisor.memory);
        // It may have heard of the request only after the end of the child.
        if answer.as_ref().is_some_and(|answer| answer.stays) && !was_asked {
            self.supervisors.keep(supervisor);
        } else {
            if answer.is_none() {
                supervisor.kill_session();
            }
            supervisor.end();
            if answer.is_none() && supervisor.died_idle() {
                return self.lead(launch, register);
            }
        }
        match answer.map(|answer| answer.report) {
            Some(Ok(report)) => {
                let count = count.map(|count| count?.read()).transpose();
                let (instructions, uncounted) = match count {
                    Ok(instructions) => (instructions, None),
                    Err(error) => (None, Some(error)),
                };
                Ok(Ended {
                    started,
                    status: ExitStatus::from_raw(report.status),
                    beyond: None,
                    usage: Usage {
                        wall: report.wall.as_secs_f64(),
                        user: report.user.as_secs_f64(),
                        system: report.system.as_secs_f64(),
                        peak_memory: report.peak_memory * MEMORY_UNIT,
                        instructions,
                    },
                    supervisor_memory,
                    uncounted,
                    left: report.left,
                    written: report.written,
                })
            }
            Some(Err(error)) => Err(NotRun::Spawn(error)),
            None => {
                let program = launch.command.get_program().to_string_lossy().into_owned();
                let killed = Interrupted::SupervisorKilled { program };
                Err(NotRun::Interrupted(killed))
            }
        }
    }

    /// Asks the child to end; its supervisor ends it after a grace period.
    fn end(&self) {
        let mut state = self.state();
        state.asked = true;
        if let Some(supervisor) = state.supervisor {
            // The number is not free for others while it is in the state.
            supervisor::ask_to_end(supervisor);
        }
    }
}

/// Cancels the processes of a request when the future of its work is dropped.
pub(crate) struct CancelGuard(pub(crate) Arc<Processes>);

impl Drop for CancelGuard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// The unit in which systems count memory: Linux and the BSDs in KiB, macOS in bytes.
const MEMORY_UNIT: u64 = if cfg!(target_vendor = "apple") {
    1
} else {
    1024
};

/// Returns true if this process ignores the closing of its terminal, as `nohup` makes it.
pub fn ignores_hangup() -> bool {
    // SAFETY: an all-zero sigaction is a valid one to be written to, and nothing is
    // changed.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Ends a recorded child that is still alive.
///
/// Only for the holder of the lock under which it was started, since the process
/// that started it is dead then.
pub(crate) async fn end_leftover(record: &str) {
    let leftover = Leftover::on(record);
    while leftover.end() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A child on record: its supervisor, and then itself.
struct Leftover {
    supervisor: Option<Identity>,
    leader: Option<Identity>,
    began: Instant,
}

impl Leftover {
    fn on(record: &str) -> Self {
        let mut lines = record.lines();
        Self {
            supervisor: lines.next().and_then(Identity::parse),
            leader: lines.next().and_then(Identity::parse),
            began: Instant::now(),
        }
    }

    /// Kills the child and its process group; returns false when no repetition is needed.
    ///
    /// The supervisor lives on while it ends all leftover processes. All die as soon as they are
    /// scheduled; one that hangs in the kernel must not hang us.
    fn end(&self) -> bool {
        const DEATH_TIMEOUT: Duration = Duration::from_secs(10);
        let lives = |recorded: &&Identity| recorded.lives();
        let leader = self.leader.as_ref().filter(lives);
        if let Some(leader) = leader {
            // SAFETY: no memory is involved, and no other process has the number.
            unsafe {
                libc::kill(-leader.process, libc::SIGKILL);
            }
        }
        let lives = leader.is_some() || self.supervisor.as_ref().is_some_and(Identity::lives);
        lives && self.began.elapsed() < DEATH_TIMEOUT
    }
}

#[derive(PartialEq)]
struct Identity {
    process: libc::pid_t,
    /// The time of its start, in ticks since boot.
    started: u64,
    dead: bool,
}

impl Identity {
    /// Reads a line of `/proc/PID/stat`. See proc(5): the name in parentheses may hold anything,
    /// the state is field 3, the start field 22.
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

    fn launch(script: &str) -> (Launch, File) {
        let mut command = std::process::Command::new("/bin/sh");
        command.args(["-c", script]);
        let launch = Launch {
            command,
            stdout: tempfile::tempfile().unwrap(),
            stderr: tempfile::tempfile().unwrap(),
            cpus: None,
            count_instructions: false,
        };
        (launch, tempfile::tempfile().unwrap())
    }

    fn processes(supervisors: &Arc<Supervisors>) -> Arc<Processes> {
        let key = Key {
            job: "job".into(),
            action: 1,
        };
        Processes::new(key, None, Arc::clone(supervisors))
    }

    #[tokio::test]
    async fn a_child_whose_time_is_over_before_it_starts_ends_all_the_same() {
        let processes = processes(&Arc::default());
        for _ in 0..20 {
            let (launch, register) = launch("sleep 1000");
            let limit = Some(Duration::ZERO);
            let ended = execute(&processes, launch, limit, register, ()).await;
            let limit = ExceededLimit::Timeout(Duration::ZERO);
            assert_eq!(ended.unwrap().beyond, Some(limit));
            // The next one is not asked to end.
            let (launch, register) = self::launch("exit 3");
            let ended = execute(&processes, launch, None, register, ()).await;
            assert_eq!(ended.unwrap().status.code(), Some(3));
        }
    }

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
