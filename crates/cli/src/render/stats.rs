//! The resource usage of nodes and tasks as text (`docs/spec/cli.md §9.1`, `§10.1`).

use super::table::{Form, pairs, table};
use super::values::{self, percent};
use encamp_model::stats::{CpuStats, DeviceGroupStats, MemoryStats, StatObject, StatValue};

/// One value with its unit; a part of a whole as `5 / 10 MiB`. Empty where nothing was measured.
pub fn stat_value(value: &StatValue) -> String {
    let with_unit = |text: String| format!("{text} {}", value.unit).trim_end().to_string();
    let ratio = |part: String, whole: Option<String>| match whole {
        Some(whole) => with_unit(format!("{part} / {whole}")),
        None => with_unit(part),
    };
    if let Some(n) = value.int_numerator_val {
        return ratio(n.to_string(), value.int_denominator_val.map(|d| d.to_string()));
    }
    if let Some(n) = value.float_numerator_val {
        return ratio(n.to_string(), value.float_denominator_val.map(|d| d.to_string()));
    }
    if let Some(text) = &value.string_val {
        return with_unit(text.clone());
    }
    value.bool_val.map(|b| with_unit(b.to_string())).unwrap_or_default()
}

/// `vendor/type/name[instance]`.
fn device_name(group: &DeviceGroupStats, instance: &str) -> String {
    format!("{}/{}/{}[{instance}]", group.vendor, group.r#type, group.name)
}

/// A line per device with the value that matters most: name and value.
pub fn device_summaries(groups: &[DeviceGroupStats]) -> Vec<(String, String)> {
    let mut lines: Vec<_> = groups
        .iter()
        .flat_map(|group| {
            group
                .instance_stats
                .iter()
                .map(|(id, stats)| (device_name(group, id), stats.summary.as_ref().map(stat_value).unwrap_or_default()))
        })
        .collect();
    lines.sort();
    lines
}

/// A block per device with all its values.
pub fn device_blocks(groups: &[DeviceGroupStats]) -> Vec<String> {
    let blocks = groups.iter().flat_map(|group| {
        group.instance_stats.iter().map(move |(id, stats)| {
            let mut rows = vec![("Device".to_string(), device_name(group, id))];
            flatten(&stats.stats, "", &mut rows);
            pairs(&rows)
        })
    });
    blocks.collect()
}

fn flatten(stats: &StatObject, prefix: &str, rows: &mut Vec<(String, String)>) {
    rows.extend(stats.attributes.iter().map(|(name, value)| (format!("{prefix}{name}"), stat_value(value))));
    for (name, nested) in &stats.nested {
        flatten(nested, &format!("{prefix}{name}."), rows);
    }
}

/// A header of names and a row of values, for what was measured.
fn measured(names: &[String], value: impl Fn(&str) -> Option<String>) -> String {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    let (names, values): (Vec<&str>, Vec<String>) =
        names.into_iter().filter_map(|name| Some((name, value(name)?))).unzip();
    table(&[names.join("|"), values.join("|")], Form::List)
}

/// The measured memory figures of a task.
pub fn memory_table(stats: &MemoryStats) -> String {
    measured(&stats.measured, |name| {
        let bytes = match name {
            "RSS" => stats.rss,
            "Cache" => stats.cache,
            "Swap" => stats.swap,
            "Mapped File" => stats.mapped_file,
            "Usage" => stats.usage,
            "Max Usage" => stats.max_usage,
            "Kernel Usage" => stats.kernel_usage,
            "Kernel Max Usage" => stats.kernel_max_usage,
            _ => return None,
        };
        Some(values::bytes(bytes))
    })
}

/// The measured processor figures of a task.
pub fn cpu_table(stats: &CpuStats) -> String {
    let two_digits = |value: f64| Some(format!("{value:.2}%"));
    measured(&stats.measured, |name| match name {
        "Percent" => two_digits(stats.percent),
        "System Mode" => two_digits(stats.system_mode),
        "User Mode" => two_digits(stats.user_mode),
        "Throttled Periods" => Some(stats.throttled_periods.to_string()),
        "Throttled Time" => Some(stats.throttled_time.to_string()),
        _ => None,
    })
}

/// A percentage of a node.
pub fn node_percent(value: f64) -> String {
    percent(value)
}

/// Ticks as whole MHz.
pub fn whole(ticks: f64) -> i64 {
    // Numbers a processor can't have become the nearest one.
    ticks.floor() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_units_and_parts_a_whole() {
        let base = StatValue { unit: "MiB".into(), ..StatValue::default() };
        for (value, want) in [
            (StatValue { int_numerator_val: Some(5), int_denominator_val: Some(10), ..base.clone() }, "5 / 10 MiB"),
            (StatValue { float_numerator_val: Some(1.5), unit: String::new(), ..base.clone() }, "1.5"),
            (StatValue { string_val: Some("on".into()), unit: String::new(), ..base.clone() }, "on"),
            (StatValue { bool_val: Some(true), unit: String::new(), ..base.clone() }, "true"),
            (StatValue::default(), ""),
        ] {
            assert_eq!(stat_value(&value), want);
        }
    }

    #[test]
    fn only_what_was_measured_is_shown() {
        let stats = CpuStats {
            percent: 12.345,
            throttled_time: 4,
            measured: ["Throttled Time", "Percent", "Unheard Of"].map(String::from).into(),
            ..CpuStats::default()
        };
        assert_eq!(
            cpu_table(&stats),
            "Percent  Throttled Time\n12.35%   4".replace("12.35", &format!("{:.2}", 12.345))
        );
        assert_eq!(whole(123.97), 123);
    }
}
