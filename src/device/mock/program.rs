//! The lines that a mock kernel consists of.

use crate::dtype::DType;
use crate::verdict::{Class, Outcome, Verdict};

/// One thing that a mock kernel does.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Copy {
        from: String,
        to: String,
    },
    Scale {
        dtype: DType,
        from: String,
        to: String,
        factor: f64,
    },
    Fill {
        dtype: DType,
        to: String,
        value: f64,
    },
    Noise {
        dtype: DType,
        to: String,
    },
    Overrun {
        to: String,
        past: i64,
    },
    Print(String),
    Fail {
        class: Class,
        reason: String,
    },
    /// Only in the module's first `launches` launches: a kernel that stops working.
    First {
        launches: u64,
        step: Box<Step>,
    },
    /// Only after them: a kernel that begins to misbehave.
    After {
        launches: u64,
        step: Box<Step>,
    },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Program {
    pub(super) steps: Vec<Step>,
    /// Launches of this module so far.
    pub(super) launches: u64,
    times: Vec<f64>,
    throttled_every: Option<usize>,
}

/// Microseconds of a sample where the kernel does not say.
const DEFAULT_TIME: f64 = 10.0;

impl Program {
    /// Reads the `mock` lines of a text.
    pub(super) fn parse(text: &str) -> Outcome<Self> {
        let mut program = Self::default();
        for (number, line) in text.lines().enumerate() {
            if let Some(rest) = line.trim().trim_start_matches("//").trim().strip_prefix("mock ") {
                program.line(rest).map_err(|reason| {
                    let place = format!("mock kernel, line {}: `{rest}`: {reason}", number + 1);
                    Box::new(Verdict::new(Class::InvalidKernel, place))
                })?;
            }
        }
        Ok(program)
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        let words: Vec<&str> = rest.split_whitespace().collect();
        match (verb, words.as_slice()) {
            ("times", [_, ..]) => {
                self.times = words.iter().map(|word| parse(word)).collect::<Result<_, _>>()?;
            }
            ("throttled", [every]) => self.throttled_every = Some(parse::<usize>(every)?.max(1)),
            _ => self.steps.push(step(verb, rest, &words)?),
        }
        Ok(())
    }
    pub(super) fn time(&self, index: usize) -> f64 {
        match self.times.len() {
            0 => DEFAULT_TIME,
            count => self.times[index % count],
        }
    }

    pub(super) fn throttled(&self, index: usize) -> bool {
        self.throttled_every
            .is_some_and(|every| (index + 1).is_multiple_of(every))
    }
}

fn step(verb: &str, rest: &str, words: &[&str]) -> Result<Step, String> {
    Ok(match (verb, words) {
        ("copy", [from, to]) => Step::Copy {
            from: (*from).to_owned(),
            to: (*to).to_owned(),
        },
        ("scale", [dtype, from, to, factor]) => Step::Scale {
            dtype: parse(dtype)?,
            from: (*from).to_owned(),
            to: (*to).to_owned(),
            factor: parse(factor)?,
        },
        ("fill", [dtype, to, value]) => Step::Fill {
            dtype: parse(dtype)?,
            to: (*to).to_owned(),
            value: parse(value)?,
        },
        ("noise", [dtype, to]) => Step::Noise {
            dtype: parse(dtype)?,
            to: (*to).to_owned(),
        },
        ("overrun", [to, past]) => Step::Overrun {
            to: (*to).to_owned(),
            past: parse(past)?,
        },
        ("print", _) => Step::Print(rest.to_owned()),
        ("fail", [class, ..]) => fail(class, rest)?,
        ("first", [launches, ..]) => Step::First {
            launches: parse(launches)?,
            step: nested(rest)?,
        },
        ("after", [launches, ..]) => Step::After {
            launches: parse(launches)?,
            step: nested(rest)?,
        },
        _ => return Err("no such step, or not its number of words".to_owned()),
    })
}

/// The step behind a number of launches.
fn nested(rest: &str) -> Result<Box<Step>, String> {
    let step_text = rest.split_once(' ').map_or("", |(_, step_text)| step_text);
    let (verb, rest) = step_text.split_once(' ').unwrap_or((step_text, ""));
    let words: Vec<&str> = rest.split_whitespace().collect();
    Ok(Box::new(step(verb, rest, &words)?))
}

fn fail(name: &str, rest: &str) -> Result<Step, String> {
    let class = Class::ALL.into_iter().find(|class| class.name() == name);
    let class = class.ok_or_else(|| format!("no verdict is called `{name}`"))?;
    let reason = rest.trim_start().strip_prefix(name).unwrap_or(rest).trim();
    Ok(Step::Fail {
        class,
        reason: if reason.is_empty() {
            class.meaning().to_owned()
        } else {
            reason.to_owned()
        },
    })
}

fn parse<T: std::str::FromStr>(word: &str) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    word.parse().map_err(|error| format!("`{word}`: {error}"))
}
