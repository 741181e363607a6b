//! The output of `node status` about one node (`docs/spec/cli.md §10.1`).

use super::usage;
use crate::alloc::max_run;
use crate::connection::Connection;
use crate::context::Context;
use crate::render::allocations::{self, Listing, Row};
use crate::render::stats::{device_blocks, device_summaries, node_percent};
use crate::render::table::{Form, cell, pairs, table};
use crate::render::values::{self, written_time};
use encamp_model::stats::HostStats;
use encamp_model::{Allocation, Attribute, Node, NodeEvent, SECOND, format_duration};

/// A node and how it is shown.
pub(super) struct View<'a> {
    /// The node.
    pub node: &'a Node,
    /// All its allocations.
    pub allocs: &'a [Allocation],
    /// Show full identifiers, timestamps and all details.
    pub verbose: bool,
    /// Show detailed resource usage statistics.
    pub stats: bool,
}

impl View<'_> {
    /// Show brief output about the node, and its allocations.
    pub(super) fn print_short(&self, context: &mut Context<'_, '_>) {
        let mut rows = self.first_rows();
        rows.extend(self.volume_rows());
        rows.push(("Drivers", self.enabled_drivers()));
        context.ui.output(&pairs(&rows));
        self.print_allocations(context);
    }

    /// The node and its resource usage.
    pub(super) fn print(&self, c: &Connection, context: &mut Context<'_, '_>) {
        let stats = c.wait(c.client.node_stats(&self.node.id)).map(|(stats, _)| stats);
        let mut rows = self.first_rows();
        if let Ok(stats) = &stats {
            let uptime = i64::try_from(stats.uptime).unwrap_or(0).saturating_mul(SECOND);
            rows.push(("Uptime", format_duration(uptime)));
        } else if let Err(e) = &stats {
            context.ui.output("");
            context.ui.error(&format!("error fetching node stats: {e}"));
        }
        if !self.verbose {
            rows.extend(self.volume_rows());
            rows.push(("Driver Status", self.driver_status()));
        }
        context.ui.output(&pairs(&rows));
        if self.verbose {
            self.print_offers(context);
        }
        self.print_events(context);
        if let Some(left) = stats.as_ref().ok().and_then(leftovers) {
            heading(context, "Local Collection[reset]", &left);
        }
        heading(context, "Allocated Resources[reset]", &usage::allocated(self.node, self.allocs));
        if let Some(text) = usage::measured_allocations(c, self.node, self.allocs) {
            heading(context, "Allocation Resource Utilization[reset]", &text);
        }
        if let Ok(stats) = &stats {
            heading(context, "Host Resource Utilization[reset]", &usage::host(self.node, stats));
            self.print_devices(context, stats);
            if self.stats {
                print_stats(context, stats);
            }
        }
        self.print_allocations(context);
        if self.verbose {
            self.print_attributes(context);
        }
    }

    fn first_rows(&self) -> Vec<(&'static str, String)> {
        let node = self.node;
        let names = |map: &std::collections::BTreeMap<String, encamp_model::CsiInfo>| {
            map.keys().cloned().collect::<Vec<_>>().join(",")
        };
        vec![
            ("ID", node.id.clone()),
            ("Name", node.name.clone()),
            ("Node Pool", node.node_pool.clone()),
            ("Class", node.node_class.clone()),
            ("DC", node.datacenter.clone()),
            ("Drain", drain(node)),
            ("Eligibility", node.scheduling_eligibility.to_string()),
            ("Status", node.status.to_string()),
            ("CSI Controllers", names(&node.csi_controller_plugins)),
            ("CSI Drivers", names(&node.csi_node_plugins)),
        ]
    }

    fn volume_rows(&self) -> Vec<(&'static str, String)> {
        let joined = |names: Vec<&str>| names.join(",");
        vec![
            ("Host Volumes", joined(self.node.host_volumes.keys().map(String::as_str).collect())),
            ("Host Networks", joined(self.node.host_networks.keys().map(String::as_str).collect())),
            ("CSI Volumes", joined(self.csi_volumes())),
        ]
    }

    /// The CSI volumes that allocations of the node request.
    fn csi_volumes(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .allocs
            .iter()
            .filter_map(|alloc| alloc.job.as_ref()?.lookup_group(&alloc.task_group)?.volumes.as_ref())
            .flat_map(|volumes| volumes.values())
            .filter(|volume| volume.r#type == "csi")
            .map(|volume| volume.name.as_str())
            .collect();
        names.sort_unstable();
        names
    }

    fn enabled_drivers(&self) -> String {
        let attributes = self.node.attributes.iter().filter(|(_, value)| *value == "1");
        let names = attributes.filter_map(|(name, _)| name.strip_prefix("driver."));
        names.filter(|name| !name.contains('.')).collect::<Vec<_>>().join(",")
    }

    fn driver_status(&self) -> String {
        let detected = self.node.drivers.iter().filter(|(_, driver)| driver.detected);
        let names =
            detected.map(|(name, driver)| if driver.healthy { name.clone() } else { format!("{name} (unhealthy)") });
        names.collect::<Vec<_>>().join(",")
    }

    /// Volumes, networks and drivers, each with its own table.
    fn print_offers(&self, context: &mut Context<'_, '_>) {
        let node = self.node;
        if !node.host_volumes.is_empty() {
            let mut lines = vec!["Name|ReadOnly|Source".to_string()];
            lines.extend(node.host_volumes.iter().map(|(name, v)| format!("{name}|{}|{}", v.read_only, v.path)));
            heading(context, "Host Volumes", &table(&lines, Form::List));
        }
        if !node.host_networks.is_empty() {
            let mut lines = vec!["Name|CIDR|Interface|ReservedPorts".to_string()];
            let networks = node.host_networks.iter();
            lines.extend(networks.map(|(name, n)| format!("{name}|{}|{}|{}", n.cidr, n.interface, n.reserved_ports)));
            heading(context, "Host Networks", &table(&lines, Form::List));
        }
        let mut lines = vec!["Driver|Detected|Healthy|Message|Time".to_string()];
        lines.extend(node.drivers.iter().map(|(name, d)| {
            let time = written_time(d.update_time);
            format!("{name}|{}|{}|{}|{time}", d.detected, d.healthy, d.health_description)
        }));
        heading(context, "Drivers", &table(&lines, Form::List));
    }

    fn print_events(&self, context: &mut Context<'_, '_>) {
        let details = if self.verbose { "|Details" } else { "" };
        let mut lines = vec![format!("Time|Subsystem|Message{details}")];
        lines.extend(self.node.events.iter().rev().map(|event| {
            let time = written_time(event.timestamp);
            let line = format!("{time}|{}|{}", subsystem(event), event.message);
            if !self.verbose {
                return line;
            }
            let details: Vec<String> = event.details.iter().map(|(k, v)| format!("{k}: {v}")).collect();
            format!("{line}|{}", details.join(", "))
        }));
        heading(context, "Node Events", &table(&lines, Form::List));
    }

    fn print_devices(&self, context: &mut Context<'_, '_>, stats: &HostStats) {
        let Some(resources) = &self.node.node_resources else { return };
        let measured = device_summaries(stats.device_stats.as_deref().unwrap_or_default());
        let mut lines: Vec<String> = resources
            .devices
            .iter()
            .flat_map(|group| {
                group
                    .instances
                    .iter()
                    .map(move |device| format!("{}/{}/{}[{}]", group.vendor, group.r#type, group.name, device.id))
            })
            .map(|name| {
                let value = measured.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_str()).unwrap_or_default();
                format!("{name}|{value}")
            })
            .collect();
        lines.sort();
        if !lines.is_empty() {
            heading(context, "Device Resource Utilization[reset]", &table(&lines, Form::List));
        }
    }

    fn print_allocations(&self, context: &mut Context<'_, '_>) {
        let mut rows: Vec<Row<'_>> = self
            .allocs
            .iter()
            .map(|alloc| Row {
                id: &alloc.id,
                eval_id: &alloc.eval_id,
                node_id: &alloc.node_id,
                node_name: &alloc.node_name,
                group: &alloc.task_group,
                version: alloc.job_version().unwrap_or(0),
                desired: alloc.desired_status.clone(),
                status: alloc.client_status.clone(),
                created: alloc.create_time,
                modified: alloc.modify_time,
                create_index: alloc.create_index,
                max_run: max_run(alloc),
            })
            .collect();
        allocations::sort(&mut rows);
        let clock = context.clock();
        let how = Listing { verbose: self.verbose, node_names: false, zone: &clock.zone, now: clock.now };
        heading(context, "Allocations[reset]", &allocations::listed(&rows, &how));
    }

    fn print_attributes(&self, context: &mut Context<'_, '_>) {
        let rows: Vec<(&String, &String)> = self.node.attributes.iter().collect();
        heading(context, "Attributes[reset]", &pairs(&rows));
        let groups = self.node.node_resources.as_ref().map(|r| r.devices.as_slice()).unwrap_or_default();
        if !groups.is_empty() {
            let blocks: Vec<String> = groups
                .iter()
                .map(|group| {
                    let name = format!("{}/{}/{}", group.vendor, group.r#type, group.name);
                    let mut rows = vec![("Device Group".to_string(), name)];
                    rows.extend(group.attributes.iter().map(|(name, value)| (name.clone(), attribute(value))));
                    pairs(&rows)
                })
                .collect();
            heading(context, "Device Group Attributes[reset]", &blocks.join("\n\n"));
        }
        let meta: Vec<(&String, &String)> = self.node.meta.iter().filter(|(key, _)| !key.is_empty()).collect();
        heading(context, "Meta[reset]", &pairs(&meta));
    }
}

/// A section: an empty line, its name in bold, and its content.
fn heading(context: &mut Context<'_, '_>, name: &str, text: &str) {
    context.ui.output_markup(&format!("\n[bold]{name}"));
    context.ui.output(text);
}

fn subsystem(event: &NodeEvent) -> String {
    match event.details.get("driver") {
        Some(driver) => format!("Driver: {driver}"),
        None => event.subsystem.clone(),
    }
}

/// The directories of allocations that the node could not remove; `None`: there are none.
fn leftovers(stats: &HostStats) -> Option<String> {
    let left = stats.local_collection.as_ref().filter(|left| left.not_removed > 0)?;
    let mut lines = vec!["Path|Error|Tries|Next Try".to_string()];
    lines.extend(left.directories.iter().map(|dir| {
        let wait = dir.next_try.saturating_sub(stats.timestamp).max(0);
        // Whole seconds: the answer is up to a second old.
        let wait = format_duration((wait / SECOND).saturating_mul(SECOND));
        format!("{}|{}|{}|{wait}", cell(&dir.path), cell(&dir.error), dir.tries)
    }));
    let count = match left.not_removed {
        1 => "1 directory could not be removed".to_string(),
        count => format!("{count} directories could not be removed"),
    };
    Some(format!("{count}; the node tries again\n{}", table(&lines, Form::List)))
}

/// Whether and how the node is drained.
fn drain(node: &Node) -> String {
    let Some(strategy) = &node.drain_strategy else { return node.drain.to_string() };
    let mut text = if strategy.deadline < 0 {
        "true; force drain".to_string()
    } else if strategy.force_deadline.is_zero() {
        "true; no deadline".into()
    } else {
        format!("true; {} deadline", written_time(strategy.force_deadline))
    };
    if strategy.ignore_system_jobs {
        text.push_str("; ignoring system jobs");
    }
    text
}

/// A device's attribute with its unit.
fn attribute(value: &Attribute) -> String {
    let text = value.int.map(|n| n.to_string()).or_else(|| value.float.map(|x| x.to_string()));
    let text = text.or_else(|| value.bool.map(|b| b.to_string())).or_else(|| value.string.clone());
    format!("{} {}", text.unwrap_or_default(), value.unit).trim_end().to_string()
}

fn print_stats(context: &mut Context<'_, '_>, stats: &HostStats) {
    let bytes = values::bytes;
    let cores = stats.cpu.iter().map(|core| {
        pairs(&[
            ("CPU", core.cpu.clone()),
            ("User", node_percent(core.user)),
            ("System", node_percent(core.system)),
            ("Idle", node_percent(core.idle)),
        ])
    });
    heading(context, "CPU Stats[reset]", &cores.collect::<Vec<_>>().join("\n\n"));
    let memory = &stats.memory;
    let rows = [
        ("Total", bytes(memory.total)),
        ("Available", bytes(memory.available)),
        ("Used", bytes(memory.used)),
        ("Free", bytes(memory.free)),
    ];
    heading(context, "Memory Stats[reset]", &pairs(&rows));
    let disks = stats.disk_stats.iter().map(|disk| {
        pairs(&[
            ("Device", disk.device.clone()),
            ("MountPoint", disk.mountpoint.clone()),
            ("Size", bytes(disk.size)),
            ("Used", bytes(disk.used)),
            ("Available", bytes(disk.available)),
            ("Used Percent", node_percent(disk.used_percent)),
            ("Inodes Percent", node_percent(disk.inodes_used_percent)),
        ])
    });
    heading(context, "Disk Stats[reset]", &disks.collect::<Vec<_>>().join("\n\n"));
    let devices = device_blocks(stats.device_stats.as_deref().unwrap_or_default());
    if !devices.is_empty() {
        heading(context, "Device Stats[reset]", &devices.join("\n\n"));
    }
}
