//! The sizes of a workload, given as `name=number`.

use std::collections::BTreeMap;

/// The numbers a workload was called with.
#[derive(Debug, Default)]
pub struct Params(BTreeMap<String, u64>);

impl Params {
    /// Reads `name=number` pairs.
    pub fn parse(args: impl Iterator<Item = String>) -> Result<Params, String> {
        args.map(|arg| {
            let (name, number) = arg.split_once('=').ok_or_else(|| wrong(&arg))?;
            Ok((name.to_owned(), number.parse().map_err(|_| wrong(&arg))?))
        })
        .collect::<Result<_, _>>()
        .map(Params)
    }

    /// The number called `name`.
    ///
    /// # Panics
    ///
    /// If it was not given: then the table in `bench/src/rows.rs` lacks it.
    pub fn get(&self, name: &str) -> u64 {
        *self.0.get(name).unwrap_or_else(|| panic!("this workload needs {name}=<number>"))
    }

    /// On how many processors to run.
    pub fn procs(&self) -> usize {
        usize::try_from(self.get("procs")).expect("a number of processors fits")
    }
}

fn wrong(arg: &str) -> String {
    format!("cannot read {arg:?}: sizes are given as name=number, for example n=1000")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Params, String> {
        Params::parse(args.iter().map(|arg| arg.to_string()))
    }

    #[test]
    fn pairs_are_found_by_name() {
        let params = parse(&["procs=2", "n=1000"]).unwrap();
        assert_eq!((params.procs(), params.get("n")), (2, 1000));
    }

    #[test]
    fn anything_else_is_quoted() {
        assert!(parse(&["n"]).unwrap_err().contains("\"n\""));
        assert!(parse(&["n=many"]).unwrap_err().contains("\"n=many\""));
    }
}
