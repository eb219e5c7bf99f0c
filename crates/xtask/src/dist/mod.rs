//! `cargo xtask dist`: everything that is released, from one program. The texts are in `packaging/`, with `{{names}}` that
//! are filled from the manifests; what each platform is called by whom is in `platform.rs`.

mod deb;
mod facts;
pub(crate) mod files;
mod npm;
mod platform;
mod prefix;
mod release;
mod sbom;
mod tarball;
mod wheel;

use std::path::{Path, PathBuf};

use crate::{Failure, programs, workspace};

pub(crate) use facts::Facts;
pub(crate) use npm::{pack as pack_npm, scoped};
pub(crate) use platform::{PLATFORMS, Platform};
pub(crate) use wheel::pack as pack_wheel;

/// What packages are built with.
const PROFILE: &str = "dist";

/// The goal for the size of the program, in MB.
const MOST: f64 = include!("../../../../packaging/most_megabytes.rs");

/// What is asked for.
#[derive(Default)]
struct Options {
    /// The platform; without it, this machine's.
    target: Option<String>,
    /// A program that is built already.
    program: Option<PathBuf>,
    /// Where the packages go.
    out: Option<PathBuf>,
    /// Only what needs the packages of all platforms, which are there.
    finish: bool,
}

/// One program, and what packages say of it.
struct Built {
    program: PathBuf,
    platform: &'static Platform,
    facts: Facts,
    /// Where the packages go.
    out: PathBuf,
    /// Where they are put together.
    work: PathBuf,
}

/// Makes all packages of one platform, then what is made of those of all.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let options = parse(args)?;
    let out = match options.out {
        Some(out) => out,
        None => workspace::target_dir()?.join("packages"),
    };
    // Programs that pack work in folders of their own.
    files::make_dir(&out)?;
    let out = out.canonicalize().map_err(files::at(&out))?;
    if !options.finish {
        let platform = platform::find(options.target.as_deref())?;
        let program = match options.program {
            Some(program) => program,
            None => build(platform)?,
        };
        let built = Built::new(&program, platform, &out)?;
        built.pack()?;
        sbom::write(&built)?;
        let size = std::fs::metadata(&built.program).map_err(files::at(&built.program))?;
        if let Some(warning) = above_goal(size.len()) {
            eprintln!("warning: {warning}");
        }
    }
    release::finish(&Facts::load()?, &out)?;
    println!("{}", out.display());
    for name in files::names(&out)? {
        println!("  {name}");
    }
    Ok(())
}

/// Makes the packages of this machine's platform from a program, to be tried.
pub(crate) fn make(program: &Path, out: &Path) -> Result<(), Failure> {
    Built::new(program, platform::find(None)?, out)?.pack()?;
    release::finish(&Facts::load()?, out)
}

fn parse(args: &[String]) -> Result<Options, Failure> {
    let mut options = Options::default();
    let mut rest = args.iter();
    while let Some(flag) = rest.next() {
        let mut value = || {
            let value = rest.next().cloned();
            value.ok_or_else(|| Failure::Usage(format!("{flag} needs a value")))
        };
        match flag.as_str() {
            "--target" => options.target = Some(value()?),
            "--program" => options.program = Some(PathBuf::from(value()?)),
            "--out" => options.out = Some(PathBuf::from(value()?)),
            "--finish" => options.finish = true,
            other => return Err(Failure::Usage(format!("unknown argument {other}"))),
        }
    }
    Ok(options)
}

fn build(platform: &Platform) -> Result<PathBuf, Failure> {
    let mut cargo = programs::cargo(&["build", "--locked", "-p", "siglum", "--profile", PROFILE]);
    programs::run(cargo.args(["--target", platform.triple]))?;
    let dir = workspace::target_dir()?.join(platform.triple).join(PROFILE);
    Ok(dir.join("siglum"))
}

/// What is to be said of a program of so many bytes.
fn above_goal(bytes: u64) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "a size of some megabytes")]
    let megabytes = bytes as f64 / 1e6;
    let is_above = megabytes > MOST;
    is_above.then(|| format!("the program has {megabytes:.1} MB, the goal is {MOST} MB"))
}

impl Built {
    /// Takes a program that runs on this machine: it is asked for its pages, completions and schema.
    fn new(program: &Path, platform: &'static Platform, out: &Path) -> Result<Self, Failure> {
        let work = workspace::target_dir()?.join(format!("{PROFILE}-work/{}", platform.triple));
        files::clean(&work)?;
        let program = program.canonicalize().map_err(files::at(program))?;
        let facts = Facts::load()?;
        let facts = release::describe(&facts, &program, out)?;
        Ok(Self {
            program,
            platform,
            facts,
            out: out.to_owned(),
            work,
        })
    }

    /// Makes the packages of this platform.
    fn pack(&self) -> Result<(), Failure> {
        let prefix = prefix::lay_out(self)?;
        tarball::make(self, &prefix)?;
        if let Some(architecture) = self.platform.debian {
            deb::make(self, &prefix, architecture)?;
        }
        npm::make(self)?;
        wheel::make(self)
    }

    /// An empty folder to work in.
    fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let folder = self.work.join(name);
        files::clean(&folder)?;
        Ok(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_above_the_goal_is_told_with_its_size() {
        let told = above_goal(1_026_800_000).unwrap();
        let goal = format!("the program has 1026.8 MB, the goal is {MOST} MB");
        assert_eq!(told, goal);
        assert_eq!(above_goal(1_000_000), None);
    }
}
