//! Syntax colours of a text, kept by line. A change costs only the lines from the change to the bottom of the view.

use std::hash::{DefaultHasher, Hash, Hasher};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxDefinition, SyntaxReference, SyntaxSet, SyntaxSetBuilder};

use crate::kernel::Language;
use crate::tui::theme::Slot;

const CUDA: &str = include_str!("../../../assets/syntaxes/cuda.sublime-syntax");
const PTX: &str = include_str!("../../../assets/syntaxes/ptx.sublime-syntax");
const PYTHON: &str = include_str!("../../../assets/syntaxes/python.sublime-syntax");

/// Bytes coloured in one go before the screen is drawn again.
const SLICE_BYTES: usize = 32 * 1024;
/// Longer lines stay plain: machine-made tables, not code to read.
const LINE_LIMIT: usize = 2000;

/// The first part of a scope's name, and its colour.
const SLOTS: [(&str, Slot); 13] = [
    ("comment", Slot::Comment),
    ("string", Slot::String),
    ("number", Slot::Number),
    ("keyword", Slot::Keyword),
    ("type", Slot::Type),
    ("function", Slot::Function),
    ("builtin", Slot::Builtin),
    ("preprocessor", Slot::Preprocessor),
    ("operator", Slot::Operator),
    ("register", Slot::Register),
    ("label", Slot::Label),
    ("constant", Slot::Number),
    ("variable", Slot::Text),
];

/// The syntaxes of every language, ready to use. Costs some milliseconds to make, so it is made off the first frame.
#[derive(Debug)]
pub struct Syntaxes {
    set: SyntaxSet,
    slots: Vec<(Scope, Slot)>,
}

impl Syntaxes {
    /// Loads the embedded syntaxes.
    ///
    /// # Errors
    /// Names the syntax that is faulty; a test holds that none is.
    pub fn load() -> Result<Self, String> {
        let mut builder = SyntaxSetBuilder::new();
        for (name, text) in [("cuda", CUDA), ("ptx", PTX), ("python", PYTHON)] {
            let syntax =
                SyntaxDefinition::load_from_str(text, true, None).map_err(|error| format!("syntax {name}: {error}"))?;
            builder.add(syntax);
        }
        let slots = SLOTS
            .iter()
            .filter_map(|(name, slot)| Some((Scope::new(name).ok()?, *slot)))
            .collect();
        Ok(Self {
            set: builder.build(),
            slots,
        })
    }

    fn syntax(&self, language: Language) -> &SyntaxReference {
        let extension = match language {
            Language::Cuda => "cu",
            Language::Ptx => "ptx",
            Language::Python => "py",
        };
        self.set
            .find_syntax_by_extension(extension)
            .unwrap_or_else(|| self.set.find_syntax_plain_text())
    }

    fn slot(&self, stack: &ScopeStack) -> Slot {
        let innermost = |scope: &Scope| {
            self.slots
                .iter()
                .find(|(prefix, _)| prefix.is_prefix_of(*scope))
                .map(|(_, slot)| *slot)
        };
        stack.as_slice().iter().rev().find_map(innermost).unwrap_or(Slot::Text)
    }
}

/// A stretch of a line in one colour: its length in bytes.
pub type Run = (usize, Slot);

/// What is known of one line.
#[derive(Clone, Debug)]
struct Known {
    text_hash: u64,
    runs: Vec<Run>,
    /// The parser's state after the line.
    after: (ParseState, ScopeStack),
}

/// Colours of the lines from the first on, as far as they were needed.
#[derive(Clone, Debug, Default)]
pub struct Highlight {
    known: Vec<Known>,
}

impl Highlight {
    /// Colours the lines before `bottom`, as many as one slice allows; says whether there is more to do.
    pub(super) fn advance(&mut self, syntaxes: &Syntaxes, language: Language, lines: &[String], bottom: usize) -> bool {
        let mut spent = 0;
        while self.known.len() < bottom && spent < SLICE_BYTES {
            let line = &lines[self.known.len()];
            spent += line.len() + 1;
            let before = match self.known.last() {
                Some(known) => known.after.clone(),
                None => (ParseState::new(syntaxes.syntax(language)), ScopeStack::new()),
            };
            self.known.push(parse(syntaxes, line, before));
        }
        self.known.len() < bottom
    }

