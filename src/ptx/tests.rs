//! Tests of the PTX front end, on PTX that ptxas 13.0 accepts and on text that it does not.

use proptest::prelude::*;

use super::ast::{Guard, Init, Instruction, Operand, Space, Statement, Type, Variable};
use super::{SyntaxError, parse};

/// Every directive and operand form, written by hand.
const FORMS: &str = include_str!("../../tests/ptx/forms.ptx");
/// What NVRTC 13.0 makes of a kernel with calls through pointers, local arrays, `printf` and line information.
const NVRTC: &str = include_str!("../../tests/ptx/nvrtc.ptx");

fn name(text: &str) -> Operand {
    Operand::Name(text.to_owned())
}

/// The instruction of a kernel whose body is this one statement.
fn instruction(text: &str) -> Instruction {
    match body(text).remove(0) {
        Statement::Instruction(instruction) => instruction,
        other => panic!("{text} is {other:?}"),
    }
}

fn body(text: &str) -> Vec<Statement> {
    let module = parse(&format!(".version 9.0 .target sm_90a .entry k() {{ {text} }}")).expect(text);
    module.functions[0].body.clone().expect("a body")
}

fn operands(text: &str) -> Vec<Operand> {
    instruction(text).operands
}

fn error(text: &str) -> (u32, u32, String) {
    let SyntaxError { pos, message } = parse(text).expect_err(text);
    (pos.line, pos.column, message)
}

fn variable(text: &str) -> Variable {
    let module = parse(&format!(".version 9.0\n{text}")).expect(text);
    module.variables[0].clone()
}

#[test]
fn module_directives_are_kept() {
    let module = parse(FORMS).expect("forms.ptx parses");
    assert_eq!(module.version, (8, 7));
    assert_eq!(module.target, ["sm_90a"]);
    assert_eq!(module.address_size, 64);
    assert_eq!(
        module.files,
        [(1, "forms\\path.cu".to_owned()), (2, "header.h".to_owned())]
    );
    assert_eq!(module.aliases, [("other".to_owned(), "impl".to_owned())]);
    let names: Vec<_> = module.functions.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["square", "vprintf", "never", "impl", "other", "forms"]);
    assert!(module.functions[1].body.is_none());
    let kernel = &module.functions[5];
    assert!(kernel.entry);
    assert_eq!(kernel.linkage.as_deref(), Some(".visible"));
    assert_eq!(kernel.params[0].pointer.as_deref(), Some(".global .align 16"));
    assert_eq!(kernel.params[0].align, None);
    assert_eq!(
        (kernel.params[1].align, &kernel.params[1].dims[..]),
        (Some(8), &[24][..])
    );
    assert_eq!(
        kernel.directives,
        [
            (".explicitcluster".to_owned(), vec![]),
            (".maxntid".to_owned(), vec![128, 1, 1]),
            (".minnctapersm".to_owned(), vec![2]),
            (".maxnreg".to_owned(), vec![64]),
            (".reqnctapercluster".to_owned(), vec![2, 1, 1]),
        ]
    );
}

#[test]
fn variables_are_kept() {
    let module = parse(FORMS).expect("forms.ptx parses");
    let find = |name: &str| {
        module
            .variables
            .iter()
            .find(|variable| variable.name == name)
            .expect(name)
    };
    let dynamic = find("dynamic");
    assert_eq!(
        (dynamic.space, dynamic.ty, dynamic.align),
        (Space::Shared, Type::B8, Some(16))
    );
    assert_eq!(
        (&dynamic.dims[..], dynamic.linkage.as_deref()),
        (&[0][..], Some(".extern"))
    );
    assert_eq!(find("counter").init, [Init::Int(7)]);
    assert_eq!(
        find("pointer").init,
        [Init::Symbol {
            name: "counter".to_owned(),
            offset: 4,
            generic: true
        }]
    );
    assert_eq!(
        find("split").init[1..3],
        [(0xff00, 0), (0xff_0000, 4)].map(|(mask, offset)| Init::Masked {
            mask,
            name: "counter".to_owned(),
            offset
        })
    );
    assert_eq!(find("matrix").init, [1, 2, 0, 3, 4, 5].map(Init::Int));
    assert_eq!(find("constants").init, [1.0, 1.5, -0.25].map(Init::Float));
    assert_eq!((find("first").dims.len(), &find("second").dims[..]), (0, &[3][..]));
}

