//! Edits of the blocks and attributes of a file in HCL.

use super::super::outline::{Element, Outline, Setting};
use super::super::scope::allowed;
use super::{Edit, Repair};
use crate::parse::schema::Kind;
use encamp_hcl::diag::Span;

/// The edits of a file in HCL's native syntax.
#[derive(Clone, Copy)]
pub struct Edits<'o> {
    outline: &'o Outline,
    text: &'o str,
}

impl<'o> Edits<'o> {
    /// Those of a file; `None` for files in JSON, whose blocks are written differently.
    pub fn of(outline: &'o Outline) -> Option<Edits<'o>> {
        let is_json = outline.text.trim_start().starts_with('{');
        (!is_json).then_some(Edits { outline, text: &outline.text })
    }

    fn slice(self, from: usize, to: usize) -> &'o str {
        self.text.get(from..to).unwrap_or("")
    }

    /// The line of a byte, without its end.
    pub(in crate::explain) fn line(self, at: usize) -> (usize, usize) {
        let at = at.min(self.text.len());
        let start = self.slice(0, at).rfind('\n').map_or(0, |n| n + 1);
        let length = self.slice(start, self.text.len()).find('\n').unwrap_or(self.text.len() - start);
        let end = start + self.slice(start, start + length).trim_end_matches('\r').len();
        (start, end)
    }

