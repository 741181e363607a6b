//! The language server in Neovim; where that is not installed, the test is skipped, which the summary of the run says.

use std::fmt::Write as _;
use std::process::Command;

use super::mistakes::{File, files, has_change};
use crate::program::{self, Folder};
use encamp_test_support::notes;
use serde_json::Value;

/// Opens each file, lists its diagnostics, applies the change for each and undoes it again.
const SCRIPT: &str = r#"
local program, folder, names = unpack(vim.fn.json_decode(table.concat(vim.fn.readfile(SETTINGS), '\n')))
local client = vim.lsp.start_client({ name = 'encamp', cmd = { program, 'lsp' }, root_dir = folder })
local function with(message)
  local count = 0
  for _, d in ipairs(vim.diagnostic.get(0)) do
    if d.message == message then count = count + 1 end
  end
  return count
end
local out = {}
for _, name in ipairs(names) do
  vim.cmd('edit! ' .. folder .. '/' .. name)
  vim.lsp.buf_attach_client(0, client)
  vim.wait(20000, function() return #vim.diagnostic.get(0) > 0 end, 5)
  local list = {}
  local all = vim.diagnostic.get(0)
  for _, d in ipairs(all) do
    local params = vim.lsp.util.make_range_params()
    params.range = {
      start = { line = d.lnum, character = d.col }, ['end'] = { line = d.end_lnum, character = d.end_col },
    }
    params.context = { diagnostics = {} }
    local answers = vim.lsp.buf_request_sync(0, 'textDocument/codeAction', params, 20000)
    local before, state = with(d.message), 'no change'
    for _, answer in pairs(answers or {}) do
      for _, action in ipairs(answer.result or {}) do
        for _, about in ipairs(action.diagnostics or {}) do
          if state == 'no change' and about.message == d.message and about.range.start.line == d.lnum then
            vim.lsp.util.apply_workspace_edit(action.edit, 'utf-16')
            local gone = vim.wait(20000, function() return with(d.message) < before end, 5)
            state = gone and 'gone' or 'still there'
            vim.cmd('undo')
            vim.wait(20000, function() return #vim.diagnostic.get(0) == #all end, 5)
          end
        end
      end
    end
    table.insert(list, { line = d.lnum + 1, column = d.col, message = d.message, state = state })
  end
  table.insert(out, { name = name, list = list })
end
vim.fn.writefile({ vim.fn.json_encode(out) }, folder .. '/out.json')
vim.cmd('qa!')
"#;

/// Every mistake is in the editor's list, at the place that `job validate` tells, and its change removes it.
#[test]
fn neovim_lists_every_mistake_and_applies_its_change() {
    if notes::lacks("lsp::neovim", "nvim") {
        return;
    }
    let folder = Folder::new("lsp-neovim");
    let files = files();
    for File { name, text } in &files {
        folder.file(name, text);
    }
    let names: Vec<&String> = files.iter().map(|f| &f.name).collect();
    let settings = serde_json::json!([program::path(), folder.path(), names]);
    let settings = folder.file("settings.txt", settings.to_string());
    let script = folder.file("drive.lua", SCRIPT.replace("SETTINGS", &format!("{:?}", settings.display().to_string())));
    let ran = Command::new("nvim")
        .args(["--headless", "-u", "NONE", "-i", "NONE", "-n", "-S"])
        .arg(&script)
        .env("HOME", folder.path())
        .env_remove("NOMAD_ADDR")
        .output()
        .expect("Neovim runs");
    let said = String::from_utf8_lossy(&ran.stderr).replace('\r', "");
    let out = std::fs::read_to_string(folder.path().join("out.json")).unwrap_or_else(|e| panic!("{e}: {said}"));
    let out: Value = serde_json::from_str(&out).expect("JSON");
    let (mut wrong, mut gone) = (String::new(), 0);
    for (file, got) in files.iter().zip(out.as_array().expect("a list")) {
        assert_eq!(got["name"], file.name.as_str());
        let list = got["list"].as_array().expect("a list");
        assert!(!list.is_empty(), "{}", file.name);
        for entry in list {
            let message = entry["message"].as_str().unwrap_or("");
            let is_right = entry["state"] == if has_change(&file.name, message) { "gone" } else { "no change" };
            gone += usize::from(entry["state"] == "gone");
            if !is_right {
                let _ = writeln!(wrong, "{}: {entry}", file.name);
            }
        }
        wrong.push_str(&misplaced(file, list));
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(gone >= 60, "{gone} mistakes");
}

/// The mistakes of `job validate` that are not at their places in the editor's list.
fn misplaced(file: &File, list: &[Value]) -> String {
    let folder = Folder::new("lsp-neovim-validate");
    folder.file(&file.name, &file.text);
    let form: &[&str] = if file.name.ends_with(".json") { &["-json"] } else { &[] };
    let args: Vec<&str> =
        ["job", "validate", "-diagnostics=json"].iter().chain(form).chain(&[file.name.as_str()]).copied().collect();
    let ran = program::run_in(folder.path(), &args);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{}: {e}", file.name));
    let mut out = String::new();
    for d in answer["diagnostics"].as_array().expect("a list") {
        let text = d["message"].as_str().unwrap_or("");
        let same = |e: &&Value| e["message"].as_str().unwrap_or("").starts_with(text) && e["line"] == d["line"];
        if !list.iter().any(|e| same(&e)) {
            let _ = writeln!(out, "{}: not in the list: {d}", file.name);
        }
    }
    out
}
