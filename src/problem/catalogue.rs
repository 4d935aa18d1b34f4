//! Every problem there is: the built-in ones, with a user's folder laid over them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::files::{self, Content, File};
use super::read::{self, Finding};
use super::schema::RawSuite;
use super::{Broken, Operator, Source, embedded};
use crate::dirs::Dirs;
use crate::suggest;

/// File names within the folders.
const PROBLEM_FILE: &str = "problem.toml";
const SUITE_FILE: &str = "suite.toml";
const REFERENCE: &str = "reference.cu";
const KERNELS: &str = "kernels";
/// A kernel of this name is the one that a new kernel starts from.
const STARTER: &str = "starter";

/// A part of a name shorter than this is in too many names to be a hint.
const SHORTEST_PART: usize = 3;
const MOST_SUGGESTIONS: usize = 3;

/// A named set of operators; their weights are in the operators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suite {
    pub name: String,
    pub title: String,
    pub about: String,
    /// Where its definitions come from.
    pub source: String,
}

/// All suites and operators, and the problems that could not be loaded.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    pub suites: Vec<Suite>,
    /// By suite, then by name.
    pub operators: Vec<Arc<Operator>>,
    pub broken: Vec<Broken>,
    /// The problem files on disk, by qualified name.
    files: BTreeMap<String, PathBuf>,
}

/// No operator has the name asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct UnknownOperator {
    pub name: String,
    /// The whole sentence: what is wrong, and the nearest names.
    pub reason: String,
    pub suggestions: Vec<String>,
}

/// The folder in which a user's own problems are looked for: `problems` in the data folder.
pub fn user_folder() -> Option<PathBuf> {
    Some(Dirs::find()?.data.join("problems"))
}

impl Catalogue {
    /// The built-in problems alone.
    pub fn builtin() -> Self {
        let mut catalogue = Self::default();
        catalogue.lay(embedded::files(), Path::new(embedded::ROOT));
        catalogue
    }

    /// The built-in problems with a folder laid over them: `extra`, or else the user's folder where there is one.
    ///
    /// Never fails: whatever cannot be loaded is in [`broken`](Self::broken).
    pub fn load(extra: Option<&Path>) -> Self {
        let mut catalogue = Self::builtin();
        match extra {
            Some(folder) => catalogue.lay_folder(folder),
            None => {
                if let Some(folder) = user_folder().filter(|folder| folder.is_dir()) {
                    catalogue.lay_folder(&folder);
                }
            }
        }
        catalogue
    }

    /// The built-in problems with one folder laid over them as what it is: a problems folder, or with `prefix` one suite or one operator in it.
    ///
    /// # Errors
    /// Where the folder cannot be read.
    pub fn with_folder(root: &Path, prefix: &[String]) -> Result<Self, String> {
        let mut catalogue = Self::builtin();
        let files = files::below(root, prefix)?;
        catalogue.lay(files, root);
        Ok(catalogue)
    }

    /// The operator of a name (`rms_norm`), a qualified name (`atrex/rms_norm`) or a published id (`atrex_027`).
    ///
    /// # Errors
    /// With the nearest names, or with the reason why the problem is broken.
    pub fn operator(&self, name: &str) -> Result<&Arc<Operator>, UnknownOperator> {
        let is_it = |operator: &&Arc<Operator>| {
            operator.name == name || operator.id == name || qualified(&operator.suite, &operator.name) == name
        };
        self.operators.iter().find(is_it).ok_or_else(|| self.unknown(name))
    }

    /// An operator's `problem.toml` on disk; `None` where it is built in.
    pub fn problem_file(&self, operator: &Operator) -> Option<&Path> {
        self.files
            .get(&qualified(&operator.suite, &operator.name))
            .map(PathBuf::as_path)
    }

    /// The operators of one suite, by name.
    pub fn of_suite<'a>(&'a self, suite: &'a str) -> impl Iterator<Item = &'a Arc<Operator>> {
        self.operators.iter().filter(move |operator| operator.suite == suite)
    }