#[test]
fn vectors_and_register_ranges() {
    let vector = variable(".global .align 16 .v4 .f32 rows[2] = {{1.0, 2.0}, {3.0, 4.0, 5.0, 6.0}};");
    assert_eq!((vector.vector, vector.align), (4, Some(16)));
    assert_eq!(vector.init.len(), 8);
    assert_eq!((&vector.init[2], &vector.init[4]), (&Init::Int(0), &Init::Float(3.0)));
    let statements = body(".reg .b32 %r<14>, %x;");
    let counts: Vec<_> = statements
        .iter()
        .map(|statement| match statement {
            Statement::Variable(variable) => (variable.name.as_str(), variable.count),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(counts, [("%r", Some(14)), ("%x", None)]);
}

#[test]
fn every_operand_form() {
    let int = Operand::Int;
    let address = |base: Option<&str>, offset| Operand::Address {
        base: base.map(str::to_owned),
        offset,
    };
    assert_eq!(
        operands("f %r1, %tid.x, %tid .y;"),
        [name("%r1"), name("%tid.x"), name("%tid.y")]
    );
    assert_eq!(
        operands("f -5, 0xFFFFFFFFFFFFFFFF, 017, 0b11U, 7U;"),
        [-5, 0xffff_ffff_ffff_ffff, 15, 3, 7].map(int)
    );
    assert_eq!(
        operands("f (4+3)*2<<1, 7 % 4, ~0 & 0xff, 1 ? 2 : 3, (.s64)0xFFFFFFFFFFFFFFFF, 5 - 3;"),
        [28, 3, 0xff, 2, -1, 2].map(int)
    );
    assert_eq!(
        operands("f 0f3F800000, 0d3FF8000000000000, -1.5, .5, 1e3;"),
        [
            (1.0, Some((0x3f80_0000, 32))),
            (1.5, Some((0x3ff8_0000_0000_0000, 64))),
            (-1.5, None),
            (0.5, None),
            (1000.0, None)
        ]
        .map(|(value, bits)| Operand::Float { value, bits })
    );
    assert_eq!(
        operands("f [%rd1], [%rd1+16], [%rd1+-16], [%rd1-8], [64], [a+4*2];"),
        [
            address(Some("%rd1"), 0),
            address(Some("%rd1"), 16),
            address(Some("%rd1"), -16),
            address(Some("%rd1"), -8),
            address(None, 64),
            address(Some("a"), 8)
        ]
    );
    assert_eq!(
        operands("f [%rd1, {%r1, %r2}], {%r1, _}, %p|%q, _|%p, !%p, -%r1, _;"),
        [
            Operand::AddressList {
                base: Box::new(address(Some("%rd1"), 0)),
                parts: vec![Operand::Vector(vec![name("%r1"), name("%r2")])]
            },
            Operand::Vector(vec![name("%r1"), Operand::Sink]),
            Operand::Pair(Box::new(name("%p")), Box::new(name("%q"))),
            Operand::Pair(Box::new(Operand::Sink), Box::new(name("%p"))),
            Operand::Not("%p".to_owned()),
            Operand::Negated(Box::new(name("%r1"))),
            Operand::Sink
        ]
    );
    assert_eq!(
        operands("f a+4, a[2], a[%r1];"),
        [
            Operand::Symbol {
                name: "a".to_owned(),
                offset: 4
            },
            Operand::Element {
                name: "a".to_owned(),
                index: Box::new(int(2))
            },
            Operand::Element {
                name: "a".to_owned(),
                index: Box::new(name("%r1"))
            }
        ]
    );
}

#[test]
fn instructions_keep_their_modifiers_and_guard() {
    let load = instruction("@!%p1 ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%f1,%f2,%f3,%f4}, [%rd1];");
    assert_eq!(
        load.guard,
        Some(Guard {
            register: "%p1".to_owned(),
            negated: true
        })
    );
    assert_eq!(load.opcode, "ld");
    assert_eq!(
        load.modifiers,
        ["global", "nc", "L1::no_allocate", "L2::128B", "v4", "f32"]
    );
    let tensor = instruction(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [a], [b, {c, d}], [e];",
    );
    assert_eq!(tensor.modifiers[3..5], ["2d", "shared::cluster"]);
    assert_eq!(tensor.modifiers[6], "mbarrier::complete_tx::bytes");
    assert!(instruction("ret;").operands.is_empty());
}

#[test]
fn calls_keep_their_lists() {
    let list = |names: &[&str]| Operand::CallList(names.iter().map(|text| name(text)).collect());
    assert_eq!(
        operands("call.uni (retval0),\n vprintf,\n (\nparam0,\nparam1\n);"),
        [list(&["retval0"]), name("vprintf"), list(&["param0", "param1"])]
    );
    assert_eq!(operands("call f;"), [name("f")]);
    assert_eq!(
        operands("call %rd1, (), proto;"),
        [name("%rd1"), list(&[]), name("proto")]
    );
}

#[test]
fn statements_of_the_real_thing() {
    fn count(statements: &[Statement], counts: &mut [usize; 6]) {
        for statement in statements {
            let kind = match statement {
                Statement::Block(inner) => {
                    count(inner, counts);
                    0
                }
                Statement::Loc { inlined_at, .. } => {
                    counts[5] += usize::from(inlined_at.is_some());
                    1
                }
                Statement::CallPrototype { .. } => 2,
                Statement::Label { .. } => 3,
                Statement::Instruction(_) => 4,
                _ => continue,
            };
            counts[kind] += 1;
        }
    }
    let module = parse(NVRTC).expect("nvrtc.ptx parses");
    let mut counts = [0; 6];
    for function in &module.functions {
        count(function.body.as_deref().unwrap_or_default(), &mut counts);
    }
    // Counted in the text with grep.
    let lines = |what: &str| NVRTC.lines().filter(|line| line.contains(what)).count();
    assert_eq!(counts[0], lines("{ // callseq"));
    assert_eq!(counts[1], lines(".loc\t"));
    assert_eq!(counts[2], lines(".callprototype"));
    assert_eq!(
        counts[3],
        NVRTC
            .lines()
            .filter(|line| line.starts_with("$L__BB") && line.ends_with(':'))
            .count()
    );
    assert!(counts[4] > 100 && counts[5] > 0);
    let bodies = module.functions.iter().filter_map(|function| function.body.as_deref());
    let first = bodies
        .flatten()
        .find_map(|statement| match statement {
            Statement::Instruction(instruction) => Some(instruction),
            _ => None,
        })
        .expect("some function has an instruction");
    let line = NVRTC.lines().nth(first.pos.line as usize - 1).expect("the line exists");
    assert!(line.trim_start().starts_with(&first.opcode), "{line}");
}

#[test]
fn errors_say_where_and_what() {
    assert_eq!(
        error(""),
        (
            1,
            1,
            "expected `.version` as the first directive, found the end of the text".to_owned()
        )
    );
    assert_eq!(
        error(".version 9.0\n.target sm_90a\n.entry k() {\n  add.u32 %r1, , 3;\n}"),
        (4, 16, "expected an operand, found `,`".to_owned())
    );
    assert_eq!(
        error(".version 9.0\n.entry k() { mov.u32 %r1, 0x1FFFFFFFFFFFFFFFFF; }"),
        (
            2,
            27,
            "the integer `0x1FFFFFFFFFFFFFFFFF` does not fit in 64 bits".to_owned()
        )
    );
    assert_eq!(
        error(".version 9.0\n.entry k() { ret }"),
        (2, 18, "expected an operand, found `}`".to_owned())
    );
    assert_eq!(
        error(".version 9.0\n.entry k() { ret;"),
        (
            2,
            18,
            "expected `}` to close the body, found the end of the text".to_owned()
        )
    );
    assert_eq!(
        error(".version 9.0\n/* gone"),
        (2, 1, "this comment has no end: expected `*/`".to_owned())
    );
    assert_eq!(
        error(".version 9.0\n.global .u32 é = 1;"),
        (2, 14, "`\\u{e9}` has no meaning in PTX".to_owned())
    );
    assert_eq!(
        error(".version 9.0\n.entry k() { mov.u32 %r1, 1/0; }").2,
        "`1 / 0` has no value"
    );
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow_the_stack() {
    for (open, close) in [
        ("{", "}"),
        ("f {", "}"),
        ("f (", ")"),
        ("f -", ""),
        ("f 1+(", ")"),
        ("f a[", "]"),
    ] {
        let text = format!(
            ".version 9.0\n.entry k() {{ {} 1 {} ; }}",
            open.to_owned() + &open.trim_start_matches("f ").repeat(100_000),
            close.repeat(100_001)
        );
        let message = error(&text).2;
        assert_eq!(message, "nested more than 64 levels deep", "{open}");
    }
}

/// Real PTX with a few bytes changed, cut or repeated.
fn mutated() -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), 0_usize..24, "[ -~\n]{0,6}", any::<bool>());
    (prop::bool::ANY, prop::collection::vec(edit, 1..6)).prop_map(|(forms, edits)| {
        let mut text = if forms { FORMS } else { NVRTC }.as_bytes().to_vec();
        for (at, cut, insert, repeat) in edits {
            let at = at.index(text.len());
            let end = (at + cut).min(text.len());
            let mut piece = insert.into_bytes();
            if repeat {
                piece.extend_from_slice(&text[at..end].repeat(2));
            }
            text.splice(at..end, piece);
        }
        String::from_utf8_lossy(&text).into_owned()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = parse(&text);
    }

    #[test]
    fn no_bytes_in_a_body_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = parse(&format!(".version 9.0\n.entry k() {{ {text}"));
        let _ = parse(&format!(".version 9.0\n{text}"));
    }

    #[test]
    fn mutated_ptx_parses_or_fails_inside_the_text(text in mutated()) {
        if let Err(error) = parse(&text) {
            let lines = text.lines().count() as u32 + 1;
            prop_assert!((1..=lines).contains(&error.pos.line), "{error}");
            prop_assert!(!error.message.is_empty());
        }
    }
}