    fn indent(self, at: usize) -> &'o str {
        let (start, end) = self.line(at);
        let line = self.slice(start, end);
        line.get(..line.len() - line.trim_start().len()).unwrap_or("")
    }

    /// The line end that the file uses: that of its first line, so that many edits do not read all of it each.
    pub(in crate::explain) fn line_end(self) -> &'static str {
        let first = self.text.find('\n').and_then(|at| self.text.get(..at));
        if first.is_some_and(|line| line.ends_with('\r')) { "\r\n" } else { "\n" }
    }

    /// Lines with an indentation, without the end of the last one.
    fn indented(self, lines: &str, indent: &str) -> String {
        let lines: Vec<String> = lines.lines().map(|l| format!("{indent}{l}").trim_end().to_owned()).collect();
        lines.join(self.line_end())
    }

    /// Removes a part: its lines where nothing else stands in them.
    pub fn remove(self, start: usize, end: usize) -> Edit {
        let (first, last) = (self.line(start), self.line(end));
        let behind = self.slice(end, last.1).trim();
        let alone = self.slice(first.0, start).trim().is_empty()
            && (behind.is_empty() || behind.starts_with('#') || behind.starts_with("//"));
        if !alone {
            let blanks = self.slice(end, last.1);
            return Edit::new(start, end + (blanks.len() - blanks.trim_start().len()), "");
        }
        let next = self.slice(last.1, self.text.len()).find('\n').map_or(self.text.len(), |n| last.1 + n + 1);
        Edit::new(first.0, next, "")
    }

    /// Removes an attribute.
    pub fn remove_setting(self, setting: &Setting) -> Repair {
        let (start, end) = extent(setting);
        Repair::certain(format!("Remove {}", setting.name), [self.remove(start, end)])
    }

    /// Removes a block.
    pub fn remove_block(self, block: &Element) -> Repair {
        let edit = self.remove(block.header.start as usize, block.span.end as usize);
        Repair::certain(format!("Remove this {} block", block.kind), [edit])
    }

    /// Gives an attribute another value, written as in the file.
    pub fn value(self, setting: &Setting, value: &str) -> Repair {
        let (start, end) = (setting.value.start as usize, setting.value.end as usize);
        Repair::certain(format!("Write {} = {value}", setting.name), [Edit::new(start, end, value)])
    }

    /// Lines at the beginning of a block; `None` where its braces are not found.
    pub fn lines_in(self, block: &Element, lines: &str) -> Option<Edit> {
        let mut from = block.header.end as usize;
        let end = block.span.end as usize;
        if block.dynamic {
            from += self.slice(from, end).find("content")?;
        }
        let open = from + self.slice(from, end).find('{')? + 1;
        let (_, line_end) = self.line(open);
        let indent = self.indent(from);
        let inner = self.indented(lines, &format!("{indent}  "));
        let behind = self.slice(open, line_end).trim();
        if behind.is_empty() || behind.starts_with('#') || behind.starts_with("//") {
            return Some(Edit::new(line_end, line_end, format!("{}{inner}", self.line_end())));
        }
        // A block of one line: its content gets a line of its own.
        let close = open + self.slice(open, line_end.min(end)).rfind('}')?;
        let content = self.slice(open, close).trim();
        let mut new = format!("{}{inner}", self.line_end());
        if !content.is_empty() {
            new.push_str(&format!("{}{indent}  {content}", self.line_end()));
        }
        new.push_str(&format!("{}{indent}", self.line_end()));
        Some(Edit::new(open, close, new))
    }

    /// Sets an attribute of a block, which may have it already.
    pub fn set(self, block: &Element, name: &str, value: &str) -> Option<Repair> {
        match block.setting(name) {
            Some(setting) => Some(self.value(setting, value)),
            None => self.add(block, &format!("{name} = {value}")),
        }
    }

    /// Adds lines to a block.
    pub fn add(self, block: &Element, lines: &str) -> Option<Repair> {
        let first = lines.lines().next().unwrap_or("").trim_end_matches('{').trim_end();
        Some(Repair::certain(format!("Add {first}"), [self.lines_in(block, lines)?]))
    }

    /// Adds a block outside of the job, before all others.
    pub(in crate::explain) fn declare(self, lines: &str) -> Edit {
        let lines = self.indented(lines, "");
        let first = self.outline.root.blocks.first().map_or(0, |b| self.line(b.header.start as usize).0);
        Edit::new(first, first, format!("{lines}{0}{0}", self.line_end()))
    }

    /// Moves a part, an attribute or a block, into a block of a type inside of `holder`, which may have none yet.
    pub(in crate::explain) fn move_into(
        self,
        holder: &Element,
        kind: &str,
        start: usize,
        end: usize,
    ) -> Option<Repair> {
        let part = self.slice(start, end);
        let title = format!("Move it into {kind} {{ … }}");
        if let Some(inner) = holder.of(kind).find(|b| !contains(b.span, start)) {
            let edits = [self.remove(start, end), self.lines_in(inner, part)?];
            return Some(Repair::certain(title, edits));
        }
        let indent = self.indent(start);
        let (line, _) = self.line(start);
        let inner = self.indented(&dedented(part, indent), &format!("{indent}  "));
        let new = format!("{kind} {{{0}{inner}{0}{indent}}}", self.line_end());
        let alone = self.slice(line, start).trim().is_empty();
        alone.then(|| Repair::certain(title, [Edit::new(start, end, new)]))
    }

    /// Moves a block into the one around the block that it is in.
    pub(super) fn move_out(self, outer: &Element, block: &Element) -> Option<Repair> {
        let (start, end) = (block.header.start as usize, block.span.end as usize);
        let lines = dedented(self.slice(start, end), self.indent(start));
        let edits = [self.remove(start, end), self.lines_in(outer, &lines)?];
        Some(Repair::certain(format!("Move it into the {}", outer.kind), edits))
    }

    /// Gives a block the first label that no sibling has: `api-2`.
    pub(super) fn unique_label(self, holder: &Element, block: &Element) -> Option<Repair> {
        let old = block.labels.first()?;
        let taken = |name: &String| holder.of(&block.kind).any(|b| b.labels.first() == Some(name));
        let new = (2..).map(|n| format!("{old}-{n}")).find(|name| !taken(name))?;
        self.label(block, &new)
    }

    /// Gives a block another first label.
    pub(super) fn label(self, block: &Element, new: &str) -> Option<Repair> {
        let header = self.outline.slice(block.header);
        let behind = header.get(block.kind.len()..)?;
        let at = block.kind.len() + behind.find(block.labels.first()?.as_str())?;
        let start = block.header.start as usize + at;
        Some(Repair::rename(start, start + block.labels.first()?.len(), new))
    }

    /// Makes a block that repeats itself by Terraform's `for_each` a `dynamic` block.
    pub(in crate::explain) fn made_dynamic(self, block: &Element, for_each: &Setting) -> Option<Repair> {
        let (start, end) = extent(for_each);
        let value = self.outline.slice(for_each.value);
        let header = self.outline.slice(block.header);
        let kind = &block.kind;
        if block.dynamic || value.contains('\n') || !header.starts_with(kind.as_str()) {
            return None;
        }
        let labels = match block.labels.first() {
            Some(label) => format!("\nlabels   = [\"{label}-${{{kind}.key}}\"]"),
            None => String::new(),
        };
        let lines = format!("for_each = {value}{labels}\ncontent {{");
        let last = block.span.end as usize - 1;
        let closing = format!("  }}{}{}", self.line_end(), self.indent(last));
        let edits = [
            Edit::new(block.header.start as usize, block.header.end as usize, format!("dynamic {kind:?}")),
            self.lines_in(block, &lines)?,
            self.remove(start, end),
            Edit::new(last, last, closing),
        ];
        Some(Repair::certain(format!("Make it dynamic {kind:?} {{ … }}"), edits))
    }
}

