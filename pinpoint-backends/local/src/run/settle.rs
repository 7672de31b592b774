//! Waiting for a quiet machine before a run.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::config::LocalConfig;
use crate::doctor::{CpuTimes, CpuUse, severity_of_load};
use crate::error::LocalError;
use crate::process::cpus::CpuList;
use crate::process::files;
use crate::process::sync::locked;

/// The interval over which processor use is measured: 25 of the kernel's ticks.
const BUSY_SAMPLE_TIME: Duration = Duration::from_millis(250);

/// Waits for a quiet machine before the runs of a job.
pub(crate) struct Settling {
    most: Duration,
    cpus: Option<CpuList>,
    /// The job's file of waits.
    file: PathBuf,
    waits: Mutex<Waits>,
}

/// A run that waits for a quiet machine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SettleWait {
    /// The number of processors that other processes kept busy lately.
    pub busy: f64,
    /// The number of processors that runs may use.
    pub processors: usize,
    /// The time since the wait began.
    pub waited: Duration,
    /// The longest that it may last.
    pub most: Duration,
}

/// Ends the display of a wait, however that ends.
struct WaitDisplay<'a>(&'a watch::Sender<Option<SettleWait>>);

impl Drop for WaitDisplay<'_> {
    fn drop(&mut self) {
        self.0.send_if_modified(|waiting| waiting.take().is_some());
    }
}

/// The waits of a job until now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Waits {
    /// Runs, or pairs, that had to wait.
    delayed: u64,
    /// Those of them for which the machine did not become quiet.
    disturbed: u64,
    waited: Duration,
}

impl Settling {
    /// Prepares the waits of a job; `None` where it does not wait.
    pub(crate) fn open(config: &LocalConfig, job_dir: &Path) -> Result<Option<Self>, LocalError> {
        let Some(most) = config.settle else {
            return Ok(None);
        };
        let settling = Self {
            most,
            // Runs inherit the processors of this process.
            cpus: (config.cpus.clone()).or_else(|| CpuList::of_this_thread().ok()),
            file: file(job_dir),
            waits: Mutex::new(files::read_json(&file(job_dir))?.unwrap_or_default()),
        };
        // An unsupported system is an error at once.
        times()?;
        Ok(Some(settling))
    }

    /// Returns once others leave the processors alone, or it has taken too long.
    ///
    /// The rest of the job waits: its runs for this one, and its builds for the machine. The state
    /// of the wait is published.
    pub(crate) async fn settle(
        &self,
        shown: &watch::Sender<Option<SettleWait>>,
    ) -> Result<(), LocalError> {
        let began = Instant::now();
        let WaitDisplay(shown) = &WaitDisplay(shown);
        let mut before = times()?;
        let used = || {
            let now = times()?;
            let used = now.since(&before, self.cpus.as_ref());
            before = now;
            Ok(used)
        };
        let show = |waiting| {
            shown.send_replace(Some(waiting));
        };
        let wait = wait_for_quiet(BUSY_SAMPLE_TIME, self.most, used, show).await?;
        if wait == Wait::None {
            return Ok(());
        }
        let mut waits = locked(&self.waits);
        waits.delayed += 1;
        waits.disturbed += u64::from(wait == Wait::InVain);
        waits.waited += began.elapsed();
        Ok(files::write_json(&self.file, &*waits)?)
    }
}

/// The outcome of a wait.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wait {
    /// The machine was quiet.
    None,
    /// It became quiet.
    ForQuiet,
    /// It did not.
    InVain,
}

/// Checks the use of the processors after each interval, until it is low or the time is over, and
/// publishes the state of the wait. Returns at once where the kernel counts nothing.
async fn wait_for_quiet(
    look: Duration,
    most: Duration,
    mut used: impl FnMut() -> Result<Option<CpuUse>, LocalError>,
    mut show: impl FnMut(SettleWait),
) -> Result<Wait, LocalError> {
    let began = Instant::now();
    let mut quiet = Wait::None;
    loop {
        tokio::time::sleep(look).await;
        let Some(used) = used()?.filter(|used| !is_quiet(used)) else {
            return Ok(quiet);
        };
        let waited = began.elapsed();
        if waited >= most {
            return Ok(Wait::InVain);
        }
        show(SettleWait {
            busy: used.busy,
            processors: used.processors,
            waited,
            most,
        });
        quiet = Wait::ForQuiet;
    }
}

