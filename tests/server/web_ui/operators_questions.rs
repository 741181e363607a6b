//! The questions of `docs/guide/web-ui.md`: a person finds each answer from the overview with at most three clicks, and
//! the command beside it answers, too.

use encamp_test_support::browser::Browser;
use encamp_test_support::notes;

use super::filled::Filled;
use super::pages::sign_in;
use crate::program::Folder;

/// The most clicks.
const MOST: usize = 3;

/// A row of the guide's table.
struct Question {
    question: String,
    /// The names of the links.
    clicks: Vec<String>,
    /// What the page says then.
    answer: String,
    command: Vec<String>,
}

/// The short ID that words such as `allocation of web` stand for, or the words themselves.
fn resolved(c: &Filled, words: &str) -> String {
    let id = match words {
        "allocation of web" => &c.web,
        "allocation of trainer" => &c.preempted,
        "allocation of payments" => &c.preempting,
        "allocation of broken" => &c.failed,
        "deployment of web" => &c.canary,
        "evaluation of huge" => &c.blocked,
        "client" => return c.node_name.clone(),
        other => return other.to_string(),
    };
    id.get(..8).expect("an ID").to_string()
}

/// The rows of the guide's table.
fn questions(c: &Filled) -> Vec<Question> {
    let guide = std::fs::read_to_string(format!("{}/docs/guide/web-ui.md", env!("CARGO_MANIFEST_DIR")));
    let guide = guide.expect("the guide");
    let rows =
        guide.lines().skip_while(|line| !line.starts_with("| question |")).skip(2).take_while(|l| l.starts_with('|'));
    let question = |row: &str| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [question, clicks, answer, command] = cells.as_slice() else { panic!("four cells: {row}") };
        let clicks = clicks.split(" → ").filter(|click| *click != "-");
        let command = command.trim_matches('`').strip_prefix("encamp ").expect("a command");
        let (words, object) = command.split_once(" <").unwrap_or((command, ""));
        let object = Some(object.trim_end_matches('>')).filter(|o| !o.is_empty());
        // Commands take an ID of a client: its name is not unique.
        let object = object.map(|o| if o == "client" { c.node.clone() } else { resolved(c, o) });
        Question {
            question: question.to_string(),
            clicks: clicks.map(|click| resolved(c, click.trim_matches('*'))).collect(),
            answer: answer.to_string(),
            command: words.split(' ').map(str::to_string).chain(object).collect(),
        }
    };
    rows.map(question).collect()
}

#[test]
fn questions_of_operators_are_three_clicks_away() {
    let folder = Folder::new("web-ui-questions-browser");
    let Some(mut browser) = Browser::start(folder.path()) else {
        return notes::missing("questions of operators in the web UI", "chromium is not installed");
    };
    // A narrower page has its areas behind a menu.
    browser.emulate(1280, "light");
    let c = Filled::start("web-ui-questions");
    sign_in(&mut browser, &c.agent.address(), &c.agent.token);
    let questions = questions(&c);
    assert!(questions.len() >= 20, "{} questions", questions.len());
    let mut clicks = 0;
    for q in &questions {
        assert!(q.clicks.len() <= MOST, "{}", q.question);
        clicks += q.clicks.len();
        browser.visit(&format!("{}/ui/", c.agent.address()));
        for link in &q.clicks {
            let before = browser.address();
            browser.click("link", link);
            let before = serde_json::Value::from(before);
            browser.wait_until(&format!(
                "location.pathname + location.search !== {before} && document.readyState === 'complete'"
            ));
        }
        browser.wait_for_text(&q.answer);
        let command: Vec<&str> = q.command.iter().map(String::as_str).collect();
        let ran = c.run(&command, &[]);
        // What-if ends with an exit code of its own if allocations would be unplaced.
        assert!(
            ran.exit <= 2 && ran.stderr.is_empty() && !ran.stdout.is_empty(),
            "{}: {command:?}: {ran:?}",
            q.question
        );
    }
    println!("{} questions, {clicks} clicks", questions.len());
    assert_eq!(browser.problems(), [""; 0]);
}
