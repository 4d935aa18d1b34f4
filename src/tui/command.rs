//! The command table: every command once, with its name, its explanation, its keys and where it applies.
//! Keys, the hints at the bottom, the help and the palette are all read from here.

mod key;
mod table;

pub use key::Key;
pub use table::COMMANDS;

/// Everything that a user can ask for by key or by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    // Everywhere
    Quit,
    Help,
    Palette,
    ShowOperators,
    ShowBench,
    ShowRoofline,
    ShowHistory,
    PickTheme,
    StopRun,
    Redraw,
    Mouse,
    // Moving in lists and texts
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    First,
    Last,
    // Operators
    OpenOperator,
    Filter,
    Sort,
    // Bench
    Run,
    RunAll,
    Edit,
    EditExternally,
    Save,
    SaveCopy,
    Reload,
    NextPane,
    PreviousPane,
    Zoom,
    PreviousShape,
    NextShape,
    PickShape,
    NextFailing,
    PickKernel,
    NextDiagnostic,
    GoToLine,
    Find,
    FindNext,
    RunOnSave,
    // While typing
    LeaveEditing,
    Undo,
    Redo,
    DeleteLine,
    // Roofline
    OpenShape,
    ZoomChart,
    // History
    MarkVersion,
    OpenVersion,
    DiffUp,
    DiffDown,
}

/// Where a command applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    Everywhere,
    Operators,
    Bench,
    /// The code pane of the Bench, not typing.
    Code,
    /// The code pane while typing: letters go into the text.
    Typing,
    /// The verdict pane.
    Verdict,
    Roofline,
    History,
}

impl Scope {
    pub const ALL: [Self; 8] = [
        Self::Everywhere,
        Self::Operators,
        Self::Bench,
        Self::Code,
        Self::Typing,
        Self::Verdict,
        Self::Roofline,
        Self::History,
    ];

    /// The heading in the help.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Everywhere => "Everywhere",
            Self::Operators => "Operators",
            Self::Bench => "Bench",
            Self::Code => "Code",
            Self::Typing => "While typing",
            Self::Verdict => "Verdict",
            Self::Roofline => "Roofline",
            Self::History => "History",
        }
    }
}

/// One line of the table.
#[derive(Debug)]
pub struct Spec {
    pub command: Command,
    /// As the palette shows it.
    pub name: &'static str,
    /// What it does, as the help shows it.
    pub doc: &'static str,
    /// The word beside the key at the bottom; empty where it is not worth the room there.
    pub hint: &'static str,
    pub keys: &'static [Key],
    pub scopes: &'static [Scope],
}

/// The command that a key means in the first of `scopes` that knows it.
pub fn by_key(scopes: &[Scope], key: Key) -> Option<Command> {
    scopes.iter().find_map(|scope| {
        COMMANDS
            .iter()
            .find(|spec| spec.scopes.contains(scope) && spec.keys.contains(&key))
            .map(|spec| spec.command)
    })
}

/// The commands that apply in `scopes`, in the table's order.
pub fn in_scopes(scopes: &[Scope]) -> impl Iterator<Item = &'static Spec> {
    COMMANDS
        .iter()
        .filter(|spec| scopes.iter().any(|scope| spec.scopes.contains(scope)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_means_one_command_in_a_scope() {
        for scope in Scope::ALL {
            let mut seen: Vec<(Key, &str)> = Vec::new();
            for spec in COMMANDS.iter().filter(|spec| spec.scopes.contains(&scope)) {
                for key in spec.keys {
                    if let Some((_, other)) = seen.iter().find(|(known, _)| known == key) {
                        panic!("{key} means both {other} and {} in {scope:?}", spec.name);
                    }
                    seen.push((*key, spec.name));
                }
            }
        }
    }

    #[test]
    fn every_command_is_listed_once_and_explained() {
        for (index, spec) in COMMANDS.iter().enumerate() {
            assert!(!spec.name.is_empty() && !spec.doc.is_empty() && !spec.scopes.is_empty());
            assert!(
                !COMMANDS[..index].iter().any(|other| other.command == spec.command),
                "{}",
                spec.name
            );
        }
    }

    #[test]
    fn what_applies_while_typing_has_a_key_that_is_no_letter() {
        for spec in COMMANDS.iter().filter(|spec| spec.scopes.contains(&Scope::Typing)) {
            assert!(spec.keys.iter().any(|key| !key.types_a_character()), "{}", spec.name);
        }
    }
}
