//! One operator at one shape with its inputs made, on the host.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ridgepoint::device::{GenerateSpec, generate};
use ridgepoint::dtype::DType;
use ridgepoint::expr::Scope;
use ridgepoint::problem::{ConcreteTensor, Contract, Operator, Recipe, Role};
use ridgepoint::shape::{Params, Scalar, Shape};

/// Outputs by name, as numbers before they are rounded to their type.
pub(crate) type Answers = BTreeMap<String, Vec<f64>>;

pub(crate) struct Case<'a> {
    pub(crate) operator: &'a Operator,
    pub(crate) shape: Shape,
    pub(crate) distribution: &'static str,
    pub(crate) seed: u64,
    pub(crate) tensors: Vec<ConcreteTensor>,
    pub(crate) inputs: BTreeMap<String, Vec<u8>>,
    scope: Params,
    /// What contracts see: the scope of the shape that this case is a part of.
    contract_scope: Params,
    /// Only this many of the outermost rows of each output are worked out.
    pub(crate) rows: u64,
}

impl<'a> Case<'a> {
    pub(crate) fn new(operator: &'a Operator, shape: &Shape, distribution: &'static str, seed: u64) -> Self {
        Self::part(operator, shape, shape.clone(), u64::MAX, distribution, seed)
    }

    /// A part of a published shape that is quick to work out: a few rows, a few features, one head. Rows keep their full
    /// length, so that their statistics are those of the whole.
    pub(crate) fn sample(operator: &'a Operator, shape: &Shape, distribution: &'static str, seed: u64) -> Self {
        let mut small = shape.clone();
        let few: &[(&str, i64)] = match operator.name.as_str() {
            "attention_forward" => &[("num_heads", 1)],
            "linear_sigmoid_mul" => &[("token_count", 4), ("out_features", 64)],
            "l2_norm" => &[("num_tokens", 2)],
            "topk_filter" => &[("seq_len", 2)],
            _ => &[("token_count", 2)],
        };
        for (name, most) in few {
            let Some(Scalar::Int(value)) = small.params.get(name) else {
                panic!("{}: no parameter {name}", operator.name)
            };
            small.params.set(name, Scalar::Int((*value).min(*most)));
        }
        let rows = if operator.name == "attention_forward" { 1 } else { 4 };
        Self::part(operator, shape, small, rows, distribution, seed)
    }

    fn part(
        operator: &'a Operator,
        whole: &Shape,
        shape: Shape,
        rows: u64,
        distribution: &'static str,
        seed: u64,
    ) -> Self {
        let scope = operator.scope(&shape);
        let tensors = operator.tensors_of(&shape).unwrap();
        let mut inputs = BTreeMap::new();
        for (index, (tensor, concrete)) in operator.tensors.iter().zip(&tensors).enumerate() {
            if concrete.role == Role::Out {
                continue;
            }
            let recipe = tensor.recipe(distribution, &scope).unwrap();
            let total = recipe.total(&scope).unwrap();
            let spec = GenerateSpec {
                recipe,
                dtype: concrete.dtype,
                elements: concrete.elements(),
                seed,
                tensor: index as u64,
                total,
            };
            // Attention needs all keys and values, but only the queries that are worked out.
            let rows = if concrete.name == "q" { rows } else { u64::MAX };
            let row = concrete.dims[1..].iter().product::<u64>();
            let elements = concrete.elements().min(rows.saturating_mul(row));
            inputs.insert(concrete.name.clone(), generated(&spec, elements));
        }
        Self {
            operator,
            contract_scope: operator.scope(whole),
            shape,
            distribution,
            seed,
            tensors,
            inputs,
            scope,
            rows,
        }
    }

    /// A parameter, constant or derived value.
    pub(crate) fn number(&self, name: &str) -> f64 {
        let value = self.scope.lookup(name);
        value
            .unwrap_or_else(|| panic!("{}: no {name}", self.operator.name))
            .as_f64()
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        self.number(name) as usize
    }

    /// The elements of an input.
    pub(crate) fn input(&self, name: &str) -> Vec<f64> {
        self.first(name, usize::MAX)
    }

    /// The first `count` elements of an input, or all there are.
    pub(crate) fn first(&self, name: &str, count: usize) -> Vec<f64> {
        let (dtype, bytes) = (self.tensor(name).dtype, &self.inputs[name]);
        decode(dtype, &bytes[..count.saturating_mul(dtype.size()).min(bytes.len())])
    }

    pub(crate) fn tensor(&self, name: &str) -> &ConcreteTensor {
        self.tensors.iter().find(|tensor| tensor.name == name).unwrap()
    }

    pub(crate) fn outputs(&self) -> impl Iterator<Item = &ConcreteTensor> {
        self.tensors.iter().filter(|tensor| tensor.role != Role::In)
    }

    /// Dimensions of an output as far as it is worked out.
    pub(crate) fn dims(&self, output: &ConcreteTensor) -> Vec<u64> {
        let mut dims = output.dims.clone();
        dims[0] = dims[0].min(self.rows);
        dims
    }

    pub(crate) fn contract(&self, output: &str) -> Contract {
        let tensor = self
            .operator
            .tensors
            .iter()
            .find(|tensor| tensor.name == output)
            .unwrap();
        let contract = tensor.contract(self.distribution, &self.contract_scope).unwrap();
        contract.unwrap_or_else(|| panic!("{}: {output} has no contract", self.operator.name))
    }
}

impl std::fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, shape) = (&self.operator.name, &self.shape);
        write!(
            f,
            "{name} {} ({}) {} seed {}",
            shape.id, shape.params, self.distribution, self.seed
        )
    }
}

/// The first elements of a tensor. Long ones are kept: many shapes ask for the same beginning of them.
fn generated(spec: &GenerateSpec, elements: u64) -> Vec<u8> {
    static KEPT: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let program = generate::program(spec).unwrap();
    let size = spec.dtype.size();
    let extend = |bytes: &mut Vec<u8>| {
        for index in (bytes.len() / size) as u64..elements {
            bytes.extend_from_slice(&program.element(spec.dtype, index).to_le_bytes()[..size]);
        }
    };
    let mut bytes = Vec::new();
    if elements < 1 << 16 || !matches!(spec.recipe, Recipe::Normal { .. }) {
        extend(&mut bytes);
        return bytes;
    }
    let key = format!("{:?} {:?} {} {}", spec.recipe, spec.dtype, spec.seed, spec.tensor);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.entry(key).or_default();
    extend(kept);
    bytes.extend_from_slice(&kept[..elements as usize * size]);
    bytes
}

pub(crate) fn decode(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    let count = bytes.len() / dtype.size();
    (0..count)
        .map(|index| dtype.decode(dtype.read(bytes, index).unwrap()))
        .collect()
}

pub(crate) fn encode(dtype: DType, values: &[f64]) -> Vec<u8> {
    let size = dtype.size();
    values
        .iter()
        .flat_map(|value| dtype.encode(*value).to_le_bytes()[..size].to_vec())
        .collect()
}
