//! Loaded modules: kernels with their parameters, module variables, and code lowered on demand.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::code::Program;
use super::fault::{Fault, FaultKind};
use super::layout::{size_of, variable_align, variable_size};
use super::lower::Linker;
use super::memory::{Memory, MemoryError};
use crate::ptx::ast::{self, Function, Init, Space, Variable};

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// What a kernel asks of whoever launches it. Sizes are bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    pub name: String,
    pub params: Vec<Param>,
    /// Size of the whole parameter block.
    pub param_bytes: u32,
    /// Static shared memory declared inside the kernel's body.
    pub shared_bytes: u32,
    /// `.maxntid` and `.reqntid`, with missing dimensions 1.
    pub max_threads: Option<[u32; 3]>,
    pub required_threads: Option<[u32; 3]>,
    /// `.reqnctapercluster`: the cluster that the kernel was compiled for.
    pub required_cluster: Option<[u32; 3]>,
    /// Registers declared in the PTX text. Not what a compiler will allocate: PTX registers are virtual.
    pub virtual_registers: u32,
    pub ptx_line: u32,
}

/// One kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    pub name: String,
    pub offset: u32,
    pub bytes: u32,
}

/// A loaded PTX module. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Module {
    inner: Arc<Inner>,
}

/// A lowered kernel, or why it cannot be.
type Linked = Result<Arc<Program>, Box<Fault>>;

#[derive(Debug)]
struct Inner {
    id: u64,
    ast: ast::Module,
    kernels: Vec<Kernel>,
    /// Programs by kernel, as far as they were asked for.
    programs: Mutex<HashMap<String, Linked>>,
}

impl Module {
    /// Parses a module. Instructions are looked at when a kernel that reaches them is launched, or by [`Self::check`].
    pub fn load(ptx: &str) -> Result<Self, Box<Fault>> {
        let ast = crate::ptx::parse(ptx).map_err(|error| {
            Box::new(Fault {
                kind: FaultKind::Syntax { message: error.message },
                function: String::new(),
                ptx_line: Some(error.pos.line),
                source: None,
                thread: None,
                cta: None,
            })
        })?;
        Self::from_ast(ast)
    }

    /// A module from its syntax tree.
    pub fn from_ast(ast: ast::Module) -> Result<Self, Box<Fault>> {
        let mut kernels = Vec::new();
        for function in ast
            .functions
            .iter()
            .filter(|function| function.entry && function.body.is_some())
        {
            kernels.push(kernel(function));
        }
        Ok(Self {
            inner: Arc::new(Inner {
                id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
                ast,
                kernels,
                programs: Mutex::default(),
            }),
        })
    }

    /// A number that no other loaded module has.
    pub(super) fn id(&self) -> u64 {
        self.inner.id
    }

    pub fn ast(&self) -> &ast::Module {
        &self.inner.ast
    }

