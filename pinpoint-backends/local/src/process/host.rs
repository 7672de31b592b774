//! The machine, which the times of a job depend on.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// The state of a machine at one time. Values that the system does not report are absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Its name.
    #[serde(default)]
    pub name: Option<String>,
    /// The processor's own name.
    #[serde(default)]
    pub processor: Option<String>,
    /// Processors that programs can run on at the same time.
    #[serde(default)]
    pub processors: Option<usize>,
    /// Main memory, in bytes.
    #[serde(default)]
    pub memory: Option<u64>,
    /// The operating system and its version.
    #[serde(default)]
    pub system: Option<String>,
    /// The kernel and its version.
    #[serde(default)]
    pub kernel: Option<String>,
    /// The policies that choose the processors' clock rates; several when they
    /// differ.
    #[serde(default)]
    pub governors: BTreeSet<String>,
    /// Processes that ran or were ready to, on average over 1, 5 and 15 minutes.
    #[serde(default)]
    pub load: Option<[f64; 3]>,
}

impl Host {
    /// The machine as it is now.
    pub fn now() -> Self {
        let wanted = RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(wanted).ok();
        let processors = system.as_ref().map_or(&[][..], System::cpus);
        let processor = processors.first().map(|cpu| cpu.brand().trim());
        let known = |name: Result<String, _>| name.ok().filter(|name| !name.is_empty());
        Self {
            name: known(System::host_name()),
            processor: processor.filter(|name| !name.is_empty()).map(str::to_owned),
            processors: Some(processors.len()).filter(|count| *count > 0),
            memory: (system.as_ref().map(System::total_memory)).filter(|bytes| *bytes > 0),
            system: known(System::long_os_version()),
            kernel: known(System::kernel_long_version()),
            governors: governors(Path::new("/sys/devices/system/cpu")),
            load: (System::load_average().ok()).map(|load| [load.one, load.five, load.fifteen]),
        }
    }
}

/// The system that a build was made for: its programs may not run on another.
pub(crate) fn system() -> String {
    let version = System::os_version().unwrap_or_default();
    let name = System::distribution_id();
    format!(
        "{} {} {name} {version}",
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}

/// Linux reports them for each processor; a virtual machine often for none.
pub(crate) fn governors(processors: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(processors).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| fs::read_to_string(entry.path().join("cpufreq/scaling_governor")).ok())
        .map(|governor| governor.trim().to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_governor_is_named_once() {
        let directory = tempfile::tempdir().unwrap();
        for (processor, governor) in [("cpu0", "powersave"), ("cpu1", "performance")] {
            let place = directory.path().join(processor).join("cpufreq");
            fs::create_dir_all(&place).unwrap();
            fs::write(place.join("scaling_governor"), format!("{governor}\n")).unwrap();
        }
        fs::create_dir(directory.path().join("cpu2")).unwrap();
        let found = governors(directory.path());
        assert_eq!(
            found.iter().collect::<Vec<_>>(),
            ["performance", "powersave"]
        );
        assert!(governors(&directory.path().join("none")).is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_is_known() {
        let host = Host::now();
        assert!(host.kernel.is_some() && host.memory.is_some(), "{host:?}");
        assert!(
            host.processor.is_some() && host.processors.is_some() && host.load.is_some(),
            "{host:?}"
        );
        let text = serde_json::to_string(&host).unwrap();
        assert_eq!(serde_json::from_str::<Host>(&text).unwrap(), host);
    }
}