    /// A suite by name.
    ///
    /// # Errors
    /// With the names there are.
    pub fn suite(&self, name: &str) -> Result<&Suite, String> {
        self.suites.iter().find(|suite| suite.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.suites.iter().map(|suite| suite.name.as_str()).collect();
            format!("no suite `{name}`; there are: {}", known.join(" "))
        })
    }

    fn unknown(&self, name: &str) -> UnknownOperator {
        if let Some(broken) = self.broken.iter().find(|broken| broken.name == name) {
            return UnknownOperator {
                name: name.to_owned(),
                reason: format!("the problem `{name}` is broken: {broken}"),
                suggestions: Vec::new(),
            };
        }
        let near = self.near(name);
        let hint = match near.as_slice() {
            [] => "; `ridgepoint list operators` shows all".to_owned(),
            [only] => format!("; did you mean `{only}`?"),
            several => format!("; did you mean one of `{}`?", several.join("`, `")),
        };
        UnknownOperator {
            name: name.to_owned(),
            reason: format!("no operator `{name}`{hint}"),
            suggestions: near.into_iter().map(str::to_owned).collect(),
        }
    }

    /// The name nearest to a mistyped one, and names that it is a part of.
    fn near(&self, name: &str) -> Vec<&str> {
        let known = || self.operators.iter().map(|operator| operator.name.as_str());
        let typed = name.to_lowercase().replace('-', "_");
        let mut near: Vec<&str> = suggest::closest(&typed, known()).into_iter().collect();
        let is_part = |known: &&str| typed.len() >= SHORTEST_PART && known.contains(&typed);
        for part in known().filter(is_part) {
            if near.len() < MOST_SUGGESTIONS && !near.contains(&part) {
                near.push(part);
            }
        }
        near
    }

    fn lay_folder(&mut self, root: &Path) {
        match files::below(root, &[]) {
            Ok(files) => self.lay(files, root),
            Err(reason) => self.broken.push(Broken {
                name: String::new(),
                suite: String::new(),
                file: root.to_owned(),
                line: None,
                reason,
            }),
        }
    }

    /// Adds or overrides by suite and operator.
    fn lay(&mut self, files: Vec<File>, root: &Path) {
        let mut folders: BTreeMap<(String, String), Vec<File>> = BTreeMap::new();
        for file in files {
            match file.parts.as_slice() {
                [suite, name] if name == SUITE_FILE => self.lay_suite(&suite.clone(), &file, root),
                [suite, operator, _, ..] => {
                    let key = (suite.clone(), operator.clone());
                    folders.entry(key).or_default().push(file);
                }
                _ => {}
            }
        }
        for ((suite, name), files) in folders {
            self.lay_problem(&suite, &name, &files, root);
            if !self.suites.iter().any(|known| known.name == suite) {
                self.suites.push(Suite {
                    title: suite.clone(),
                    name: suite,
                    about: String::new(),
                    source: String::new(),
                });
            }
        }
        self.suites.sort_by(|a, b| a.name.cmp(&b.name));
        self.operators
            .sort_by(|a, b| (&a.suite, &a.name).cmp(&(&b.suite, &b.name)));
    }

    fn lay_suite(&mut self, name: &str, file: &File, root: &Path) {
        let read = match &file.content {
            Content::Text(text) => read::parse::<RawSuite>(text),
            Content::Unreadable(reason) => Err(vec![unreadable(reason)]),
        };
        match read {
            Ok(raw) => {
                self.suites.retain(|suite| suite.name != name);
                self.suites.push(Suite {
                    name: name.to_owned(),
                    title: raw.title,
                    about: raw.about.trim().to_owned(),
                    source: raw.source,
                });
            }
            Err(findings) => self.break_with(name, SUITE_FILE, &place(file, root), findings),
        }
    }

    fn lay_problem(&mut self, suite: &str, name: &str, files: &[File], root: &Path) {
        let problem = files.iter().find(|file| file.parts[2..] == [PROBLEM_FILE]);
        let position = self
            .operators
            .iter()
            .position(|operator| operator.suite == suite && operator.name == name);
        let mut findings = Vec::new();
        let sources = sources(files, &mut findings);
        let path = problem
            .or(files.first())
            .map_or_else(|| root.to_owned(), |file| place(file, root));
        let read = match problem.map(|file| &file.content) {
            Some(Content::Text(text)) => read::problem(suite, name, text),
            Some(Content::Unreadable(reason)) => Err(vec![unreadable(reason)]),
            // Kernels alone join the operator that is there already.
            None => position
                .map(|position| Operator::clone(&self.operators[position]))
                .ok_or_else(|| vec![unreadable(&format!("the folder has no {PROBLEM_FILE}"))]),
        };
        // An override that is broken hides what it overrides: running the other definition unasked would mislead.
        if let Some(position) = position {
            self.operators.remove(position);
        }
        self.broken
            .retain(|broken| broken.suite != suite || broken.name != name);
        match read {
            Ok(mut operator) if findings.is_empty() => {
                if let Some(file) = problem.and_then(|problem| problem.disk.clone()) {
                    self.files.insert(qualified(suite, name), file);
                }
                sources.join(&mut operator);
                self.operators.push(Arc::new(operator));
            }
            Ok(_) => self.break_with(suite, name, &path, findings),
            Err(more) => self.break_with(suite, name, &path, more),
        }
    }

    fn break_with(&mut self, suite: &str, name: &str, file: &Path, findings: Vec<Finding>) {
        for finding in findings {
            self.broken.push(Broken {
                name: name.to_owned(),
                suite: suite.to_owned(),
                file: file.to_owned(),
                line: finding.line,
                reason: finding.message,
            });
        }
    }
}