    /// The text has changed from a line on.
    pub(super) fn forget_from(&mut self, line: usize) {
        self.known.truncate(line);
    }

    /// The text has changed somewhere: what is known is kept up to the first line that is another one.
    pub(super) fn forget_changed(&mut self, lines: &[String]) {
        let same = |(known, line): &(&Known, &String)| known.text_hash == hash(line);
        let unchanged = self.known.iter().zip(lines).take_while(same).count();
        self.known.truncate(unchanged);
    }

    /// The colours of a line; `None` while they are not known.
    pub fn line(&self, index: usize) -> Option<&[Run]> {
        self.known.get(index).map(|known| known.runs.as_slice())
    }
}

fn hash(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    hasher.finish()
}

fn parse(syntaxes: &Syntaxes, line: &str, (mut state, mut stack): (ParseState, ScopeStack)) -> Known {
    let mut runs = Vec::new();
    let text_hash = hash(line);
    if line.len() > LINE_LIMIT {
        runs.push((line.len(), Slot::Text));
        return Known {
            text_hash,
            runs,
            after: (state, stack),
        };
    }
    let text = format!("{line}\n");
    // A faulty syntax leaves the line plain; the tests hold that ours are sound.
    let operations = state.parse_line(&text, &syntaxes.set).unwrap_or_default();
    let mut from = 0;
    for (at, operation) in operations {
        push(&mut runs, at.min(line.len()) - from, syntaxes.slot(&stack));
        from = at.min(line.len());
        // An error here means a pop too many, which leaves the stack as it is.
        let _ = stack.apply(&operation);
    }
    push(&mut runs, line.len() - from, syntaxes.slot(&stack));
    Known {
        text_hash,
        runs,
        after: (state, stack),
    }
}

fn push(runs: &mut Vec<Run>, length: usize, slot: Slot) {
    match runs.last_mut() {
        _ if length == 0 => {}
        Some((last, same)) if *same == slot => *last += length,
        _ => runs.push((length, slot)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colours(language: Language, text: &str) -> String {
        let syntaxes = Syntaxes::load().unwrap();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut highlight = Highlight::default();
        while highlight.advance(&syntaxes, language, &lines, lines.len()) {}
        let mut picture = String::new();
        for index in 0..lines.len() {
            for (length, slot) in highlight.line(index).unwrap() {
                picture.extend(std::iter::repeat_n(slot.letter(), *length));
            }
            picture.push('\n');
        }
        picture
    }

    #[test]
    fn cuda_is_coloured() {
        let text = "/*---ridgepoint\n[[launch]]\ngrid = [\"n\"] # x\n---*/\n#include <a.h>\n__global__ void f(int n) { x[3] = 0x1f; } // end\n";
        insta::assert_snapshot!(colours(Language::Cuda, text));
    }

    #[test]
    fn ptx_is_coloured() {
        let text = ".version 8.0\n.visible .entry k(.param .u64 p)\n{\n.reg .f32 %f<3>;\n@%p1 bra $L1;\nmov.u32 %r1, %tid.x; // lane\nadd.f32 %f1, %f2, 0f3F800000;\n}\n";
        insta::assert_snapshot!(colours(Language::Ptx, text));
    }

    #[test]
    fn python_is_coloured() {
        let text = "@triton.jit\ndef f(x):\n    return x + 1  # one\n";
        insta::assert_snapshot!(colours(Language::Python, text));
    }

    #[test]
    fn a_change_in_the_middle_gives_the_same_colours_as_from_scratch() {
        let syntaxes = Syntaxes::load().unwrap();
        let mut lines: Vec<String> = (0..400).map(|n| format!("float a{n} = {n}.f;")).collect();
        let mut kept = Highlight::default();
        while kept.advance(&syntaxes, Language::Cuda, &lines, 400) {}
        lines[200] = "/* a comment begins".to_owned();
        lines.remove(10);
        kept.forget_changed(&lines);
        while kept.advance(&syntaxes, Language::Cuda, &lines, 399) {}
        let mut fresh = Highlight::default();
        while fresh.advance(&syntaxes, Language::Cuda, &lines, 399) {}
        for index in 0..399 {
            assert_eq!(kept.line(index), fresh.line(index), "line {index}");
        }
        assert_eq!(kept.line(300), Some(&[(lines[300].len(), Slot::Comment)][..]));
    }
}
