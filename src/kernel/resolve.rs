//! Works out a header for one operator, shape and device: the plan that a device executes.

use super::error::{ErrorKind, KernelError};
use super::place::{Place, Placed};
use super::plan::{Arg, Launch, Plan, Scratch};
use super::{ArgSpec, KernelFile, LaunchSpec, ScalarType, ScratchSpec, tensormap};
use crate::expr::{self, Expr, Value};
use crate::problem::{ConcreteTensor, Operator};
use crate::shape::{Params, Scalar, Shape};
use crate::suggest;

/// Largest grid per dimension (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
const MAX_GRID: [i64; 3] = [0x7fff_ffff, 65535, 65535];
/// Largest block per dimension (the same table).
const MAX_BLOCK: [i64; 3] = [1024, 1024, 64];
/// Most threads per block (the same table), where the device does not say `max_threads_per_block`.
const MAX_THREADS: i64 = 1024;
/// Most CTAs per cluster, with the non-portable size allowed (Hopper Tuning Guide).
const MAX_CLUSTER: i64 = 16;

/// What expressions can refer to, and the file that they are in.
pub(super) struct Resolver<'a> {
    file: &'a KernelFile,
    shape: &'a Shape,
    params: Params,
    pub tensors: Vec<ConcreteTensor>,
    tunables: Vec<(String, i64)>,
    properties: &'a [(String, i64)],
}

impl expr::Scope for Resolver<'_> {
    fn lookup(&self, name: &str) -> Option<Value> {
        let in_list = |list: &[(String, i64)]| {
            list.iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| Value::Int(*value))
        };
        in_list(&self.tunables)
            .or_else(|| self.params.get(name).and_then(Scalar::value))
            .or_else(|| self.dimension(name))
            .or_else(|| in_list(self.properties))
    }
}

impl KernelFile {
    /// The plan for one shape. `properties` are the device's (`DeviceInfo::properties`); `tune` sets tunables to other
    /// values than their defaults, which need not be among the listed ones.
    ///
    /// # Errors
    /// Of kind `Plan`: an unknown name, a value out of its range, with the place in the header; and for a `tune` that the
    /// header does not have.
    pub fn plan(
        &self,
        operator: &Operator,
        shape: &Shape,
        properties: &[(String, i64)],
        tune: &[(String, i64)],
    ) -> Result<Plan, KernelError> {
        let resolver = Resolver::new(self, operator, shape, properties, tune)?;
        let scratch = resolver.scratch()?;
        let mut launches = Vec::new();
        for spec in &self.header.launches {
            let wanted = match &spec.when {
                Some(when) => resolver.value(when, "`when`")?.as_f64() != 0.0,
                None => true,
            };
            if wanted {
                launches.push(resolver.launch(spec, &scratch)?);
            }
        }
        if launches.is_empty() {
            let place = self.header.launches.iter().find_map(|launch| launch.when.as_ref());
            let place = place.map_or_else(Place::default, |when| when.place);
            let message = format!("no launch is left for shape `{}`: every `when` is 0", shape.id);
            return Err(resolver.error(place, message));
        }
        Ok(Plan {
            defines: resolver.tunables,
            scratch,
            launches,
        })
    }
}

