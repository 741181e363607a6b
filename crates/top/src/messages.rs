//! What happens to the state, and what the loop does for it.

use crate::actions::Act;
use crate::input::Input;
use crate::row::{Object, Row};
use crate::topology::{Changes, NodeUse};
use crate::view::View;

/// What happens to the state.
#[derive(Debug)]
pub enum Message {
    /// A key or the mouse.
    Input(Input),
    /// The terminal has so many columns and rows.
    Size(u16, u16),
    /// The moment, Unix nanoseconds.
    Time(i64),
    /// A request was answered.
    Answer(Box<Answer>),
    /// Events of the cluster, in the order in which they happened.
    Events(Vec<Row>),
    /// The event stream.
    Stream(Stream),
    /// A piece of the log with this number.
    Log(u64, Piece),
    /// The command in a task has ended: its exit code, or why it did not run.
    Executed(Result<i32, String>),
    /// The end of the program was asked for.
    End,
}

/// The state of the event stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Stream {
    /// It is being opened.
    #[default]
    Opening,
    /// It is open.
    Open,
    /// There is none: why.
    Lost(String),
}

/// A request to the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Read {
    /// The objects of a view. Answers to earlier generations are dropped.
    View {
        /// The view.
        view: View,
        /// What the objects belong to.
        within: Option<Object>,
        /// The path of the API.
        path: String,
        /// The number of the request.
        generation: u64,
    },
    /// The names of the namespaces.
    Namespaces,
    /// An object as JSON.
    Json(Object),
    /// The text of a command about an object.
    Describe(Object),
    /// Why allocations of a job are not placed; of an evaluation, or of the last one of a job.
    Explain(Object),
    /// The groups of a job and their counts.
    Groups(Object),
    /// The tasks of an allocation, to follow the output of one or to run a command in it.
    Tasks(Object, Purpose),
    /// The plan of a job file.
    Plan {
        /// Flags and the file.
        words: Vec<String>,
        /// The number of the plan.
        number: u64,
    },
    /// What happens with these flags of `what-if`.
    WhatIf {
        /// The flags.
        flags: Vec<String>,
        /// The number of the simulation.
        number: u64,
    },
    /// The job files of a directory; empty: the working directory.
    Directory(String),
}

/// What a task is chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Its output is followed.
    Logs,
    /// A command is run in it.
    Exec,
}

/// A command in a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exec {
    /// The allocation.
    pub allocation: Object,
    /// The task.
    pub task: String,
    /// The words of the command.
    pub words: Vec<String>,
}

/// A plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// What it does, as text.
    pub text: String,
    /// What it changes on nodes.
    pub changes: Changes,
    /// Registers the job as it was reviewed.
    pub register: Act,
}

/// The outcome of a simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simulated {
    /// The outcome as text.
    pub text: String,
    /// What changes on nodes.
    pub changes: Changes,
}

/// What came of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text, which need not end with a line.
    Text(String),
    /// It is not read any more: why.
    End(String),
}

/// A job file or a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its path.
    pub path: String,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// The answer to a [`Read`] or an action.
#[derive(Debug)]
pub enum Answer {
    /// The objects of a view.
    View {
        /// The number of the request.
        generation: u64,
        /// The objects, or why there are none.
        content: Result<Content, String>,
    },
    /// The names of the namespaces, in order.
    Namespaces(Vec<String>),
    /// A text about something: its title and its lines.
    Text(String, Result<String, String>),
    /// The groups of a job and their counts.
    Groups(Object, Result<Vec<(String, i64)>, String>),
    /// The tasks of an allocation.
    Tasks(Object, Purpose, Result<Vec<String>, String>),
    /// A plan.
    Plan(u64, Result<Planned, String>),
    /// The outcome of a simulation.
    WhatIf(u64, Result<Simulated, String>),
    /// A directory: its path and what can be chosen.
    Directory(Result<(String, Vec<Entry>), String>),
    /// An action is done, or why it is not.
    Acted(Act, Result<(), String>),
}

/// The content of a view.
#[derive(Debug)]
pub enum Content {
    /// A list.
    Rows(Vec<Row>),
    /// The topology.
    Nodes(Vec<NodeUse>),
}

/// What the loop does for the state.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// Sends a request.
    Read(Read),
    /// Executes an action, after the question was answered with yes.
    Act(Act),
    /// Follows a log.
    Follow {
        /// The number that its pieces have.
        id: u64,
        /// The path of the API.
        path: String,
    },
    /// Follows no log any more.
    StopFollowing,
    /// Gives the terminal to a command in a task until that ends.
    Exec(Exec),
    /// Gives the terminal back and stops the process until it is continued.
    Suspend,
    /// Draws the screen from scratch.
    Redraw,
    /// Ends the program.
    Quit,
}
