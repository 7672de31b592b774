//! The state of the machine as the kernel reports it.
//!
//! The files are those of Linux, below a root that tests choose. One that is missing or can't be
//! read leaves its fields absent: machines rarely have all of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::cpu_times::CpuTimes;
use crate::process::cpus::CpuList;
use crate::process::host::governors;

/// The most programs that are named.
const MOST_NAMED: usize = 3;

/// A program that uses less than this of a processor is not named.
const LEAST_NAMED: f64 = 0.02;

/// The kernel's reports about a machine, over a short time. Values that it does not report are
/// absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Readings {
    /// The number of processors that runs may use.
    pub processors: Option<usize>,
    /// The number of them that other processes kept busy, on average.
    pub busy: Option<f64>,
    /// The programs that used the most processor time.
    pub busiest: Vec<BusyProgram>,
    /// Processes that ran or were ready to, on average over a minute.
    pub load: Option<f64>,
    /// The share of the last ten seconds in which some process waited for a processor.
    pub pressure: Option<f64>,
    /// The share of the processors' time in which the hypervisor ran something else.
    pub stolen: Option<f64>,
    /// True in a virtual machine.
    pub virtual_machine: Option<bool>,
    /// The policies that choose the clock rates.
    pub governors: BTreeSet<String>,
    /// The highest clock rate of a processor at the end of the measurement, in Hz.
    pub clock_rate: Option<u64>,
    /// The highest clock rate that a processor can have, in Hz.
    pub highest_clock_rate: Option<u64>,
    /// True when processors may exceed their base clock rate while they are cool.
    pub turbo: Option<bool>,
    /// The number of hardware threads of a core that are in use.
    pub threads_per_core: Option<usize>,
    /// The number of times that processors were throttled for heat, during the measurement.
    pub throttled: Option<u64>,
    /// As above, since the machine started.
    pub throttled_since_start: Option<u64>,
    /// True when each process gets its memory at other addresses.
    pub address_randomization: Option<bool>,
    /// Bytes of memory on the disk.
    pub swap_used: Option<u64>,
    /// Pages that were read from swap or written to it during the measurement.
    pub pages_swapped: Option<u64>,
    /// True when the machine runs on its battery.
    pub on_battery: Option<bool>,
    /// The processors' time that the control group of this process may use, in
    /// processors; absent without a limit.
    pub quota: Option<f64>,
    /// The number of times that the control group was stopped for its limit, during the
    /// measurement.
    pub quota_stops: Option<u64>,
    /// True when another job ran or built something.
    pub other_job: Option<bool>,
}

/// A program that kept processors busy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BusyProgram {
    /// Its name, as its processes chose it.
    pub name: String,
    /// The number of its processes.
    pub processes: usize,
    /// The processors that they used, on average.
    pub processors: f64,
}

/// The kernel's counts at one moment.
#[derive(Debug, Default)]
pub(super) struct Counts {
    cpu_times: CpuTimes,
    processes: HashMap<ProcessId, Process>,
    throttled: Option<u64>,
    pages_swapped: Option<u64>,
    quota_stops: Option<u64>,
}

/// A number of a process, and its start: together they are unique.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ProcessId(u32, u64);

#[derive(Debug)]
struct Process {
    name: String,
    ticks: u64,
}

/// The files of the kernel.
pub(super) struct System<'a> {
    /// `/`, except in tests.
    pub(super) root: &'a Path,
}