/// `atrex/rms_norm`
pub fn qualified(suite: &str, operator: &str) -> String {
    format!("{suite}/{operator}")
}

fn unreadable(reason: &str) -> Finding {
    Finding {
        line: None,
        message: reason.to_owned(),
    }
}

fn place(file: &File, root: &Path) -> PathBuf {
    file.disk
        .clone()
        .unwrap_or_else(|| root.join(file.parts.iter().collect::<PathBuf>()))
}

/// The source files of one problem folder.
#[derive(Default)]
struct Sources {
    reference: Option<Source>,
    kernels: Vec<Source>,
}

impl Sources {
    /// Takes their place in the operator: by name they override, otherwise they add.
    fn join(self, operator: &mut Operator) {
        if self.reference.is_some() {
            operator.reference = self.reference;
        }
        for kernel in self.kernels {
            operator.kernels.retain(|known| known.name != kernel.name);
            operator.kernels.push(kernel);
        }
        operator.kernels.sort_by(|a, b| kernel_rank(a).cmp(&kernel_rank(b)));
    }
}

/// The starter first, then by name.
fn kernel_rank(kernel: &Source) -> (bool, &str) {
    let stem = Path::new(&kernel.name).file_stem().unwrap_or_default();
    (stem != STARTER, &kernel.name)
}

fn sources(files: &[File], findings: &mut Vec<Finding>) -> Sources {
    let mut texts: BTreeMap<String, (Arc<str>, Option<PathBuf>)> = BTreeMap::new();
    for file in files {
        let name = file.parts[2..].join("/");
        match &file.content {
            Content::Text(text) => {
                texts.insert(name, (text.clone(), file.disk.clone()));
            }
            Content::Unreadable(reason) if name != PROBLEM_FILE => {
                findings.push(unreadable(&format!("{name} cannot be read: {reason}")));
            }
            Content::Unreadable(_) => {}
        }
    }
    // PTX beside CUDA C++ of the same name is what that compiled to, not a kernel of its own.
    let ptx_of = |name: &str| {
        let stem = name.strip_suffix(".cu")?;
        texts.get(&format!("{stem}.ptx")).map(|(text, _)| text.clone())
    };
    let is_compiled = |name: &str| {
        name.strip_suffix(".ptx")
            .is_some_and(|stem| texts.contains_key(&format!("{stem}.cu")))
    };
    let mut sources = Sources::default();
    for (name, (text, path)) in &texts {
        let source = Source {
            name: name.clone(),
            text: text.clone(),
            path: path.clone(),
            ptx: ptx_of(name),
        };
        let in_kernels = name.split_once('/').is_some_and(|(folder, _)| folder == KERNELS);
        let is_kernel = [".cu", ".ptx", ".py"].iter().any(|extension| name.ends_with(extension));
        if name == REFERENCE {
            sources.reference = Some(source);
        } else if in_kernels && is_kernel && !is_compiled(name) {
            sources.kernels.push(source);
        }
    }
    sources
}
