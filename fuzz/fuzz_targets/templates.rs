//! Templates of tasks, from their text to what they render.
#![no_main]

use encamp_template::time::Time;
use encamp_template::{AddressError, Answer, Dependency, Limits, Options, Source, Template, Value};

/// Every other dependency is there.
struct Half;

impl Source for Half {
    fn read(&self, dependency: &Dependency) -> Answer {
        match dependency {
            Dependency::VariableExists(_) => Answer::Ready(Value::Bool(true)),
            Dependency::File(path) if path.len().is_multiple_of(2) => Answer::Ready(Value::text(path.as_str())),
            Dependency::File(_) => Answer::Failed("no file".into()),
            _ => Answer::Missing,
        }
    }

    fn env(&self, name: &str) -> Option<String> {
        Some(name.to_lowercase())
    }

    fn now(&self) -> Time {
        Time::from_unix_nanos(1_709_210_096_000_000_000)
    }

    fn address(&self, _: &str) -> Result<String, AddressError> {
        Ok("10.0.0.1".into())
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(template) = Template::parse("t", text, &Options::default()) else { return };
    let limits = Limits { output: 1 << 20, steps: 50_000, memory: 16 << 20, work: 64 << 20, ..Limits::default() };
    // Whether it can be rendered does not matter, but it must not be longer than allowed.
    if let Ok(rendered) = template.render(&Half, &limits) {
        assert!(rendered.text.is_none_or(|text| text.len() <= limits.output), "the output is too large");
    }
});