    /// The kernels, in the order of the text.
    pub fn kernels(&self) -> &[Kernel] {
        &self.inner.kernels
    }

    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels().iter().find(|kernel| kernel.name == name)
    }

    /// Whether everything that a kernel can reach is implemented.
    pub fn check(&self, kernel: &str) -> Result<(), Box<Fault>> {
        self.program(kernel).map(|_| ())
    }

    /// The lowered code of a kernel; lowered once, then kept.
    pub(super) fn program(&self, kernel: &str) -> Linked {
        let mut programs = self.inner.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = programs.get(kernel) {
            return known.clone();
        }
        let lowered = Linker::new(&self.inner.ast).link(kernel).map(Arc::new);
        programs.insert(kernel.to_owned(), lowered.clone());
        lowered
    }

    /// Puts the module's variables into memory (once per memory) and returns their addresses, one per variable of the
    /// tree; 0 for variables that are not in global or constant memory.
    pub(super) fn place(&self, memory: &mut Memory) -> Result<Vec<u64>, MemoryError> {
        if let Some(addresses) = memory.module(self.id()) {
            return Ok(addresses.to_vec());
        }
        let variables = &self.inner.ast.variables;
        let mut addresses = Vec::with_capacity(variables.len());
        for variable in variables {
            let placed = matches!(variable.space, Space::Global | Space::Const);
            addresses.push(if placed {
                memory.alloc(&variable.name, variable_size(variable))?
            } else {
                0
            });
        }
        for (variable, &address) in variables.iter().zip(&addresses) {
            if address != 0 {
                memory.write(address, &self.image(variable, &addresses))?;
                if variable.space == Space::Const {
                    memory.set_read_only(address);
                }
            }
        }
        memory.set_module(self.id(), addresses.clone());
        Ok(addresses)
    }

    /// The initial bytes of a variable: its initialisers in order, then zeros.
    fn image(&self, variable: &Variable, addresses: &[u64]) -> Vec<u8> {
        let mut bytes = vec![0; variable_size(variable) as usize];
        let width = size_of(variable.ty) as usize;
        for (slot, init) in bytes.chunks_exact_mut(width).zip(&variable.init) {
            let value = match init {
                Init::Int(value) => value.to_le_bytes(),
                Init::Float(value) if width == 4 => i128::from((*value as f32).to_bits()).to_le_bytes(),
                Init::Float(value) => i128::from(value.to_bits()).to_le_bytes(),
                Init::Symbol { name, offset, .. } => i128::from(self.symbol(name, *offset, addresses)).to_le_bytes(),
                Init::Masked { mask, name, offset } => {
                    let address = self.symbol(name, *offset, addresses) & mask;
                    i128::from(address.checked_shr(mask.trailing_zeros()).unwrap_or(0)).to_le_bytes()
                }
            };
            slot.copy_from_slice(&value[..width]);
        }
        bytes
    }

    /// The address of a variable or function of the module, plus an offset; 0 for others.
    fn symbol(&self, name: &str, offset: i64, addresses: &[u64]) -> u64 {
        let ast = &self.inner.ast;
        let variable = ast.variables.iter().position(|variable| variable.name == name);
        let function = ast.functions.iter().position(|function| function.name == name);
        let base = match (variable, function) {
            (Some(index), _) => addresses[index],
            (None, Some(index)) => super::space::FUNCTION_WINDOW + index as u64,
            (None, None) => 0,
        };
        base.wrapping_add_signed(offset)
    }

    /// The address of a module variable in a memory, once a kernel of the module was launched there.
    pub fn variable(&self, memory: &Memory, name: &str) -> Option<u64> {
        let index = self
            .inner
            .ast
            .variables
            .iter()
            .position(|variable| variable.name == name)?;
        memory
            .module(self.id())?
            .get(index)
            .copied()
            .filter(|&address| address != 0)
    }
}

fn kernel(function: &Function) -> Kernel {
    let mut params = Vec::new();
    let mut at = 0;
    for param in &function.params {
        at = u64::from(at).next_multiple_of(variable_align(param)) as u32;
        let bytes = variable_size(param) as u32;
        params.push(Param {
            name: param.name.clone(),
            offset: at,
            bytes,
        });
        at += bytes;
    }
    let mut shared_bytes = 0;
    let mut virtual_registers = 0;
    let mut work: Vec<&ast::Statement> = function.body.iter().flatten().collect();
    work.reverse();
    while let Some(statement) = work.pop() {
        match statement {
            ast::Statement::Block(inner) => work.extend(inner.iter().rev()),
            ast::Statement::Variable(variable) if variable.space == Space::Shared => {
                shared_bytes = (u64::from(shared_bytes).next_multiple_of(variable_align(variable))
                    + variable_size(variable)) as u32;
            }
            ast::Statement::Variable(variable) if variable.space == Space::Reg => {
                virtual_registers += variable.count.unwrap_or(1);
            }
            _ => {}
        }
    }
    let dims = |name: &str| {
        function
            .directives
            .iter()
            .find(|(directive, _)| directive == name)
            .map(|(_, values)| {
                let at = |i: usize| values.get(i).map_or(1, |&value| u32::try_from(value).unwrap_or(1));
                [at(0), at(1), at(2)]
            })
    };
    Kernel {
        name: function.name.clone(),
        params,
        param_bytes: at,
        shared_bytes,
        max_threads: dims(".maxntid"),
        required_threads: dims(".reqntid"),
        required_cluster: dims(".reqnctapercluster"),
        virtual_registers,
        ptx_line: function.pos.line,
    }
}
