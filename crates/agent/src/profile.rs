//! Profiles of the running agent in the form that `pprof` tools read (gzip'd protocol buffers), made from `/proc/self`:
//! processor time by thread, threads by state, memory by mapping.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use flate2::Compression;
use flate2::write::GzEncoder;
use procfs::process::{MMapPath, MemoryMaps, Process, Stat};

use encamp_http::agent::control::{Profile, ProfileKind};

/// The sampling interval of threads while processor time is measured.
const LOOK: Duration = Duration::from_millis(50);

/// Creates a profile; processor time is measured for `length`. `text`: as text instead of the `pprof` format.
///
/// # Errors
/// The system does not provide the data.
pub async fn make(kind: ProfileKind, length: Duration, text: bool) -> std::io::Result<Profile> {
    match kind {
        ProfileKind::CommandLine => {
            let arguments: Vec<String> = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
            Ok(Profile { content_type: "text/plain; charset=utf-8", bytes: arguments.join("\0").into_bytes() })
        }
        ProfileKind::Processor => {
            let mut table = Table::new(&[("samples", "count"), ("cpu", "nanoseconds")]);
            table.length = length;
            for (thread, (looks, nanos)) in processor_time(length).await? {
                table.add(&[&thread, "encamp"], &[looks, nanos]);
            }
            table.finish(text)
        }
        ProfileKind::Threads => {
            let mut table = Table::new(&[("threads", "count")]);
            for thread in threads()?.into_values() {
                table.add(&[state(thread.state), &thread.comm], &[1]);
            }
            table.finish(text)
        }
        ProfileKind::Memory => {
            let maps = Process::myself().and_then(|p| p.smaps()).map_err(std::io::Error::other)?;
            let mut table = Table::new(&[("mapped_space", "bytes"), ("inuse_space", "bytes")]);
            for (name, (mapped, used)) in mappings(&maps) {
                table.add(&[&name], &[mapped, used]);
            }
            table.finish(text)
        }
    }
}

/// The threads of this process by their IDs.
fn threads() -> std::io::Result<HashMap<i32, Stat>> {
    let tasks = Process::myself().and_then(|p| p.tasks()).map_err(std::io::Error::other)?;
    // A thread that has ended in the meantime is skipped.
    Ok(tasks.flatten().filter_map(|t| Some((t.tid, t.stat().ok()?))).collect())
}

/// The time that a thread has used, in ticks of the clock.
fn used(thread: &Stat) -> u64 {
    thread.utime.saturating_add(thread.stime)
}

fn state(letter: char) -> &'static str {
    match letter {
        'R' => "running",
        'S' => "sleeping",
        'D' => "waiting for the disk",
        'T' | 't' => "stopped",
        'Z' => "ended",
        _ => "other",
    }
}

/// The number of samples in which each thread was running, by name, and their duration in nanoseconds.
async fn processor_time(length: Duration) -> std::io::Result<BTreeMap<String, (i64, i64)>> {
    let tick = 1_000_000_000 / procfs::ticks_per_second().max(1);
    let end = tokio::time::Instant::now() + length;
    let mut before = threads()?;
    let mut out: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    while tokio::time::Instant::now() < end {
        tokio::time::sleep_until(end.min(tokio::time::Instant::now() + LOOK)).await;
        let now = threads()?;
        for (id, thread) in &now {
            let ticks = used(thread).saturating_sub(before.get(id).map_or(0, used));
            if ticks > 0 {
                let (looks, nanos) = out.entry(thread.comm.clone()).or_default();
                *looks += 1;
                *nanos += i64::try_from(ticks.saturating_mul(tick)).unwrap_or(i64::MAX);
            }
        }
        before = now;
    }
    Ok(out)
}

/// Mapped bytes and resident bytes by the name of the mapping.
fn mappings(maps: &MemoryMaps) -> BTreeMap<String, (i64, i64)> {
    let mut out: BTreeMap<String, (i64, i64)> = BTreeMap::new();
    for map in &maps.0 {
        let bytes = |key: &str| map.extension.map.get(key).map_or(0, |n| i64::try_from(*n).unwrap_or(i64::MAX));
        let (mapped, used) = out.entry(name(&map.pathname)).or_default();
        *mapped = mapped.saturating_add(bytes("Size"));
        *used = used.saturating_add(bytes("Rss"));
    }
    out
}

/// The name of a mapping, as the kernel writes it.
fn name(path: &MMapPath) -> String {
    match path {
        MMapPath::Path(path) => path.display().to_string(),
        MMapPath::Heap => "[heap]".into(),
        MMapPath::Stack => "[stack]".into(),
        MMapPath::TStack(thread) => format!("[stack:{thread}]"),
        MMapPath::Vdso => "[vdso]".into(),
        MMapPath::Vvar => "[vvar]".into(),
        MMapPath::Vsyscall => "[vsyscall]".into(),
        MMapPath::Rollup => "[rollup]".into(),
        MMapPath::Anonymous => "anonymous".into(),
        MMapPath::Vsys(key) => format!("/SYSV{key:08x}"),
        MMapPath::Other(name) => format!("[{name}]"),
    }
}

/// Values by stack, the innermost frame first.
struct Table {
    kinds: Vec<(&'static str, &'static str)>,
    rows: Vec<(Vec<String>, Vec<i64>)>,
    length: Duration,
}

impl Table {
    fn new(kinds: &[(&'static str, &'static str)]) -> Table {
        Table { kinds: kinds.to_vec(), rows: Vec::new(), length: Duration::ZERO }
    }