/// From the name of an attribute to the end of its value.
fn extent(setting: &Setting) -> (usize, usize) {
    (setting.name_span.start as usize, setting.value.end as usize)
}

fn contains(span: Span, at: usize) -> bool {
    (span.start as usize..span.end as usize).contains(&at)
}

/// Lines without the indentation that all but the first one have.
fn dedented(lines: &str, indent: &str) -> String {
    let lines: Vec<&str> = lines.lines().map(|l| l.strip_prefix(indent).unwrap_or(l)).collect();
    lines.join("\n")
}

/// A value that an attribute accepts, as a placeholder for one that is not known. `source`: how it is written.
pub(in crate::explain) fn placeholder(path: &[&Element], name: &str, source: &str) -> &'static str {
    if source.starts_with(['"', '<']) {
        return "\"\"";
    }
    match allowed(path).and_then(|a| a.kind(name)) {
        Some(Kind::Int { .. }) => "1",
        Some(Kind::Bool | Kind::OptBool) => "false",
        Some(Kind::Duration) => "\"30s\"",
        Some(Kind::Strings | Kind::Ports) => "[]",
        Some(Kind::StringMap) => "{}",
        Some(Kind::Str | Kind::OptStr) | None => "\"\"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::outline::Syntax;

    fn outline(text: &str) -> Outline {
        Outline::read("f.hcl", text, Syntax::Hcl)
    }

    #[test]
    fn lines_are_added_to_blocks_of_one_line_and_of_several() {
        for (text, want) in [
            ("job \"j\" {}\n", "job \"j\" {\n  a = 1\n}\n"),
            ("job \"j\" { b = 2 }\n", "job \"j\" {\n  a = 1\n  b = 2\n}\n"),
            ("job \"j\" { # why\n  b = 2\n}\n", "job \"j\" { # why\n  a = 1\n  b = 2\n}\n"),
            ("job \"j\" {\r\n  b = 2\r\n}\r\n", "job \"j\" {\r\n  a = 1\r\n  b = 2\r\n}\r\n"),
        ] {
            let outline = outline(text);
            let edits = Edits::of(&outline).expect("HCL");
            let repair = edits.add(outline.job().expect("a job"), "a = 1").expect("a change");
            assert_eq!((repair.title.as_str(), repair.apply(text).as_deref()), ("Add a = 1", Some(want)));
        }
    }

    #[test]
    fn parts_are_removed_with_their_lines() {
        for (text, want) in [
            ("job \"j\" {\n  a = 1 # why\n  b = 2\n}\n", "job \"j\" {\n  b = 2\n}\n"),
            ("job \"j\" { a = 1 }\n", "job \"j\" { }\n"),
            ("job \"j\" {\r\n  a = [\r\n    1,\r\n  ]\r\n}", "job \"j\" {\r\n}"),
        ] {
            let outline = outline(text);
            let setting = outline.job().and_then(|j| j.setting("a")).expect("an attribute");
            let repair = Edits::of(&outline).expect("HCL").remove_setting(setting);
            assert_eq!(repair.apply(text).as_deref(), Some(want));
        }
    }

    #[test]
    fn blocks_move_in_and_out() {
        let text = "job \"j\" {\n  group \"g\" {\n    task \"t\" {\n      memory = 1\n    }\n  }\n}\n";
        let outline = outline(text);
        let edits = Edits::of(&outline).expect("HCL");
        let path = outline.around(text.find("memory").expect("a place"));
        let [job, group, task] = path.as_slice() else { panic!("{path:#?}") };
        let setting = task.setting("memory").expect("an attribute");
        let moved = edits.move_into(task, "resources", setting.name_span.start as usize, setting.value.end as usize);
        let moved = moved.and_then(|r| r.apply(text)).expect("a change");
        assert!(moved.contains("      resources {\n        memory = 1\n      }\n"), "{moved}");
        let out = edits.move_out(job, group).and_then(|r| r.apply(text)).expect("a change");
        assert!(out.starts_with("job \"j\" {\n  group \"g\" {\n    task"), "{out}");
        let label = edits.unique_label(job, group).and_then(|r| r.apply(text)).expect("a change");
        assert!(label.contains("group \"g-2\" {"), "{label}");
    }

    #[test]
    fn files_in_json_have_no_edits() {
        assert!(Edits::of(&outline("{\"job\": {}}")).is_none());
    }
}
