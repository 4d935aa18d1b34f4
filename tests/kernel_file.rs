//! Kernel files: what is read from good ones, and the exact place and message for broken ones.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use ridgepoint::dtype::DType;
use ridgepoint::expr::Expr;
use ridgepoint::kernel::plan::{Arg, Plan};
use ridgepoint::kernel::{
    ErrorKind, KernelError, KernelFile, Language, MAX_FILE_BYTES, entries, load, load_as, offer_header,
};
use ridgepoint::problem::{Cost, Operator, Param, Role, Tensor, TensorType};
use ridgepoint::shape::{Params, Scalar, Shape};

const GOOD: &str = r#"/*---ridgepoint
operator = "rows"
[tune]
BLOCK = [128, 256]
[[launch]]
kernel = "rows_kernel"
grid = ["ceil_div(token_count, 2)"]
block = ["BLOCK"]
args = ["x", "out", "i32:hidden_size", "f32:eps"]
---*/
extern "C" __global__ void rows_kernel(const float* x, float* out, int n, float eps) {}
"#;

fn tensor(name: &str, role: Role) -> Tensor {
    let dim = |text| Expr::parse(text).expect("a name is an expression");
    Tensor {
        name: name.to_owned(),
        dtype: TensorType::Fixed(DType::F32),
        dims: vec![dim("token_count"), dim("hidden_size")],
        role,
        recipes: BTreeMap::new(),
        contracts: BTreeMap::new(),
    }
}

fn operator() -> Operator {
    let param = |name: &str| Param {
        name: name.to_owned(),
        meaning: String::new(),
    };
    Operator {
        name: "rows".to_owned(),
        suite: "test".to_owned(),
        id: "test_0".to_owned(),
        weight: 1.0,
        dtype: "f32".to_owned(),
        phase: String::new(),
        derived: Vec::new(),
        maths: String::new(),
        notes: Vec::new(),
        params: vec![param("token_count"), param("hidden_size"), param("mode")],
        constants: Params(vec![("eps".to_owned(), Scalar::Float(1e-6))]),
        tensors: vec![tensor("x", Role::In), tensor("out", Role::Out)],
        cost: Cost {
            flops: Vec::new(),
            bytes_read: Expr::int(0),
            bytes_written: Expr::int(0),
        },
        shapes: Vec::new(),
        twins: Vec::new(),
        reference: None,
        kernels: Vec::new(),
    }
}

fn shape() -> Shape {
    Shape {
        id: "7".to_owned(),
        params: Params(vec![
            ("token_count".to_owned(), Scalar::Int(10)),
            ("hidden_size".to_owned(), Scalar::Int(64)),
            ("mode".to_owned(), Scalar::Text("sum".to_owned())),
        ]),
    }
}

fn loaded(text: &str) -> Result<KernelFile, KernelError> {
    load(Path::new("k.cu"), Some(text))
}

fn planned(text: &str, tune: &[(&str, i64)]) -> Result<Plan, KernelError> {
    let properties = [
        ("sm_count".to_owned(), 132),
        ("max_shared_per_block".to_owned(), 232_448),
    ];
    let tune: Vec<_> = tune.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    loaded(text)?.plan(&operator(), &shape(), &properties, &tune)
}

/// Replaces the first `from`, which must be there.
fn with(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    GOOD.replacen(from, to, 1)
}

#[test]
fn a_good_file_gives_its_plan() {
    let plan = planned(GOOD, &[]).unwrap();
    assert_eq!(plan.defines, [("BLOCK".to_owned(), 128)]);
    let launch = &plan.launches[0];
    assert_eq!((launch.grid, launch.block, launch.line), ([5, 1, 1], [128, 1, 1], 5));
    assert_eq!(
        launch.args,
        [
            Arg::Buffer("x".to_owned()),
            Arg::Buffer("out".to_owned()),
            Arg::Scalar(64_i32.to_le_bytes().to_vec()),
            Arg::Scalar(1e-6_f32.to_le_bytes().to_vec()),
        ]
    );
    let forced = planned(GOOD, &[("BLOCK", 96)]).unwrap();
    assert_eq!(forced.launches[0].block, [96, 1, 1]);
}

#[test]
fn expressions_reach_everything_they_may() {
    let text = with("ceil_div(token_count, 2)", "min(x.0, sm_count) + out.1 * BLOCK");
    assert_eq!(planned(&text, &[]).unwrap().launches[0].grid, [10 + 64 * 128, 1, 1]);
}