    /// Adds values to those of a stack.
    fn add(&mut self, stack: &[&str], values: &[i64]) {
        match self.rows.iter_mut().find(|(s, _)| s.iter().map(String::as_str).eq(stack.iter().copied())) {
            Some((_, sums)) => sums.iter_mut().zip(values).for_each(|(sum, v)| *sum = sum.saturating_add(*v)),
            None => self.rows.push((stack.iter().map(|s| (*s).to_string()).collect(), values.to_vec())),
        }
    }

    fn finish(mut self, text: bool) -> std::io::Result<Profile> {
        self.rows.sort();
        if text {
            let kinds: Vec<String> = self.kinds.iter().map(|(kind, unit)| format!("{kind} ({unit})")).collect();
            let mut out = format!("{}\n", kinds.join(", "));
            for (stack, values) in &self.rows {
                let values: Vec<String> = values.iter().map(i64::to_string).collect();
                out.push_str(&format!("{} {}\n", values.join(" "), stack.join(" <- ")));
            }
            return Ok(Profile { content_type: "text/plain; charset=utf-8", bytes: out.into_bytes() });
        }
        let mut gz = GzEncoder::new(Vec::new(), Compression::default());
        gz.write_all(&self.encode())?;
        Ok(Profile { content_type: "application/octet-stream", bytes: gz.finish()? })
    }

    /// `perftools.profiles.Profile`.
    fn encode(&self) -> Vec<u8> {
        let mut strings = Strings::default();
        strings.index("");
        let mut out = Message::default();
        for (kind, unit) in &self.kinds {
            out.message(1, &value_type(&mut strings, kind, unit));
        }
        // A function and a location for each name, with one ID.
        let mut frames: BTreeMap<&str, u64> = BTreeMap::new();
        for (stack, values) in &self.rows {
            let mut sample = Message::default();
            for name in stack {
                let next = frames.len() as u64 + 1;
                sample.number(1, *frames.entry(name).or_insert(next));
            }
            for value in values {
                sample.number(2, u64::try_from(*value).unwrap_or(0));
            }
            out.message(2, &sample);
        }
        for (name, id) in &frames {
            let mut line = Message::default();
            line.number(1, *id);
            let mut location = Message::default();
            location.number(1, *id);
            location.message(4, &line);
            out.message(4, &location);
            let mut function = Message::default();
            function.number(1, *id);
            function.number(2, strings.index(name));
            out.message(5, &function);
        }
        let period = self.kinds.last().map(|(kind, unit)| value_type(&mut strings, kind, unit));
        for text in &strings.all {
            out.bytes(6, text.as_bytes());
        }
        let nanos = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        out.number(9, nanos(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()));
        out.number(10, nanos(self.length));
        if let Some(period) = period {
            out.message(11, &period);
            out.number(12, 1);
        }
        out.0
    }
}

fn value_type(strings: &mut Strings, kind: &str, unit: &str) -> Message {
    let mut out = Message::default();
    out.number(1, strings.index(kind));
    out.number(2, strings.index(unit));
    out
}

/// The string table of a profile; other messages refer to strings by index.
#[derive(Default)]
struct Strings {
    all: Vec<String>,
}

impl Strings {
    fn index(&mut self, text: &str) -> u64 {
        let place = self.all.iter().position(|t| t == text).unwrap_or_else(|| {
            self.all.push(text.into());
            self.all.len() - 1
        });
        place as u64
    }
}

/// A message in protocol buffers encoding.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push((n & 0x7f) as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    fn number(&mut self, field: u64, n: u64) {
        self.varint(field << 3);
        self.varint(n);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u64, message: &Message) {
        self.bytes(field, &message.0);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use procfs::FromBufRead;

    use super::*;

    #[test]
    fn memory_is_summed_by_what_is_mapped() {
        let smaps = "55d0-55d1 r--p 00000000 08:01 123    /bin/encamp\nSize:   4 kB\nRss:    4 kB\nVmFlags: rd\n\
                     55d1-55d2 r-xp 00001000 08:01 123 /bin/encamp\nSize:   8 kB\nRss:    0 kB\n\
                     7f00-7f01 rw-p 00000000 00:00 0 \nSize:   16 kB\nRss:    12 kB\n";
        let got = mappings(&MemoryMaps::from_buf_read(smaps.as_bytes()).expect("mappings"));
        assert_eq!((got["/bin/encamp"], got["anonymous"]), ((12_288, 4_096), (16_384, 12_288)));
    }

    #[tokio::test]
    async fn profiles_have_the_form_that_tools_read() {
        let profile = make(ProfileKind::Threads, Duration::ZERO, false).await.expect("a profile");
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(&profile.bytes[..]).read_to_end(&mut bytes).expect("gzip");
        // The first field is a sample type, the texts begin with an empty one.
        assert_eq!(bytes.first(), Some(&0x0a));
        let holds = |part: &[u8]| bytes.windows(part.len()).any(|w| w == part);
        assert!(holds(b"\x32\x00\x32\x07threads\x32\x05count"), "{bytes:?}");
        let text = make(ProfileKind::Threads, Duration::ZERO, true).await.expect("a profile");
        assert!(String::from_utf8_lossy(&text.bytes).starts_with("threads (count)\n"));
        let busy = std::thread::Builder::new().name("busy".into());
        let busy = busy.spawn(|| {
            let begin = std::time::Instant::now();
            while begin.elapsed() < Duration::from_millis(600) {
                std::hint::spin_loop();
            }
        });
        let profile = make(ProfileKind::Processor, Duration::from_millis(500), true).await.expect("a profile");
        let text = String::from_utf8_lossy(&profile.bytes);
        assert!(text.contains(" busy <- encamp"), "{text}");
        busy.expect("a thread").join().expect("it ends");
    }
}
