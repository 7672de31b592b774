//! The process between this one and a command that it runs.
//!
//! A command may leave processes running after its end: in its process group, or in sessions of
//! their own, as a server does that detaches. When its parent ends, such a process is inherited by
//! the nearest *subreaper* above it (see `PR_SET_CHILD_SUBREAPER` in prctl(2)). This process must
//! not be a subreaper: it may be a user's Python process, whose other children have nothing to do
//! with the benchmark. So each command has a small process above it, forked for it alone, which
//! inherits all processes that the command leaves. It starts the command, waits for it, ends the
//! remaining processes, reports, and exits. The kernel also notifies it when this process dies, in
//! any way, and it then ends the command as if it had been asked to.
//!
//! Outside of Linux there are no subreapers: there the process group of the command is ended, and
//! processes that left the group are not found.
//!
//! After `fork` in a program with several threads only async-signal-safe calls are allowed until
//! `exec`, and the supervisor never calls `exec`: it stays a copy. All that it needs is prepared
//! before, in [`Plan`]. It allocates nothing, takes no lock and can't panic. The command is started
//! by `posix_spawn`, which copies no page tables a second time.

#![expect(
    unsafe_code,
    reason = "these calls are in no safe interface of the standard library"
)]

mod child;
mod plan;
mod report;

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::net::UnixDatagram;
use std::ptr;

use libc::pid_t;

use report::{REPORT_LENGTH, Report};

pub(crate) use plan::{Launch, Plan, check_program, find};
pub(crate) use report::LeftoverProcesses;

/// A supervisor that was started.
pub(crate) struct Supervisor {
    pub(crate) process: pid_t,
    receiver: UnixDatagram,
}

impl Supervisor {
    /// Starts the supervisor, which starts the command.
    pub(crate) fn start(plan: Plan) -> io::Result<Self> {
        // SAFETY: `getpid` takes nothing and can't fail. The signal sets are made by
        // the calls that fill them. In the child only `supervise` runs, which does only
        // what is allowed there and does not return.
        let (process, error) = unsafe {
            let parent = libc::getpid();
            // A signal in the child, before it has handlers set, would run those of this process,
            // which notify others.
            let mut all = MaybeUninit::uninit();
            let mut before = MaybeUninit::uninit();
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            let process = libc::fork();
            if process == 0 {
                child::supervise(&plan, parent);
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
            receiver: plan.receiver,
        })
    }

    /// Its report, once it has ended; absent when it was killed. The error is from the command's
    /// start.
    pub(crate) fn report(&self) -> Option<io::Result<Report>> {
        let mut report = [0; REPORT_LENGTH];
        let length = self.receiver.recv(&mut report).ok()?;
        report::parse(&String::from_utf8_lossy(&report[..length]))
    }
}