/// The processors' times as the kernel counts them.
fn times() -> Result<CpuTimes, LocalError> {
    let path = Path::new("/proc/stat");
    let stat = std::fs::read_to_string(path).map_err(LocalError::io("read", path))?;
    Ok(CpuTimes::parse(&stat))
}

fn is_quiet(used: &CpuUse) -> bool {
    severity_of_load(used.busy, used.processors).is_none()
}

fn file(job_dir: &Path) -> PathBuf {
    job_dir.join("waits.json")
}

/// Remarks on the waits of a job, for its user.
pub(crate) fn warnings(job_dir: &Path) -> Result<Vec<String>, LocalError> {
    let waits: Option<Waits> = files::read_json(&file(job_dir))?;
    Ok(waits.as_ref().map_or_else(Vec::new, in_words))
}

fn in_words(waits: &Waits) -> Vec<String> {
    let runs = |count: u64| match count {
        1 => "1 run or pair".to_owned(),
        count => format!("{count} runs or pairs"),
    };
    let mut warnings = Vec::new();
    if waits.delayed > 0 {
        warnings.push(format!(
            "{} waited for a quiet machine, {:.1} s in all",
            runs(waits.delayed),
            waits.waited.as_secs_f64()
        ));
    }
    if waits.disturbed > 0 {
        warnings.push(format!(
            "{} began although the machine was still busy after the longest wait",
            runs(waits.disturbed)
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits for a machine of two processors, of which this many are busy at each check. Also
    /// returns the published values.
    async fn wait(most: Duration, busy: &[f64]) -> (Wait, Vec<f64>) {
        let (mut looks, mut shown) = (0, Vec::new());
        let used = || {
            let busy = busy[looks];
            looks += 1;
            let used = CpuUse {
                processors: 2,
                busy,
                stolen: 0.0,
                ticks: 25.0,
            };
            Ok(Some(used))
        };
        let show = |waiting: SettleWait| {
            assert_eq!((waiting.processors, waiting.most), (2, most));
            shown.push(waiting.busy);
        };
        let wait = wait_for_quiet(Duration::from_millis(1), most, used, show).await;
        assert_eq!(looks, busy.len());
        (wait.unwrap(), shown)
    }

    #[tokio::test]
    async fn a_run_waits_until_the_machine_is_quiet_or_the_time_is_over() {
        let hour = Duration::from_secs(3600);
        assert_eq!(wait(hour, &[0.1]).await, (Wait::None, vec![]));
        let shown = vec![2.0, 0.3];
        assert_eq!(wait(hour, &[2.0, 0.3, 0.1]).await, (Wait::ForQuiet, shown));
        assert_eq!(wait(Duration::ZERO, &[2.0]).await, (Wait::InVain, vec![]));
        let unknown = wait_for_quiet(Duration::ZERO, hour, || Ok(None), |_| {}).await;
        assert_eq!(unknown.unwrap(), Wait::None);
    }

    #[test]
    fn waits_are_remembered_and_remarked_on() {
        let directory = tempfile::tempdir().unwrap();
        let job = directory.path();
        assert!(warnings(job).unwrap().is_empty());
        let waits = Waits {
            delayed: 2,
            disturbed: 1,
            waited: Duration::from_millis(61_500),
        };
        files::write_json(&file(job), &waits).unwrap();
        assert_eq!(
            warnings(job).unwrap(),
            [
                "2 runs or pairs waited for a quiet machine, 61.5 s in all",
                "1 run or pair began although the machine was still busy after the longest wait",
            ]
        );
    }
}