impl System<'_> {
    fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    fn number<T: FromStr>(&self, path: impl AsRef<Path>) -> Option<T> {
        self.text(path)?.trim().parse().ok()
    }

    /// The entries of a directory whose names begin with this; empty when it does not exist.
    fn entries(&self, directory: &str, prefix: &str) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(self.root.join(directory))
            .into_iter()
            .flatten();
        let name_fits = move |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(prefix))
        };
        let paths = entries.flatten().map(|entry| entry.path());
        paths.filter(name_fits)
    }

    fn processors(&self) -> impl Iterator<Item = PathBuf> {
        self.entries("sys/devices/system/cpu", "cpu")
    }

    pub(super) fn counts(&self) -> Counts {
        let stat = self.text("proc/stat").unwrap_or_default();
        let throttled = self.processors().flat_map(|processor| {
            ["core", "package"].map(|part| {
                self.number::<u64>(
                    processor.join(format!("thermal_throttle/{part}_throttle_count")),
                )
            })
        });
        let memory = self.text("proc/vmstat").unwrap_or_default();
        let swapped = ["pswpin", "pswpout"].map(|name| field(&memory, name));
        let stops = (self.control_groups().into_iter())
            .filter_map(|group| field(&self.text(group.join("cpu.stat"))?, "nr_throttled"));
        Counts {
            cpu_times: CpuTimes::parse(&stat),
            processes: self.processes(),
            throttled: sum(throttled.flatten()),
            pages_swapped: sum(swapped.into_iter().flatten()),
            quota_stops: sum(stops),
        }
    }

    /// All processes except this one.
    fn processes(&self) -> HashMap<ProcessId, Process> {
        let process = |path: PathBuf| {
            let number: u32 = path.file_name()?.to_str()?.parse().ok()?;
            if number == std::process::id() {
                return None;
            }
            // See proc_pid_stat(5): the name in parentheses may hold anything.
            let stat = self.text(path.join("stat"))?;
            let (before, after) = stat.rsplit_once(") ")?;
            let (_, name) = before.split_once(" (")?;
            let fields: Vec<&str> = after.split(' ').collect();
            let field = |place: usize| fields.get(place - 3)?.parse::<u64>().ok();
            let ticks = field(14)?.saturating_add(field(15)?);
            let name = name.to_owned();
            Some((ProcessId(number, field(22)?), Process { name, ticks }))
        };
        self.entries("proc", "").filter_map(process).collect()
    }

    /// The directories of the control groups that limit this process, of both versions: its own and
    /// their parents. See cgroups(7).
    fn control_groups(&self) -> Vec<PathBuf> {
        let groups = self.text("proc/self/cgroup").unwrap_or_default();
        let mut directories = Vec::new();
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
                continue;
            };
            let mount = match controllers {
                "" => "sys/fs/cgroup",
                of if of.split(',').any(|name| name == "cpu") => "sys/fs/cgroup/cpu",
                _ => continue,
            };
            let mut directory = PathBuf::from(mount);
            directories.push(directory.clone());
            // A path may lead out of the part of the tree visible from here.
            for part in Path::new(path).components() {
                if let Component::Normal(part) = part {
                    directory.push(part);
                    directories.push(directory.clone());
                }
            }
        }
        directories
    }

    /// The strictest limit of processor time, in processors.
    fn quota(&self) -> Option<f64> {
        let limit = |group: PathBuf| {
            let (quota, period) = match self.text(group.join("cpu.max")) {
                Some(text) => {
                    let (quota, period) = text.trim().split_once(' ')?;
                    (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?)
                }
                None => (
                    self.number(group.join("cpu.cfs_quota_us"))?,
                    self.number(group.join("cpu.cfs_period_us"))?,
                ),
            };
            // Without a limit the quota is `max`, or -1.
            (quota > 0.0 && period > 0.0 && quota.is_finite()).then_some(quota / period)
        };
        let limits = self.control_groups().into_iter().filter_map(limit);
        limits.min_by(f64::total_cmp)
    }

    /// The readings at the end of a measurement on these processors, or on all, during which this
    /// process used `own` of a processor.
    pub(super) fn readings(&self, before: &Counts, own: f64, cpus: Option<&CpuList>) -> Readings {
        // First, while the processor still has the clock rate of the measurement.
        let clock_rate = |name: &str| {
            let rates = self
                .processors()
                .filter_map(|processor| self.number::<u64>(processor.join("cpufreq").join(name)));
            // It is given in kHz.
            rates.max()?.checked_mul(1000)
        };
        let now = clock_rate("scaling_cur_freq");
        let after = self.counts();
        let of_these = after.cpu_times.since(&before.cpu_times, cpus);
        let of_all = after.cpu_times.since(&before.cpu_times, None);
        let difference =
            |count: fn(&Counts) -> Option<u64>| Some(count(&after)?.saturating_sub(count(before)?));
        let memory = self.text("proc/meminfo").unwrap_or_default();
        let swap = |name| field(&memory, name);
        let swap_used = swap("SwapTotal:").zip(swap("SwapFree:"));
        Readings {
            processors: cpus.map(CpuList::len).or(of_all.map(|all| all.processors)),
            busy: of_these.map(|these| (these.busy - own).max(0.0)),
            busiest: of_all.map_or_else(Vec::new, |all| busiest(before, &after, all.ticks)),
            load: self.first_number("proc/loadavg", ""),
            pressure: (self.first_number("proc/pressure/cpu", "some avg10="))
                .map(|percent| percent / 100.0),
            stolen: of_these.map(|these| these.stolen),
            virtual_machine: self.is_virtual(),
            governors: governors(&self.root.join("sys/devices/system/cpu")),
            clock_rate: now,
            highest_clock_rate: clock_rate("cpuinfo_max_freq"),
            turbo: self.turbo(),
            threads_per_core: self.threads_per_core(cpus),
            throttled: difference(|counts| counts.throttled),
            throttled_since_start: after.throttled,
            address_randomization: (self.number::<u8>("proc/sys/kernel/randomize_va_space"))
                .map(|level| level > 0),
            swap_used: swap_used
                .and_then(|(total, free)| total.saturating_sub(free).checked_mul(1024)),
            pages_swapped: difference(|counts| counts.pages_swapped),
            on_battery: self.on_battery(),
            quota: self.quota(),
            quota_stops: difference(|counts| counts.quota_stops),
            other_job: None,
        }
    }

    /// The number that a file begins with, after this text.
    fn first_number(&self, path: &str, before: &str) -> Option<f64> {
        let text = self.text(path)?;
        let number = text.strip_prefix(before)?.split_whitespace().next()?;
        number
            .parse()
            .ok()
            .filter(|number: &f64| number.is_finite())
    }

    fn is_virtual(&self) -> Option<bool> {
        let processors = self.text("proc/cpuinfo")?;
        let flags = processors.lines().find(|line| line.starts_with("flags"))?;
        Some(flags.split_whitespace().any(|flag| flag == "hypervisor"))
    }

    fn turbo(&self) -> Option<bool> {
        let place = Path::new("sys/devices/system/cpu");
        let is_off = self.number::<u8>(place.join("intel_pstate/no_turbo"));
        let is_on = self.number::<u8>(place.join("cpufreq/boost"));
        is_off.map(|off| off == 0).or(is_on.map(|on| on == 1))
    }

    /// The most threads of a core, of those that runs may use.
    fn threads_per_core(&self, cpus: Option<&CpuList>) -> Option<usize> {
        let threads = |path: PathBuf| {
            let number: usize = path
                .file_name()?
                .to_str()?
                .strip_prefix("cpu")?
                .parse()
                .ok()?;
            let list = self.text(path.join("topology/thread_siblings_list"))?;
            let threads = list.trim().parse::<CpuList>().ok()?.len();
            cpus.is_none_or(|cpus| cpus.iter().any(|cpu| cpu == number))
                .then_some(threads)
        };
        self.processors().filter_map(threads).max()
    }

    fn on_battery(&self) -> Option<bool> {
        let mut found = None;
        for supply in self.entries("sys/class/power_supply", "") {
            let is = |name: &str, value: &str| {
                (self.text(supply.join(name))).is_some_and(|text| text.trim() == value)
            };
            // Mice have batteries, too.
            if is("type", "Battery") && !is("scope", "Device") {
                found = Some(found == Some(true) || is("status", "Discharging"));
            }
        }
        found
    }
}

