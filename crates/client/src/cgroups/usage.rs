//! What the processes of a task have used, by its cgroups (`docs/spec/client.md §26.3`).

use std::path::Path;

use super::read;
use encamp_model::stats::{CpuStats, MemoryStats, ResourceUsage};

/// The counters of the groups of a task at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// They are those of version 1.
    first_version: bool,
    /// Bytes of memory.
    rss: u64,
    cache: u64,
    swap: u64,
    mapped: u64,
    used: u64,
    most: u64,
    kernel: u64,
    kernel_most: u64,
    /// Nanoseconds of CPU time.
    user: u64,
    system: u64,
    total: u64,
    throttled: u64,
    /// Periods in which the task had to wait.
    throttled_periods: u64,
}

impl Counters {
    /// Reads the files of the groups, each of which has some of them.
    pub(super) fn read<'a>(groups: impl Iterator<Item = &'a Path>) -> Counters {
        let mut out = Counters::default();
        for dir in groups {
            out.add(&|file| read(dir, file));
        }
        out
    }

    fn add(&mut self, read: &dyn Fn(&str) -> Option<String>) {
        let number = |file: &str| read(file)?.trim().parse::<u64>().ok();
        if let Some(used) = number("memory.current") {
            self.used = used;
            let stat = read("memory.stat").unwrap_or_default();
            let of = |key| keyed(&stat, key).unwrap_or(0);
            (self.rss, self.cache, self.mapped, self.kernel) =
                (of("anon"), of("file"), of("file_mapped"), of("kernel"));
            self.swap = number("memory.swap.current").unwrap_or(0);
        } else if let Some(used) = number("memory.usage_in_bytes") {
            self.first_version = true;
            self.used = used;
            self.most = number("memory.max_usage_in_bytes").unwrap_or(0);
            self.kernel = number("memory.kmem.usage_in_bytes").unwrap_or(0);
            self.kernel_most = number("memory.kmem.max_usage_in_bytes").unwrap_or(0);
            let stat = read("memory.stat").unwrap_or_default();
            let of = |key| keyed(&stat, key).unwrap_or(0);
            (self.rss, self.cache, self.mapped, self.swap) = (of("rss"), of("cache"), of("mapped_file"), of("swap"));
        }
        if let Some(stat) = read("cpu.stat") {
            let of = |key| keyed(&stat, key);
            self.throttled_periods = of("nr_throttled").unwrap_or(0);
            if let Some(total) = of("usage_usec") {
                let nanos = |key| of(key).unwrap_or(0).saturating_mul(1000);
                self.total = total.saturating_mul(1000);
                (self.user, self.system, self.throttled) =
                    (nanos("user_usec"), nanos("system_usec"), nanos("throttled_usec"));
            } else {
                self.throttled = of("throttled_time").unwrap_or(0);
            }
        }
        if let Some(total) = number("cpuacct.usage") {
            self.total = total;
            self.user = number("cpuacct.usage_user").unwrap_or(0);
            self.system = number("cpuacct.usage_sys").unwrap_or(0);
        }
    }

    /// The usage since an earlier time, so many seconds ago; without one, no CPU time.
    pub(crate) fn usage(&self, since: Option<(&Counters, f64)>, mhz_per_core: f64) -> ResourceUsage {
        let names = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        let percent = |of: fn(&Counters) -> u64| {
            since.map_or(0.0, |(before, seconds)| of(self).saturating_sub(of(before)) as f64 / 1e9 / seconds * 100.0)
        };
        let total = percent(|c| c.total);
        let memory: &[&str] = match self.first_version {
            true => &["RSS", "Cache", "Swap", "Usage", "Max Usage", "Kernel Usage", "Kernel Max Usage"],
            false => &["RSS", "Cache", "Swap", "Usage"],
        };
        ResourceUsage {
            memory_stats: MemoryStats {
                rss: self.rss,
                cache: self.cache,
                swap: self.swap,
                mapped_file: self.mapped,
                usage: self.used,
                max_usage: self.most,
                kernel_usage: self.kernel,
                kernel_max_usage: self.kernel_most,
                measured: names(memory),
            },
            cpu_stats: CpuStats {
                system_mode: percent(|c| c.system),
                user_mode: percent(|c| c.user),
                percent: total,
                total_ticks: total / 100.0 * mhz_per_core,
                throttled_periods: self.throttled_periods,
                throttled_time: self.throttled,
                measured: names(&["System Mode", "User Mode", "Throttled Periods", "Throttled Time", "Percent"]),
            },
            device_stats: None,
        }
    }
}

/// The number of a line `key number`.
fn keyed(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Counters {
        let mut out = Counters::default();
        out.add(&|file| files.iter().find(|(name, _)| *name == file).map(|(_, text)| text.to_string()));
        out
    }

    #[test]
    fn both_versions_are_read() {
        let before = Counters::default();
        let second = of(&[
            ("memory.current", "900\n"),
            ("memory.stat", "anon 100\nfile 200\nfile_mapped 50\nanon_thp 7\n"),
            (
                "cpu.stat",
                "usage_usec 3000000\nuser_usec 2000000\nsystem_usec 1000000\nnr_throttled 4\nthrottled_usec 5\n",
            ),
        ]);
        let usage = second.usage(Some((&before, 2.0)), 1000.0);
        assert_eq!((usage.memory_stats.rss, usage.memory_stats.cache, usage.memory_stats.usage), (100, 200, 900));
        assert_eq!(usage.memory_stats.measured, ["RSS", "Cache", "Swap", "Usage"]);
        assert_eq!((usage.cpu_stats.percent, usage.cpu_stats.user_mode), (150.0, 100.0));
        assert_eq!((usage.cpu_stats.total_ticks, usage.cpu_stats.throttled_periods), (1500.0, 4));
        let mut first = of(&[
            ("memory.usage_in_bytes", "900"),
            ("memory.max_usage_in_bytes", "950"),
            ("memory.stat", "cache 200\nrss 100\nmapped_file 1\nswap 3\ntotal_rss 9\n"),
        ]);
        first.add(&|file| (file == "cpuacct.usage").then(|| "1000000000".to_string()));
        let usage = first.usage(Some((&before, 1.0)), 1000.0);
        assert_eq!((usage.memory_stats.rss, usage.memory_stats.max_usage, usage.memory_stats.swap), (100, 950, 3));
        assert_eq!((usage.cpu_stats.percent, usage.memory_stats.measured.len()), (100.0, 7));
        assert_eq!(first.usage(None, 1.0).cpu_stats.percent, 0.0);
    }
}