impl<'a> Resolver<'a> {
    fn new(
        file: &'a KernelFile,
        operator: &Operator,
        shape: &'a Shape,
        properties: &'a [(String, i64)],
        tune: &[(String, i64)],
    ) -> Result<Self, KernelError> {
        let plan_error = |message: String| KernelError::new(ErrorKind::Plan, &file.path, message);
        let header = &file.header;
        if let Some((name, _)) = tune
            .iter()
            .find(|(name, _)| !header.tune.iter().any(|t| t.name == *name))
        {
            let known: Vec<_> = header.tune.iter().map(|tunable| tunable.name.as_str()).collect();
            let hint = suggest::hint(name, known.iter().copied());
            let list = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(" ")
            };
            return Err(plan_error(format!(
                "the kernel has no tunable `{name}`{hint} (it has: {list})"
            )));
        }
        let tunables = header.tune.iter().map(|tunable| {
            let forced = tune.iter().rev().find(|(name, _)| *name == tunable.name);
            let value = forced.map_or_else(|| tunable.values.first().copied().unwrap_or(0), |(_, value)| *value);
            (tunable.name.clone(), value)
        });
        let resolver = Self {
            file,
            shape,
            params: operator.scope(shape),
            tensors: operator.tensors_of(shape).map_err(plan_error)?,
            tunables: tunables.collect(),
            properties,
        };
        resolver.no_clashes(operator)?;
        Ok(resolver)
    }

    fn no_clashes(&self, operator: &Operator) -> Result<(), KernelError> {
        let header = &self.file.header;
        for tunable in &header.tune {
            if self.params.get(&tunable.name).is_some() {
                let message = format!(
                    "the tunable `{}` has the name of a parameter of {}; choose another",
                    tunable.name, operator.name
                );
                return Err(self.error(tunable.place, message));
            }
        }
        let scratch = header.scratch.iter().map(|spec| (spec.name.as_str(), spec.name.place));
        let maps = header.tensormaps.iter().map(|spec| (spec.name.as_str(), spec.place));
        for (name, place) in scratch.chain(maps) {
            if operator.tensors.iter().any(|tensor| tensor.name == name) {
                let message = format!(
                    "the name `{name}` is that of a tensor of {}; choose another",
                    operator.name
                );
                return Err(self.error(place, message));
            }
        }
        Ok(())
    }

    pub(super) fn error(&self, place: Place, message: impl Into<String>) -> KernelError {
        KernelError::new(ErrorKind::Plan, &self.file.path, message).at(place)
    }

    /// `x.0`: a tensor's dimension.
    fn dimension(&self, name: &str) -> Option<Value> {
        let (tensor, index) = name.split_once('.')?;
        let tensor = self.tensors.iter().find(|known| known.name == tensor)?;
        let dim = tensor.dims.get(index.parse::<usize>().ok()?)?;
        i64::try_from(*dim).ok().map(Value::Int)
    }

    /// Evaluates an expression; `what` names it in messages.
    pub(super) fn value(&self, expr: &Placed<Expr>, what: &str) -> Result<Value, KernelError> {
        for name in expr.names() {
            if expr::Scope::lookup(self, name).is_none() {
                let place = expr.place.inside(expr.text(), word_offset(expr.text(), name));
                return Err(self.error(place, self.unknown(name)));
            }
        }
        expr.eval(self).map_err(|error| {
            let place = expr.place.inside(expr.text(), error.offset);
            let message = format!("{what} `{}` for shape `{}`: {}", **expr, self.shape.id, error.message);
            self.error(place, message)
        })
    }

    /// Evaluates an expression to an integer in `least..=most`.
    pub(super) fn int(&self, expr: &Placed<Expr>, what: &str, least: i64, most: i64) -> Result<i64, KernelError> {
        let value = self.value(expr, what)?;
        match value.as_int() {
            Some(value) if (least..=most).contains(&value) => Ok(value),
            _ => {
                let message = format!(
                    "{what} `{}` is {value} for shape `{}`: expected an integer from {least} to {most}",
                    **expr, self.shape.id
                );
                Err(self.error(expr.place, message))
            }
        }
    }

    fn unknown(&self, name: &str) -> String {
        if let Some(Scalar::Text(text)) = self.params.get(name) {
            return format!("`{name}` is the text `{text}`: expected a name with a number");
        }
        if let Some((tensor, _)) = name.split_once('.')
            && let Some(tensor) = self.tensors.iter().find(|known| known.name == tensor)
        {
            let last = tensor.dims.len().saturating_sub(1);
            return format!(
                "`{name}`: the tensor `{}` has dimensions {}.0 to {}.{last}",
                tensor.name, tensor.name, tensor.name
            );
        }
        let dimensions: Vec<_> = self
            .tensors
            .iter()
            .flat_map(|tensor| (0..tensor.dims.len()).map(move |index| format!("{}.{index}", tensor.name)))
            .collect();
        let params = self.params.0.iter().map(|(name, _)| name.as_str());
        let lists = [&self.tunables[..], self.properties];
        let others = lists.into_iter().flatten().map(|(name, _)| name.as_str());
        let known: Vec<_> = params
            .chain(others)
            .chain(dimensions.iter().map(String::as_str))
            .collect();
        format!(
            "unknown name `{name}`{} (known: {})",
            suggest::hint(name, known.iter().copied()),
            known.join(" ")
        )
    }

    fn property(&self, name: &str) -> Option<i64> {
        self.properties
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| *value)
    }

    fn scratch(&self) -> Result<Vec<Scratch>, KernelError> {
        let resolve = |spec: &ScratchSpec| {
            let most = i64::MAX / spec.dtype.size() as i64;
            let elements = self.int(&spec.elements, "`elements`", 1, most)?;
            Ok(Scratch {
                name: spec.name.value.clone(),
                dtype: spec.dtype,
                elements: elements.cast_unsigned(),
                zeroed: spec.zeroed,
            })
        };
        self.file.header.scratch.iter().map(resolve).collect()
    }

    fn launch(&self, spec: &LaunchSpec, scratch: &[Scratch]) -> Result<Launch, KernelError> {
        let grid = self.dims(&spec.grid, "`grid`", MAX_GRID)?;
        let block = self.dims(&spec.block, "`block`", MAX_BLOCK)?;
        let threads: i64 = block.iter().map(|dim| i64::from(*dim)).product();
        let most = self.property("max_threads_per_block").unwrap_or(MAX_THREADS);
        if threads > most {
            let [x, y, z] = block;
            let message = format!(
                "`block` is {x} x {y} x {z} = {threads} threads for shape `{}`: expected 1 to {most}",
                self.shape.id
            );
            return Err(self.error(spec.block[0].place, message));
        }
        let shared = match &spec.shared {
            Some(shared) => {
                let most = self.property("max_shared_per_block").unwrap_or(i64::from(u32::MAX));
                self.int(shared, "`shared`", 0, most)? as u32
            }
            None => 0,
        };
        let args = spec
            .args
            .iter()
            .map(|arg| self.arg(arg, scratch))
            .collect::<Result<_, _>>()?;
        Ok(Launch {
            kernel: spec.kernel.value.clone(),
            grid,
            block,
            cluster: spec
                .cluster
                .as_ref()
                .map(|cluster| self.cluster(cluster, grid))
                .transpose()?,
            shared,
            cooperative: spec.cooperative,
            args,
            line: spec.line,
        })
    }

    fn dims(&self, exprs: &[Placed<Expr>], what: &str, most: [i64; 3]) -> Result<[u32; 3], KernelError> {
        let mut dims = [1; 3];
        for ((dim, expr), most) in dims.iter_mut().zip(exprs).zip(most) {
            *dim = self.int(expr, what, 1, most)? as u32;
        }
        Ok(dims)
    }

    fn cluster(&self, exprs: &[Placed<Expr>], grid: [u32; 3]) -> Result<[u32; 3], KernelError> {
        let cluster = self.dims(exprs, "`cluster`", [MAX_CLUSTER; 3])?;
        let place = exprs[0].place;
        let ctas: u32 = cluster.iter().product();
        if i64::from(ctas) > MAX_CLUSTER {
            let message = format!("`cluster` is {ctas} CTAs: expected 1 to {MAX_CLUSTER}");
            return Err(self.error(place, message));
        }
        for (axis, (size, grid)) in ["x", "y", "z"].into_iter().zip(cluster.into_iter().zip(grid)) {
            if grid % size != 0 {
                let message = format!(
                    "`cluster` {size} does not divide `grid` {grid} in {axis} for shape `{}`",
                    self.shape.id
                );
                return Err(self.error(place, message));
            }
        }
        Ok(cluster)
    }

    fn arg(&self, arg: &Placed<ArgSpec>, scratch: &[Scratch]) -> Result<Arg, KernelError> {
        match &arg.value {
            ArgSpec::Buffer(name) => {
                let known = self.tensors.iter().any(|tensor| tensor.name == *name)
                    || scratch.iter().any(|buffer| buffer.name == *name);
                if known {
                    Ok(Arg::Buffer(name.clone()))
                } else {
                    Err(self.error(arg.place, self.unknown_buffer(name, scratch)))
                }
            }
            ArgSpec::Scalar { ty, expr } => self.scalar(*ty, expr).map(Arg::Scalar),
            ArgSpec::TensorMap(name) => {
                let maps = &self.file.header.tensormaps;
                let spec = maps.iter().find(|map| map.name == *name);
                let spec = spec.ok_or_else(|| self.error(arg.place, format!("no [[tensormap]] is named `{name}`")))?;
                tensormap::resolve(self, spec, scratch).map(Arg::TensorMap)
            }
        }
    }

    pub(super) fn unknown_buffer(&self, name: &str, scratch: &[Scratch]) -> String {
        if self.lookup_number(name) {
            return format!("`{name}` is a number, not a buffer: give its type, as in `i32:{name}` or `f32:{name}`");
        }
        let tensors = self.tensors.iter().map(|tensor| tensor.name.as_str());
        let own = scratch.iter().map(|buffer| buffer.name.as_str());
        let maps = self.file.header.tensormaps.iter().map(|map| map.name.as_str());
        let known: Vec<_> = tensors.chain(own).chain(maps).collect();
        format!(
            "no tensor, scratch buffer or tensor map `{name}`{} (known: {})",
            suggest::hint(name, known.iter().copied()),
            known.join(" ")
        )
    }

    fn lookup_number(&self, name: &str) -> bool {
        expr::Scope::lookup(self, name).is_some()
    }

    /// The little-endian bytes of a scalar argument.
    fn scalar(&self, ty: ScalarType, expr: &Placed<Expr>) -> Result<Vec<u8>, KernelError> {
        let int = |least: i64, most: i64| self.int(expr, &format!("argument `{}:`", ty.name()), least, most);
        Ok(match ty {
            ScalarType::I32 => (int(i64::from(i32::MIN), i64::from(i32::MAX))? as i32)
                .to_le_bytes()
                .to_vec(),
            ScalarType::U32 => (int(0, i64::from(u32::MAX))? as u32).to_le_bytes().to_vec(),
            ScalarType::I64 => int(i64::MIN, i64::MAX)?.to_le_bytes().to_vec(),
            ScalarType::U64 => int(0, i64::MAX)?.to_le_bytes().to_vec(),
            ScalarType::F32 => (self.value(expr, "argument `f32:`")?.as_f64() as f32)
                .to_le_bytes()
                .to_vec(),
            ScalarType::F64 => self.value(expr, "argument `f64:`")?.as_f64().to_le_bytes().to_vec(),
        })
    }
}

/// Characters before the first whole-word `name` in an expression's text.
fn word_offset(text: &str, name: &str) -> usize {
    let part = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    text.match_indices(name)
        .find(|(at, _)| !part(text[..*at].chars().next_back()) && !part(text[at + name.len()..].chars().next()))
        .map_or(0, |(at, _)| text[..at].chars().count())
}