#[test]
fn several_launches_scratch_and_when() {
    let text = GOOD.replacen(
        "---*/",
        r#"[[launch]]
kernel = "rows_kernel"
when = "hidden_size > 100"
grid = 1
block = [1]
args = ["x", "out", "i32:1", "f32:0.5"]
[[launch]]
kernel = "rows_kernel"
grid = [4, "2"]
cluster = [2, 2]
shared = "BLOCK * 4"
cooperative = true
block = [32, 2]
args = ["part", "out", "i32:-1", "f32:eps * 2"]
[[scratch]]
name = "part"
dtype = "f32"
elements = "token_count * 2"
zeroed = true
---*/"#,
        1,
    );
    let plan = planned(&text, &[]).unwrap();
    assert_eq!(plan.launches.len(), 2, "the second launch's `when` is 0");
    let last = &plan.launches[1];
    assert_eq!((last.grid, last.block), ([4, 2, 1], [32, 2, 1]));
    assert_eq!(
        (last.cluster, last.shared, last.cooperative),
        (Some([2, 2, 1]), 512, true)
    );
    assert_eq!((plan.scratch[0].elements, plan.scratch[0].zeroed), (20, true));
}

/// Each row: a text, the line and column, and the message in full.
fn check_headers(rows: &[(String, u32, u32, &str)]) {
    let mut wrong = Vec::new();
    for (text, line, column, message) in rows {
        let error = planned(text, &[]).expect_err(text);
        let got = format!("{}: {}", error.place.unwrap_or_default(), error.message);
        let expected = format!("{line}:{column}: {message}");
        if got != expected {
            wrong.push(format!("expected {expected}\n     got {got}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn broken_headers_name_place_and_expectation() {
    check_headers(&[
        (
            with("grid =", "gird ="),
            7,
            1,
            "unknown key `gird` in [[launch]]; did you mean `grid`? (known: kernel grid block cluster shared cooperative when args)",
        ),
        (
            with("operator = \"rows\"", "operator = 3"),
            2,
            12,
            "`operator` in the header: expected a string, found the integer `3`",
        ),
        (
            with("operator = \"rows\"", "// é\noperator = = 3"),
            2,
            4,
            "not TOML: key with no value, expected `=`",
        ),
        (
            with("ceil_div(token_count, 2)", "ceil_div(token_count 2)"),
            7,
            31,
            "in the expression `ceil_div(token_count 2)`: expected `,`, found `2`",
        ),
        (
            with("\"i32:hidden_size\"", "\"i32:hidden_size *\""),
            9,
            39,
            "in the expression `hidden_size *`: expected a number, a name or `(`, found the end",
        ),
        (
            with("i32:hidden_size", "int:hidden_size"),
            9,
            22,
            "argument `int:hidden_size`: unknown type `int`; expected one of i32 u32 i64 u64 f32 f64",
        ),
        (
            with("\"out\", \"i32", "\"out+1\", \"i32"),
            9,
            15,
            "argument `out+1`: expected a buffer's name, or a type and an expression such as `i32:out+1`",
        ),
        (
            with("kernel = \"rows_kernel\"\n", ""),
            5,
            1,
            "[[launch]] lacks `kernel`: expected the name of an extern \"C\" __global__ function or a PTX .entry",
        ),
        (
            with("kernel = \"rows_kernel\"", "kernel = \"row_kernel\""),
            6,
            11,
            "no kernel `row_kernel` in this file; did you mean `rows_kernel`? (defined: rows_kernel)",
        ),
        (
            with("[128, 256]", "[128, \"256\"]"),
            4,
            15,
            "tunable `BLOCK`: expected an integer or an array of integers, found the string `256`",
        ),
        (
            with("[128, 256]", "[]"),
            4,
            9,
            "tunable `BLOCK`: expected at least one value; the first is the default",
        ),
        (
            with("[\"ceil_div(token_count, 2)\"]", "[1, 1, 1, 1]"),
            7,
            8,
            "`grid` in [[launch]]: expected 1 to 3 expressions, found 4",
        ),
        (
            with("extern \"C\" ", ""),
            6,
            11,
            "`rows_kernel` in line 11 is not `extern \"C\"` (or is a template), so it cannot be found by its name",
        ),
        (
            with(", \"f32:eps\"", ""),
            6,
            11,
            "`rows_kernel` in line 11 has 4 parameters, but `args` holds 3",
        ),
        (
            with("f32:eps", "f64:eps"),
            9,
            41,
            "a value of type f64 for the parameter `float eps`: expected `f32:`",
        ),
        (
            with("\"i32:hidden_size\"", "\"x\""),
            9,
            22,
            "the address of `x` for the parameter `int n`: expected `i32:` or `u32:`",
        ),
        (
            with("block = [\"BLOCK\"]", "block = [\"BLOCK\"]\ncooperative = 1"),
            9,
            15,
            "`cooperative` in [[launch]]: expected true or false, found the integer `1`",
        ),
        (
            with("[tune]", "[compile]\narch = \"hopper\"\n[tune]"),
            4,
            9,
            "`arch` in [compile]: expected a target such as \"sm_90a\", found `hopper`",
        ),
        (
            with("[[launch]]", "[[lunch]]"),
            5,
            3,
            "unknown key `lunch` in the header; did you mean `launch`? (known: operator note tune launch scratch tensormap compile)",
        ),
        (
            with(
                "---*/",
                "[[scratch]]\nname = \"BLOCK\"\ndtype = \"f32\"\nelements = 1\n---*/",
            ),
            4,
            1,
            "the name `BLOCK` of a tunable is already that of a scratch buffer in line 11",
        ),
        (
            with(
                "---*/",
                "[[scratch]]\nname = \"part\"\ndtype = \"fp12\"\nelements = 1\n---*/",
            ),
            12,
            10,
            "unknown dtype `fp12`; known are f64 f32 f16 bf16 e4m3fn e4m3fnuz e5m2 i64 i32 i8 u32 u8",
        ),
        (
            with("---*/", "*/"),
            10,
            1,
            "`*/` ends the header comment early; expected `---*/`",
        ),
        (
            format!("int x;\n{GOOD}"),
            2,
            1,
            "the header must come before the first line of code",
        ),
        (
            "/*---ridgepoint\noperator = \"rows\"\n---*/\n".to_owned(),
            2,
            1,
            "the header has no [[launch]]: expected at least one, with `kernel`, `grid`, `block` and `args`",
        ),
    ]);
}

#[test]
fn plans_that_do_not_work_out_name_place_and_value() {
    let known = "token_count hidden_size mode eps BLOCK sm_count max_shared_per_block x.0 x.1 out.0 out.1";
    let unknown = format!("unknown name `token_cout`; did you mean `token_count`? (known: {known})");
    check_headers(&[
        (with("ceil_div(token_count, 2)", "1 + token_cout"), 7, 14, &unknown),
        (
            with("ceil_div(token_count, 2)", "if(1, 1, x.2)"),
            7,
            19,
            "`x.2`: the tensor `x` has dimensions x.0 to x.1",
        ),
        (
            with("ceil_div(token_count, 2)", "mode"),
            7,
            10,
            "`mode` is the text `sum`: expected a name with a number",
        ),
        (
            with("ceil_div(token_count, 2)", "token_count - 10"),
            7,
            10,
            "`grid` `token_count - 10` is 0 for shape `7`: expected an integer from 1 to 2147483647",
        ),
        (
            with("ceil_div(token_count, 2)", "1 / (token_count - 10)"),
            7,
            12,
            "`grid` `1 / (token_count - 10)` for shape `7`: division by zero",
        ),
        (
            with("[\"BLOCK\"]", "[\"BLOCK\", 9]"),
            8,
            11,
            "`block` is 128 x 9 x 1 = 1152 threads for shape `7`: expected 1 to 1024",
        ),
        (
            with("block = [\"BLOCK\"]", "block = [\"BLOCK\"]\nshared = 300000"),
            9,
            10,
            "`shared` `300000` is 300000 for shape `7`: expected an integer from 0 to 232448",
        ),
        (
            with("block = [\"BLOCK\"]", "block = [\"BLOCK\"]\ncluster = [2]"),
            9,
            12,
            "`cluster` 2 does not divide `grid` 5 in x for shape `7`",
        ),
        (
            with("block = [\"BLOCK\"]", "block = [\"BLOCK\"]\nwhen = \"0\""),
            9,
            9,
            "no launch is left for shape `7`: every `when` is 0",
        ),
        (
            with("[\"x\", \"out\"", "[\"x\", \"uot\""),
            9,
            15,
            "no tensor, scratch buffer or tensor map `uot`; did you mean `out`? (known: x out)",
        ),
        (
            with("[\"x\", \"out\"", "[\"x\", \"hidden_size\""),
            9,
            15,
            "`hidden_size` is a number, not a buffer: give its type, as in `i32:hidden_size` or `f32:hidden_size`",
        ),
        (
            with("i32:hidden_size", "i32:hidden_size + 3000000000"),
            9,
            26,
            "argument `i32:` `hidden_size + 3000000000` is 3000000064 for shape `7`: expected an integer from -2147483648 to 2147483647",
        ),
        (
            with("BLOCK = [128, 256]", "BLOCK = 1\nhidden_size = 2"),
            5,
            1,
            "the tunable `hidden_size` has the name of a parameter of rows; choose another",
        ),
        (
            with(
                "---*/",
                "[[scratch]]\nname = \"x\"\ndtype = \"f32\"\nelements = 1\n---*/",
            ),
            11,
            9,
            "the name `x` is that of a tensor of rows; choose another",
        ),
        (
            with(
                "---*/",
                "[[scratch]]\nname = \"s\"\ndtype = \"f32\"\nelements = \"hidden_size - 64\"\n---*/",
            ),
            13,
            13,
            "`elements` `hidden_size - 64` is 0 for shape `7`: expected an integer from 1 to 2305843009213693951",
        ),
    ]);
}

#[test]
fn an_unknown_tunable_is_refused() {
    let error = planned(GOOD, &[("BLOK", 1)]).unwrap_err();
    assert_eq!(
        error.message,
        "the kernel has no tunable `BLOK`; did you mean `BLOCK`? (it has: BLOCK)"
    );
}

/// A kernel with one tensor map over `x` (10 x 64 f32), with the given lines in its table.
fn with_map(lines: &str) -> String {
    format!(
        "/*---ridgepoint\n[[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 32\nargs = [\"map\", \"out\"]\n[[tensormap]]\nname = \"map\"\n{lines}\n---*/\n\
         extern \"C\" __global__ void k(const __grid_constant__ CUtensorMap map, float* out) {{}}\n"
    )
}

#[test]
fn tensor_maps_work_out() {
    let text = with_map("tensor = \"x\"\ntile = [32, 8]\nswizzle = 128");
    let plan = planned(&text, &[]).unwrap();
    let Arg::TensorMap(map) = &plan.launches[0].args[0] else {
        panic!("expected a tensor map, got {:?}", plan.launches[0].args[0]);
    };
    assert_eq!((map.buffer.as_str(), map.dtype), ("x", DType::F32));
    assert_eq!(
        (&map.dims[..], &map.strides[..], &map.tile[..]),
        (&[64, 10][..], &[256][..], &[32, 8][..])
    );
    assert_eq!(map.swizzle, 128);
}

#[test]
fn tensor_maps_that_the_driver_would_refuse_are_named() {
    check_headers(&[
        (
            with_map("tensor = \"x\"\ntile = [64, 8]\nswizzle = 128"),
            10,
            9,
            "tensor map `map`: the box is 256 bytes wide; a swizzle of 128 allows at most as many",
        ),
        (
            with_map("tensor = \"x\"\ntile = [3, 8]"),
            10,
            9,
            "tensor map `map`: the box is 12 bytes wide; expected a multiple of 16",
        ),
        (
            with_map("tensor = \"x\"\ntile = [512, 8]"),
            10,
            9,
            "`tile` `512` is 512 for shape `7`: expected an integer from 1 to 256",
        ),
        (
            with_map("tensor = \"x\"\ntile = [32]"),
            10,
            9,
            "tensor map `map`: `tile` has 1 sizes, but there are 2 dimensions",
        ),
        (
            with_map("tensor = \"x\"\ndims = [33, 10]\ntile = [4, 4]"),
            10,
            9,
            "tensor map `map`: a stride of 132 bytes; expected a multiple of 16 under 2^40 (the innermost dimension is 33 elements of f32)",
        ),
        (
            with_map("tensor = \"x\"\ndims = [64, 11]\ntile = [4, 4]"),
            10,
            9,
            "tensor map `map`: `dims` cover 704 elements, but `x` has 640",
        ),
        (
            with_map("tensor = \"y\"\ntile = [4, 4]"),
            9,
            11,
            "no tensor, scratch buffer or tensor map `y` (known: x out map)",
        ),
        (
            with_map("tensor = \"x\"\ntile = [4, 4]\nswizzle = 48"),
            11,
            11,
            "`swizzle` in [[tensormap]]: expected one of 0, 32, 64, 128, found the integer `48`",
        ),
    ]);
}

#[test]
fn ptx_files_carry_headers_too() {
    let text = "/*---ridgepoint\n[[launch]]\nkernel = \"k\"\ngrid = 1\nblock = 32\nargs = [\"x\", \"out\"]\n---*/\n\
                .version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b) { ret; }\n";
    let file = load(Path::new("k.ptx"), Some(text)).unwrap();
    assert_eq!(file.language, Language::Ptx);
    assert!(file.plan(&operator(), &shape(), &[], &[]).is_ok());
    let error = load(
        Path::new("k.ptx"),
        Some(&text.replacen("\"out\"", "\"f32:1\", \"out\"", 1)),
    )
    .unwrap_err();
    assert_eq!(error.message, "`k` in line 11 has 2 parameters, but `args` holds 3");
}

#[test]
fn a_missing_header_is_offered_and_the_offer_loads() {
    let source = "extern \"C\" __global__ void k(const float* x, float* result, int hidden_size, float eps) {}\n";
    let error = loaded(source).unwrap_err();
    assert_eq!((error.kind, error.line()), (ErrorKind::NoHeader, Some(1)));
    assert!(error.offer.unwrap().contains("kernel = \"k\""));

    let offered = offer_header(Some(&operator()), &entries(source, Language::Cuda));
    let error = load_as(Path::new("k.cu"), Some(source), Some(&operator())).unwrap_err();
    assert_eq!(
        error.offer.as_deref(),
        Some(offered.as_str()),
        "a known operator is used at once"
    );
    let plan = planned(&format!("{offered}{source}"), &[]).unwrap();
    assert_eq!(plan.launches[0].grid, [10, 1, 1]);
    assert_eq!(
        plan.launches[0].args[1],
        Arg::Buffer("out".to_owned()),
        "by type and order"
    );
    assert!(offered.contains("\"x\",    # float* x: by name"), "{offered}");
    assert!(
        offered.contains("\"out\",    # float* result: by type and order: check"),
        "{offered}"
    );
    assert!(offered.contains("\"f32:eps\",    # float eps: by name"), "{offered}");
}

#[test]
fn files_that_are_no_kernels() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let error = |path: &Path| load(path, None).unwrap_err();

    let missing = error(&folder.path().join("missing.cu"));
    assert_eq!(missing.kind, ErrorKind::File);
    assert!(missing.message.starts_with("cannot read the file: "), "{missing}");

    let binary = error(&write("binary.cu", b"ab\n\xffcd"));
    assert_eq!(binary.message, "not UTF-8 text: byte 3 is 0xff");
    assert_eq!((binary.line(), binary.column()), (Some(2), Some(1)));

    assert_eq!(error(&write("empty.cu", b" \n")).message, "the file is empty");
    assert_eq!(error(&write("nul.cu", b"a\0")).column(), Some(2));
    assert_eq!(
        error(&write("kernel.rs", b"fn")).message,
        "not a kernel file by its name: expected .cu, .ptx or .py"
    );
    assert_eq!(error(&write("kernel", b"fn")).kind, ErrorKind::File);
    std::fs::create_dir(folder.path().join("folder.cu")).unwrap();
    assert_eq!(error(&folder.path().join("folder.cu")).message, "not a regular file");

    let python = error(&write(
        "model.py",
        b"import torch\nclass ModelNew(torch.nn.Module):\n    pass\n",
    ));
    assert_eq!(python.kind, ErrorKind::Unsupported);
    assert_eq!(
        python.message,
        "a Python kernel (`class ModelNew`, as in KernelBench): Python kernels are not supported yet"
    );
}

#[test]
fn a_huge_file_is_refused_unread() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.cu");
    // A hole of 100 MB: reading it would take memory, looking at its size does not.
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(100 << 20).unwrap();
    let error = load(&path, None).unwrap_err();
    assert_eq!(
        error.message,
        format!("the file has 104857600 bytes; the limit is {MAX_FILE_BYTES}")
    );
    let text = "x".repeat(MAX_FILE_BYTES as usize + 1);
    assert_eq!(loaded(&text).unwrap_err().kind, ErrorKind::File);
}

proptest! {
    /// Whatever is typed into a good file, loading and planning answer, and an error's place is inside the file.
    #[test]
    fn broken_text_is_an_answer_not_a_crash(
        edits in prop::collection::vec((0_usize..400, 0_usize..6, "[\\PC\n\"\\[\\]{}#=*/]{0,4}"), 1..4)
    ) {
        let mut chars: Vec<char> = GOOD.chars().collect();
        for (at, remove, insert) in edits {
            let at = at.min(chars.len());
            let end = (at + remove).min(chars.len());
            chars.splice(at..end, insert.chars());
        }
        let text: String = chars.into_iter().collect();
        for language in [Language::Cuda, Language::Ptx] {
            let _ = entries(&text, language);
        }
        if let Err(error) = planned(&text, &[])
            && let Some(place) = error.place
        {
            prop_assert!(place.line as usize <= text.lines().count() + 1, "{error}");
        }
    }
}
