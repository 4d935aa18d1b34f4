//! The table itself. Order matters: the hints at the bottom are taken from the top while they fit.

use crossterm::event::KeyCode::{BackTab, Down, End, Enter, Esc, F, Home, Left, PageDown, PageUp, Right, Tab, Up};

use super::Scope::{Bench, Code, Everywhere, History, Operators, Roofline, Typing, Verdict};
use super::{Command, Key, Scope, Spec};

const LISTS: &[Scope] = &[Operators, Code, Verdict, Roofline, History];

const fn spec(
    command: Command,
    name: &'static str,
    hint: &'static str,
    keys: &'static [Key],
    scopes: &'static [Scope],
    doc: &'static str,
) -> Spec {
    Spec {
        command,
        name,
        doc,
        hint,
        keys,
        scopes,
    }
}

#[rustfmt::skip]
pub static COMMANDS: &[Spec] = &[
    // Operators
    spec(Command::OpenOperator, "open operator", "open", &[Key::plain(Enter)], &[Operators], "Opens the Bench with the kernel last worked on, or the starter"),
    spec(Command::Filter, "filter", "filter", &[Key::char('/')], &[Operators], "Narrows the list to names that match"),
    spec(Command::Sort, "sort", "sort", &[Key::char('s')], &[Operators], "Sorts by weight or by name"),
    // Typing
    spec(Command::LeaveEditing, "stop typing", "done", &[Key::plain(Esc)], &[Typing], "Leaves the text, back to the keys of the Bench"),
    spec(Command::Save, "save", "save", &[Key::ctrl('s')], &[Bench, Typing], "Writes the kernel to its file"),
    // Bench
    spec(Command::Run, "run", "run", &[Key::char('r'), Key::plain(F(5)), Key::ctrl('r')], &[Bench, Typing, Roofline], "Compiles, verifies and times the kernel on the chosen shape"),
    spec(Command::RunAll, "run all shapes", "run all", &[Key::char('R'), Key::plain(F(6))], &[Bench, Roofline], "Runs every shape that the device can afford"),
    spec(Command::StopRun, "stop run", "stop", &[Key::char('x')], &[Bench, Roofline, History], "Cancels the run in progress"),
    spec(Command::Edit, "edit", "edit", &[Key::char('i'), Key::plain(Enter)], &[Code], "Starts typing in the code"),
    spec(Command::NextPane, "next pane", "pane", &[Key::plain(Tab)], &[Bench], "Moves to the next pane"),
    spec(Command::PickShape, "choose shape", "shape", &[Key::char('s')], &[Bench], "Chooses the shape to run and to look at"),
    spec(Command::PickKernel, "choose kernel", "kernel", &[Key::char('o')], &[Bench], "Opens another kernel of this operator"),
    spec(Command::NextFailing, "next failing shape", "next failing", &[Key::char('n')], &[Bench], "Goes to the next shape that did not pass"),
    spec(Command::EditExternally, "open in $EDITOR", "$EDITOR", &[Key::char('e')], &[Bench], "Hands the file to $VISUAL or $EDITOR and takes it back afterwards"),
    spec(Command::Find, "find", "find", &[Key::char('/'), Key::ctrl('f')], &[Bench, Typing], "Finds text in the code"),
    spec(Command::FindNext, "find next", "", &[Key::ctrl('n'), Key::plain(F(3))], &[Bench, Typing], "Finds the same text again"),
    spec(Command::GoToLine, "go to line", "line", &[Key::char('g'), Key::ctrl('g')], &[Code, Typing], "Goes to a line by its number"),
    spec(Command::NextDiagnostic, "next diagnostic", "diagnostic", &[Key::char('d')], &[Bench], "Goes to the next line that the verdict speaks of"),
    spec(Command::Undo, "undo", "undo", &[Key::ctrl('z')], &[Code, Typing], "Takes the last change back"),
    spec(Command::Redo, "redo", "", &[Key::ctrl('y')], &[Code, Typing], "Makes the change again"),
    spec(Command::DeleteLine, "delete line", "", &[Key::ctrl('k')], &[Typing], "Deletes the line from the cursor on"),
    spec(Command::PreviousShape, "previous shape", "", &[Key::char('[')], &[Bench], "Chooses the shape before"),
    spec(Command::NextShape, "next shape", "", &[Key::char(']')], &[Bench], "Chooses the shape after"),
    spec(Command::Zoom, "zoom pane", "zoom", &[Key::char('z')], &[Bench], "Shows the pane alone, or all again"),
    spec(Command::RunOnSave, "run on save", "", &[Key::char('w')], &[Bench], "Runs whenever the file is saved, here or by another program"),
    spec(Command::SaveCopy, "save as a copy", "", &[Key::char('S')], &[Bench], "Saves the kernel as a new file of your own"),
    spec(Command::Reload, "reload", "", &[Key::char('L')], &[Bench], "Takes the file's text from disk, dropping unsaved changes"),
    spec(Command::PreviousPane, "previous pane", "", &[Key::plain(BackTab)], &[Bench], "Moves to the previous pane"),
    // Roofline
    spec(Command::OpenShape, "open shape", "open", &[Key::plain(Enter)], &[Roofline], "Opens the Bench on the selected shape"),
    spec(Command::ZoomChart, "zoom to points", "zoom", &[Key::char('z')], &[Roofline], "Shows the region of the points, or the whole roof"),
    // History
    spec(Command::MarkVersion, "mark version", "mark for diff", &[Key::char(' ')], &[History], "Marks the version to compare the selected one with"),
    spec(Command::OpenVersion, "open version", "open", &[Key::plain(Enter)], &[History], "Opens the version's source in the Bench"),
    spec(Command::DiffDown, "scroll diff down", "diff", &[Key::char('J')], &[History], "Scrolls the diff down"),
    spec(Command::DiffUp, "scroll diff up", "", &[Key::char('K')], &[History], "Scrolls the diff up"),
    // Moving
    spec(Command::Up, "up", "", &[Key::plain(Up), Key::char('k')], LISTS, "Moves up"),
    spec(Command::Down, "down", "", &[Key::plain(Down), Key::char('j')], LISTS, "Moves down"),
    spec(Command::Left, "left", "", &[Key::plain(Left), Key::char('h')], &[Code, Roofline], "Moves left"),
    spec(Command::Right, "right", "walk", &[Key::plain(Right), Key::char('l')], &[Code, Roofline], "Moves right"),
    spec(Command::PageUp, "page up", "", &[Key::plain(PageUp), Key::ctrl('u')], LISTS, "Moves a page up"),
    spec(Command::PageDown, "page down", "", &[Key::plain(PageDown), Key::ctrl('d')], LISTS, "Moves a page down"),
    spec(Command::First, "first", "", &[Key::plain(Home)], LISTS, "Moves to the beginning"),
    spec(Command::Last, "last", "", &[Key::plain(End), Key::char('G')], LISTS, "Moves to the end"),
    // Everywhere
    spec(Command::Palette, "command palette", "palette", &[Key::char(':'), Key::ctrl('p')], &[Everywhere], "Finds a command by name"),
    spec(Command::Help, "help", "help", &[Key::char('?'), Key::plain(F(1))], &[Everywhere], "Shows every key"),
    spec(Command::Quit, "quit", "quit", &[Key::char('q'), Key::ctrl('c'), Key::ctrl('q')], &[Everywhere], "Leaves Ridgepoint"),
    spec(Command::ShowOperators, "show operators", "", &[Key::char('1')], &[Everywhere], "Shows what there is to compute"),
    spec(Command::ShowBench, "show bench", "", &[Key::char('2')], &[Everywhere], "Shows the kernel and its verdict"),
    spec(Command::ShowRoofline, "show roofline", "", &[Key::char('3')], &[Everywhere], "Shows every shape under its roofs"),
    spec(Command::ShowHistory, "show history", "", &[Key::char('4')], &[Everywhere], "Shows every version that was run"),
    spec(Command::PickTheme, "choose theme", "", &[Key::char('T')], &[Everywhere], "Chooses the colours"),
    spec(Command::Mouse, "use the mouse", "", &[Key::char('M')], &[Everywhere], "Clicks choose and the wheel scrolls, or the terminal keeps the mouse"),
    spec(Command::Redraw, "redraw", "", &[Key::ctrl('l')], &[Everywhere], "Draws the whole screen again"),
];