/// The programs that used the most processor time between two moments, at this many ticks
/// of a processor.
fn busiest(before: &Counts, after: &Counts, ticks: f64) -> Vec<BusyProgram> {
    let mut programs = BTreeMap::<&str, (usize, u64)>::new();
    for (id, process) in &after.processes {
        let earlier = before.processes.get(id).map_or(0, |process| process.ticks);
        let used = process.ticks.saturating_sub(earlier);
        if used > 0 {
            let (processes, sum) = programs.entry(&process.name).or_default();
            *processes += 1;
            *sum = sum.saturating_add(used);
        }
    }
    let programs = programs
        .into_iter()
        .map(|(name, (processes, used))| BusyProgram {
            name: name.to_owned(),
            processes,
            processors: used as f64 / ticks,
        });
    let mut programs: Vec<_> = programs
        .filter(|program| program.processors >= LEAST_NAMED)
        .collect();
    programs.sort_by(|one, other| other.processors.total_cmp(&one.processors));
    programs.truncate(MOST_NAMED);
    programs
}

/// The number after a name, in a file of one name on each line.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    lines.find_map(|mut words| {
        let is_it = words.next() == Some(name);
        words.next().filter(|_| is_it)?.parse().ok()
    })
}

/// The sum of counts; absent when empty.
fn sum(counts: impl Iterator<Item = u64>) -> Option<u64> {
    counts.reduce(u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A made-up machine.
    struct Machine(tempfile::TempDir);

    const CPU: &str = "sys/devices/system/cpu";

    impl Machine {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn write(&self, path: &str, content: impl AsRef<[u8]>) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }

        fn system(&self) -> System<'_> {
            System {
                root: self.0.path(),
            }
        }

        /// A laptop with two cores of two threads each. At the second moment a second has
        /// passed.
        fn laptop(&self, moment: u64) {
            let mut stat = "cpu  1 2 3 4 5 6 7 8 0 0\n".to_owned();
            for cpu in 0..4 {
                // Half of each is busy, and a tenth of it is stolen.
                stat += &format!(
                    "cpu{cpu} {0} 0 0 {1} 0 0 0 {2} 0 0\n",
                    50 * moment,
                    40 * moment,
                    10 * moment
                );
                let place = format!("{CPU}/cpu{cpu}");
                self.write(&format!("{place}/cpufreq/scaling_governor"), "powersave\n");
                self.write(
                    &format!("{place}/cpufreq/scaling_cur_freq"),
                    format!("{}\n", 800_000 + cpu),
                );
                self.write(&format!("{place}/cpufreq/cpuinfo_max_freq"), "4000000\n");
                let siblings = if cpu % 2 == 0 { "0,2\n" } else { "1,3\n" };
                self.write(&format!("{place}/topology/thread_siblings_list"), siblings);
                self.write(
                    &format!("{place}/thermal_throttle/core_throttle_count"),
                    format!("{}\n", 10 + moment),
                );
            }
            self.write("proc/stat", stat);
            self.write("proc/loadavg", "1.75 1.55 0.79 1/88 12414\n");
            self.write(
                "proc/pressure/cpu",
                "some avg10=12.50 avg60=3.94 avg300=3.94 total=28535866\nfull avg10=0.00\n",
            );
            self.write(
                "proc/cpuinfo",
                "processor\t: 0\nflags\t\t: fpu vme hypervisor\n",
            );
            self.write(&format!("{CPU}/intel_pstate/no_turbo"), "0\n");
            self.write("proc/sys/kernel/randomize_va_space", "2\n");
            self.write(
                "proc/meminfo",
                "MemTotal: 99 kB\nSwapTotal:  2048 kB\nSwapFree:   1024 kB\n",
            );
            self.write(
                "proc/vmstat",
                format!("pgpgin 1\npswpin {}\npswpout 5\n", 3 * moment),
            );
            for (name, kind, status) in [("AC", "Mains", ""), ("BAT0", "Battery", "Discharging\n")]
            {
                self.write(
                    &format!("sys/class/power_supply/{name}/type"),
                    format!("{kind}\n"),
                );
                self.write(&format!("sys/class/power_supply/{name}/status"), status);
            }
            self.write("proc/self/cgroup", "0::/user/one\n");
            self.write("sys/fs/cgroup/user/cpu.max", "150000 100000\n");
            self.write("sys/fs/cgroup/user/one/cpu.max", "max 100000\n");
            self.write(
                "sys/fs/cgroup/user/cpu.stat",
                format!("usage_usec 5\nnr_throttled {moment}\n"),
            );
            for (number, name, ticks) in [
                (10, "cc1 (x) y", 60),
                (11, "cc1 (x) y", 60),
                (12, "sshd", 1),
            ] {
                let stat = format!(
                    "{number} ({name}) R 1 2 3 0 -1 4194560 1 2 3 4 {} 0 0 0 20 0 1 0 987654 9\n",
                    ticks * moment
                );
                self.write(&format!("proc/{number}/stat"), stat);
            }
        }
    }

    #[test]
    fn everything_that_a_laptop_reports_is_read() {
        let machine = Machine::new();
        machine.laptop(1);
        let before = machine.system().counts();
        machine.laptop(2);
        let cpus: CpuList = "0,2".parse().unwrap();
        let readings = machine.system().readings(&before, 0.25, Some(&cpus));
        let expected = Readings {
            processors: Some(2),
            // Half of two, without our own quarter.
            busy: Some(0.75),
            busiest: vec![BusyProgram {
                name: "cc1 (x) y".into(),
                processes: 2,
                processors: 1.2,
            }],
            load: Some(1.75),
            pressure: Some(0.125),
            stolen: Some(0.1),
            virtual_machine: Some(true),
            governors: ["powersave".to_owned()].into(),
            clock_rate: Some(800_003_000),
            highest_clock_rate: Some(4_000_000_000),
            turbo: Some(true),
            threads_per_core: Some(2),
            throttled: Some(4),
            throttled_since_start: Some(48),
            address_randomization: Some(true),
            swap_used: Some(1 << 20),
            pages_swapped: Some(3),
            on_battery: Some(true),
            quota: Some(1.5),
            quota_stops: Some(1),
            other_job: None,
        };
        assert_eq!(readings, expected);
        let json = serde_json::to_string(&readings).unwrap();
        assert_eq!(serde_json::from_str::<Readings>(&json).unwrap(), readings);
    }

    #[test]
    fn what_is_missing_or_garbage_is_absent() {
        let machine = Machine::new();
        let read = || {
            let before = machine.system().counts();
            machine.system().readings(&before, 0.0, None)
        };
        assert_eq!(read(), Readings::default());
        machine.laptop(1);
        let mut files = vec![machine.0.path().to_owned()];
        while let Some(path) = files.pop() {
            if path.is_dir() {
                files.extend(
                    fs::read_dir(path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            } else if !path.ends_with("cpufreq/scaling_governor") {
                fs::write(path, b"\xff 1 \0\n:::( ) (\n-1 nan 99999999999999999999").unwrap();
            }
        }
        let garbage = Readings {
            governors: ["powersave".to_owned()].into(),
            ..Readings::default()
        };
        assert_eq!(read(), garbage);
        // As text, with nothing of meaning.
        for (path, text) in [
            (
                "proc/stat",
                "cpu0 18446744073709551615 18446744073709551615 0 0 0 0 0 18446744073709551615\n",
            ),
            ("proc/loadavg", "nan\n"),
            (
                "proc/self/cgroup",
                "\n1:cpu\n2:cpuset:/\n3:cpu,cpuacct:/../../x\n0::\n",
            ),
            ("sys/fs/cgroup/cpu.max", "max\n"),
            ("sys/fs/cgroup/cpu/cpu.max", "1 0\n"),
            ("proc/10/stat", "10 (a) R 1\n"),
            ("proc/11/stat", "11 a\n"),
            ("proc/x/stat", "x (a) R 1\n"),
        ] {
            machine.write(path, text);
        }
        assert_eq!(read(), garbage);
    }

    #[test]
    fn both_versions_of_control_groups_are_read() {
        let machine = Machine::new();
        machine.write(
            "proc/self/cgroup",
            "4:memory:/a\n1:cpu,cpuacct:/docker/x\n0::/\n",
        );
        // A container sees its own group as the top.
        machine.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
        machine.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
        machine.write(
            "sys/fs/cgroup/cpu/cpu.stat",
            "nr_periods 9\nnr_throttled 7\n",
        );
        assert_eq!(machine.system().quota(), Some(0.5));
        assert_eq!(machine.system().counts().quota_stops, Some(7));
        machine.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
        assert_eq!(machine.system().quota(), None);
    }

    #[test]
    fn turbo_is_on_or_off_in_either_file() {
        for (file, content, expected) in [
            ("intel_pstate/no_turbo", "1", Some(false)),
            ("cpufreq/boost", "1", Some(true)),
            ("cpufreq/boost", "0", Some(false)),
            ("none", "0", None),
        ] {
            let machine = Machine::new();
            machine.write(&format!("{CPU}/{file}"), content);
            assert_eq!(machine.system().turbo(), expected, "{file}");
        }
    }

    #[test]
    fn the_battery_of_a_mouse_is_none() {
        let machine = Machine::new();
        let supply = "sys/class/power_supply/mouse";
        machine.write(&format!("{supply}/type"), "Battery\n");
        machine.write(&format!("{supply}/status"), "Discharging\n");
        machine.write(&format!("{supply}/scope"), "Device\n");
        assert_eq!(machine.system().on_battery(), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_says_how_busy_it_is() {
        let system = System {
            root: Path::new("/"),
        };
        assert!(!system.counts().processes.is_empty());
        assert_ne!(system.counts().cpu_times, CpuTimes::default());
    }
}
