//! The syntax tree of a PTX module.

/// A place in the PTX text: both count from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pos {
    pub line: u32,
    pub column: u32,
}

/// One PTX source file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// `.version`, as written: `(9, 0)`.
    pub version: (u32, u32),
    /// `.target`: `["sm_90a"]`, with any further words (`debug`, `texmode_independent`).
    pub target: Vec<String>,
    /// `.address_size`; 64 where it is not written.
    pub address_size: u32,
    /// `.file` directives: index to file name.
    pub files: Vec<(u32, String)>,
    /// `.alias name, aliasee;`: another name for a function.
    pub aliases: Vec<(String, String)>,
    /// Module-scope variables, in order.
    pub variables: Vec<Variable>,
    /// Entries, functions and their declarations, in order.
    pub functions: Vec<Function>,
}

/// A state space a variable lives in, or an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    Reg,
    Param,
    Global,
    Const,
    Shared,
    Local,
}

/// A fundamental type of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    /// A type that is not one of these: `.texref`, `.samplerref`, `.surfref`.
    Opaque,
}

/// A variable, parameter or register declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    pub name: String,
    pub space: Space,
    pub ty: Type,
    /// `.v2` and `.v4` give 2 and 4; otherwise 1.
    pub vector: u32,
    /// Bytes; `None` where not written (the natural alignment holds).
    pub align: Option<u32>,
    /// Array dimensions; an empty list is a scalar, `Some(0)` for an unsized `[]`.
    pub dims: Vec<u64>,
    /// For `%r<14>`: 14, and `name` is the stem `%r`.
    pub count: Option<u32>,
    pub init: Vec<Init>,
    /// `.extern`, `.visible`, `.weak`, `.common`.
    pub linkage: Option<String>,
    /// For kernel parameters: `.ptr .global .align 16` as written, without the leading `.ptr`.
    pub pointer: Option<String>,
    pub pos: Pos,
}

/// One initialiser of a variable, flattened in memory order.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    Int(i128),
    Float(f64),
    /// The address of a symbol plus a byte offset; `generic(sym)` sets `generic`.
    Symbol {
        name: String,
        offset: i64,
        generic: bool,
    },
    /// `0xff00(sym)`: the bits of an address that the mask selects, moved down to bit 0 (one byte of a `.u8` array).
    Masked {
        mask: u64,
        name: String,
        offset: i64,
    },
}

/// A kernel (`.entry`) or function (`.func`).
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub name: String,
    pub entry: bool,
    pub linkage: Option<String>,
    /// Return parameters of a `.func`.
    pub returns: Vec<Variable>,
    pub params: Vec<Variable>,
    /// Performance and other directives on the header: `(".maxntid", [256, 1, 1])`, `(".noreturn", [])`.
    pub directives: Vec<(String, Vec<i64>)>,
    /// `None` for a declaration without a body.
    pub body: Option<Vec<Statement>>,
    pub pos: Pos,
}

/// One statement of a function body.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    Label {
        name: String,
        pos: Pos,
    },
    Variable(Variable),
    Instruction(Instruction),
    /// A braced scope.
    Block(Vec<Self>),
    /// `.loc file line column [, function_name label, inlined_at file line column]`: the source position of what follows.
    Loc {
        file: u32,
        line: u32,
        column: u32,
        inlined_at: Option<(u32, u32, u32)>,
    },
    /// `name: .branchtargets a, b, c;`, and `.calltargets` alike.
    BranchTargets {
        name: String,
        targets: Vec<String>,
        pos: Pos,
    },
    /// `name: .callprototype (ret) _ (params);`
    CallPrototype {
        name: String,
        returns: Vec<Variable>,
        params: Vec<Variable>,
        noreturn: bool,
        pos: Pos,
    },
    /// `.pragma "nounroll";` and other directives that change nothing, as written.
    Directive {
        text: String,
        pos: Pos,
    },
}

/// One instruction, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// `@%p` or `@!%p`.
    pub guard: Option<Guard>,
    /// Before the first dot: `ld`.
    pub opcode: String,
    /// After it, without dots: `["global", "nc", "L1::no_allocate", "v4", "f32"]`. `::` stays inside a modifier.
    pub modifiers: Vec<String>,
    /// In written order. For `call`: see [`Operand::CallList`].
    pub operands: Vec<Operand>,
    pub pos: Pos,
}

/// A predicate guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    pub register: String,
    pub negated: bool,
}

/// An operand of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register, label, function, variable or special register (`%tid.x`, with its dot), by name.
    Name(String),
    /// `!%p`
    Not(String),
    /// `-%r1` where the grammar allows a negated operand.
    Negated(Box<Self>),
    Int(i128),
    /// A decimal, `0f3F800000` or `0d3FF0000000000000` literal. `bits` keeps the exact pattern of the hexadecimal forms,
    /// with their width.
    Float {
        value: f64,
        bits: Option<(u64, u32)>,
    },
    /// `[base + offset]`; no base for an absolute address.
    Address {
        base: Option<String>,
        offset: i64,
    },
    /// `[tensorMap, {c0, c1}]` and the like: an address with further parts.
    AddressList {
        base: Box<Self>,
        parts: Vec<Self>,
    },
    /// `{%r1, %r2}`
    Vector(Vec<Self>),
    /// `%p|%q` (setp's second destination, shfl's predicate).
    Pair(Box<Self>, Box<Self>),
    /// `(a, b)`: return and argument lists of `call`.
    CallList(Vec<Self>),
    /// `sym + 4` used as a value: the offset is in bytes.
    Symbol {
        name: String,
        offset: i64,
    },
    /// `array[2]` or `array[%r1]`: an element by its index.
    Element {
        name: String,
        index: Box<Self>,
    },
    /// `_`
    Sink,
}
