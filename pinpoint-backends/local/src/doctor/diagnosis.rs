//! The examination of this machine, and what it finds.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::calibrated_loop;
use super::findings::{self, Finding};
use super::loop_times::LoopTimes;
use super::readings::{Readings, System};
use crate::error::LocalError;
use crate::process::cpus::{self, CpuList};
use crate::process::machine_lock;

/// The time that a thorough examination takes.
pub const THOROUGHLY: Duration = Duration::from_millis(2500);

/// The state of a machine over a short time, and disturbances to measurements.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The kernel's reports.
    pub readings: Readings,
    /// The times of repeated work; absent where a clock stands still.
    pub times: Option<LoopTimes>,
    /// The disturbances, the worst first.
    pub findings: Vec<Finding>,
}

/// Examines this machine for about this time: its processors that runs are pinned to, or else all
/// that this thread may use. It blocks for this time, and keeps one of them busy.
///
/// The directory of the machine's locks shows whether another job is running:
/// [`default_machine_dir`](crate::default_machine_dir).
///
/// # Errors
///
/// When the processors don't exist, or a thread can't be started.
pub fn examine(
    time: Duration,
    cpus: Option<&CpuList>,
    machine_dir: &Path,
) -> Result<Diagnosis, LocalError> {
    if let Some(cpus) = cpus {
        cpus.check()?;
    }
    let system = System {
        root: Path::new("/"),
    };
    // On a new thread, which may be pinned, and whose processor time is separate.
    let examined = cpus::on_a_thread(|| {
        if let Some(cpus) = cpus {
            cpus.pin_this_thread()?;
        }
        let usable = CpuList::of_this_thread().ok();
        let held_before = machine_lock::is_held(machine_dir);
        let rounds = calibrated_loop::calibrate();
        let before = system.counts();
        let began = Instant::now();
        let pieces = calibrated_loop::repeat(rounds, time);
        let wall = began.elapsed().as_secs_f64();
        let own: f64 = pieces.iter().map(|piece| piece.processor).sum();
        let mut readings = system.readings(&before, own / wall, usable.as_ref());
        // True is more than false, and false more than absent.
        readings.other_job = held_before.max(machine_lock::is_held(machine_dir));
        Ok((readings, LoopTimes::from_pieces(&pieces)))
    });
    let (readings, times) = examined.map_err(|source| LocalError::CannotPin { source })?;
    let findings = findings::findings(&readings, times.as_ref());
    Ok(Diagnosis {
        readings,
        times,
        findings,
    })
}
