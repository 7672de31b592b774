//! The use of processors, from the times that Linux counts for each of them.

use std::collections::BTreeMap;

use crate::process::cpus::CpuList;

/// The times of each processor since the machine started, by its number.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in super::super) struct CpuTimes(BTreeMap<usize, Ticks>);

/// Times in the unit of `/proc/stat`, a hundredth of a second nearly everywhere.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Ticks {
    busy: u64,
    stolen: u64,
    total: u64,
}

/// The use of some processors between two moments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct CpuUse {
    /// The number of processors.
    pub(in super::super) processors: usize,
    /// The number of them that were busy, on average.
    pub(in super::super) busy: f64,
    /// The share of the time in which the hypervisor ran something else.
    pub(in super::super) stolen: f64,
    /// The ticks of one processor.
    pub(in super::super) ticks: f64,
}

impl CpuTimes {
    /// Reads `/proc/stat`: see proc_stat(5). Lines of other kinds, and those that can't
    /// be read, are left out.
    pub(in super::super) fn parse(stat: &str) -> Self {
        let processor = |line: &str| {
            let (name, times) = line.split_once(' ')?;
            let processor = name.strip_prefix("cpu")?.parse().ok()?;
            let times: Option<Vec<u64>> = (times.split_whitespace())
                .map(|time| time.parse().ok())
                .collect();
            // The times of guests, which follow, are contained in those of users.
            let &[user, nice, system, idle, io_wait, irq, soft_irq, stolen] =
                times?.first_chunk()?;
            let sum = |times: &[u64]| times.iter().copied().fold(0, u64::saturating_add);
            let busy = sum(&[user, nice, system, irq, soft_irq]);
            let total = sum(&[busy, idle, io_wait, stolen]);
            Some((
                processor,
                Ticks {
                    busy,
                    stolen,
                    total,
                },
            ))
        };
        Self(stat.lines().filter_map(processor).collect())
    }

    /// The use of these processors, or of all, since an earlier moment; absent when no
    /// time has passed.
    pub(in super::super) fn since(&self, before: &Self, cpus: Option<&CpuList>) -> Option<CpuUse> {
        let mut sum = Ticks::default();
        let mut processors = 0;
        for (processor, now) in &self.0 {
            let is_wanted = cpus.is_none_or(|cpus| cpus.iter().any(|cpu| cpu == *processor));
            let Some(before) = before.0.get(processor).filter(|_| is_wanted) else {
                continue;
            };
            processors += 1;
            // The kernel's counts of waiting for disks may go backwards.
            sum.busy += now.busy.saturating_sub(before.busy);
            sum.stolen += now.stolen.saturating_sub(before.stolen);
            sum.total += now.total.saturating_sub(before.total);
        }
        if sum.total == 0 {
            return None;
        }
        let total = sum.total as f64;
        Some(CpuUse {
            processors,
            busy: (sum.busy as f64 / total).min(1.0) * processors as f64,
            stolen: (sum.stolen as f64 / total).min(1.0),
            ticks: total / processors as f64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  10 0 10 180 0 0 0 0 0 0\n\
                          cpu0 10 0 10 80 0 0 0 0 0 0\n\
                          cpu1 0 0 0 100 0 0 0 0 0 0\n\
                          intr 1 2 3\n";

    #[test]
    fn processors_are_busy_between_two_moments() {
        let after = "cpu0 40 10 20 110 10 5 5 0 9 9\ncpu1 0 0 0 190 0 0 0 10 0 0\n";
        let (before, after) = (CpuTimes::parse(BEFORE), CpuTimes::parse(after));
        let all = after.since(&before, None).unwrap();
        assert_eq!(all.processors, 2);
        assert!((all.busy - 0.6).abs() < 1e-9, "{all:?}");
        assert!((all.stolen - 0.05).abs() < 1e-9, "{all:?}");
        assert!((all.ticks - 100.0).abs() < 1e-9, "{all:?}");
        let second: CpuList = "1,7".parse().unwrap();
        let second = after.since(&before, Some(&second)).unwrap();
        assert_eq!((second.processors, second.busy), (1, 0.0));
        assert!((second.stolen - 0.1).abs() < 1e-9, "{second:?}");
    }

    #[test]
    fn what_can_not_be_read_is_absent() {
        let before = CpuTimes::parse(BEFORE);
        assert_eq!(before.since(&before, None), None);
        for garbage in [
            "",
            "cpu0",
            "cpu0 1 2 3",
            "cpu0 a b c d e f g h",
            "cpux 1 2 3 4 5 6 7 8",
        ] {
            let times = CpuTimes::parse(garbage);
            assert_eq!(times, CpuTimes::default(), "{garbage}");
            assert_eq!(times.since(&before, None), None);
        }
        let seventh: CpuList = "7".parse().unwrap();
        let later = CpuTimes::parse("cpu0 40 0 10 110 0 0 0 0 0 0");
        assert_eq!(later.since(&before, Some(&seventh)), None);
        // Counters that were set back.
        let back = later
            .since(&CpuTimes::parse("cpu0 50 0 0 0 0 0 0 0"), None)
            .unwrap();
        assert_eq!(back.busy, 0.0);
    }
}
