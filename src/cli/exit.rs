//! Exit statuses, the same for every command.

use std::process::ExitCode;

use crate::verdict::Class;

/// How the program ends. Part of the contract with scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Exit {
    /// All passed.
    Passed = 0,
    /// A kernel did not pass, or a check found something.
    Failed = 1,
    /// The call was wrong: an unknown option, operator, shape or file.
    Usage = 2,
    /// The environment lacks something: a device, a compiler, a readable folder.
    Environment = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<Class> for Exit {
    fn from(class: Class) -> Self {
        match class {
            Class::Passed => Self::Passed,
            Class::Environment => Self::Environment,
            _ => Self::Failed,
        }
    }
}
