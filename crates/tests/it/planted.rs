//! Secrets of every kind that four scanners name, to be put in wherever text comes in and looked for wherever something
//! stays or goes out.

#[path = "../../domain/src/redact/corpus/draw.rs"]
mod draw;
#[path = "../../domain/src/redact/corpus/kinds.rs"]
mod kinds;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use aho_corasick::AhoCorasick;
use serde_json::Value;

use self::draw::Draw;
use self::kinds::Kind;
use crate::forgetting::{rows, unpacked};
use crate::harness::{Ran, Repo};

/// Signs at the end of a secret that may not survive either.
const END: usize = 12;
/// How many secrets are put into one text of a message.
const LINES: usize = 8;

/// Secrets, each planted once.
pub(crate) struct Planted {
    draw: Draw,
    /// One for each form, whichever scanners name it.
    kinds: Vec<Kind>,
    secrets: Vec<Secret>,
    intakes: Vec<Intake>,
    /// Texts that look like secrets and must stay, with their kinds.
    lookalikes: Vec<(usize, String)>,
    spared: BTreeSet<usize>,
    /// Secrets that were found, with the places.
    left: BTreeMap<usize, BTreeSet<String>>,
    /// What programs said meanwhile.
    said: Vec<u8>,
}

struct Secret {
    /// What must not be found of it.
    sign: String,
    intake: usize,
    kind: usize,
}

/// A way by which text comes in.
struct Intake {
    name: String,
    /// Which kinds are next in texts and in names of messages.
    next: [usize; 2],
    /// Whether something of its messages was found, so that they were not refused.
    is_stored: bool,
}

impl Intake {
    /// A word in each text of its messages.
    fn mark(&self) -> String {
        format!("by {} came", self.name)
    }
}

impl Planted {
    pub(crate) fn new() -> Self {
        let by_form: BTreeMap<&str, Kind> = kinds::kinds()
            .into_iter()
            .map(|kind| (kind.form, kind))
            .collect();
        Self {
            draw: Draw::new(),
            kinds: by_form.into_values().collect(),
            secrets: Vec::new(),
            intakes: Vec::new(),
            lookalikes: Vec::new(),
            spared: BTreeSet::new(),
            left: BTreeMap::new(),
            said: Vec::new(),
        }
    }

    fn intake(&mut self, name: &str) -> usize {
        let known = self.intakes.iter().position(|intake| intake.name == name);
        known.unwrap_or_else(|| {
            self.intakes.push(Intake {
                name: name.to_owned(),
                next: [0; 2],
                is_stored: false,
            });
            self.intakes.len() - 1
        })
    }

    /// A new secret of a kind; with its name before it where it is known by that alone.
    fn word(&mut self, intake: usize, kind: usize) -> String {
        let kind = kind % self.kinds.len();
        let Kind {
            form, is_own, name, ..
        } = self.kinds[kind];
        let secret = self.draw.fill(form);
        let word = match is_own {
            true => secret.clone(),
            false => format!("{}_API_KEY={secret}", name.replace('-', "_").to_uppercase()),
        };
        let is_long = form.ends_with('}') && secret.len() > END && secret.is_ascii();
        let sign = match is_long {
            true => secret[secret.len() - END..].to_owned(),
            false => secret,
        };
        self.secrets.push(Secret { sign, intake, kind });
        word
    }

    fn line(&mut self, intake: usize, kind: usize) -> String {
        let word = self.word(intake, kind);
        match self.kinds[kind % self.kinds.len()].is_own {
            true => format!("It is {word} for now."),
            false => word,
        }
    }

    /// A new secret of each kind without a blank, for a way in.
    pub(crate) fn words(&mut self, way: &str) -> Vec<String> {
        let intake = self.intake(way);
        (0..self.kinds.len())
            .map(|kind| self.word(intake, kind))
            .collect()
    }

    /// The same of the kinds that are known by their form alone, wherever they stand.
    pub(crate) fn plain_words(&mut self, way: &str) -> Vec<String> {
        let intake = self.intake(way);
        let own: Vec<usize> = (0..self.kinds.len())
            .filter(|kind| self.kinds[*kind].is_own)
            .collect();
        own.into_iter()
            .map(|kind| self.word(intake, kind))
            .collect()
    }

    /// A line with a new secret of each kind.
    fn lines(&mut self, way: &str) -> Vec<String> {
        let intake = self.intake(way);
        (0..self.kinds.len())
            .map(|kind| self.line(intake, kind))
            .collect()
    }

    /// The same as one text.
    pub(crate) fn text(&mut self, way: &str) -> String {
        self.lines(way).join("\n") + "\n"
    }

    /// The same in texts of a few lines.
    pub(crate) fn parts(&mut self, way: &str, lines: usize, between: &str) -> Vec<String> {
        let all = self.lines(way);
        all.chunks(lines).map(|some| some.join(between)).collect()
    }

    /// Texts that look like secrets and are none.
    pub(crate) fn lookalikes(&mut self) -> String {
        let mut all = Vec::new();
        for (number, kind) in self.kinds.iter().enumerate() {
            let text = kind.lookalike(&mut self.draw);
            self.lookalikes
                .extend(text.clone().map(|text| (number, text)));
            all.extend(text);
        }
        all.join("\n")
    }

    /// A message with the kinds that are next: some behind each sentence in it, and one in place of each name.
    /// What has these keys stays.
    pub(crate) fn fill(&mut self, way: &str, kept: &[&str], message: &Value) -> Value {
        let intake = self.intake(way);
        self.filled(intake, kept, message)
    }

    fn filled(&mut self, intake: usize, kept: &[&str], message: &Value) -> Value {
        match message {
            Value::Object(fields) => {
                let mut field = |(key, value): (&String, &Value)| {
                    let value = match kept.contains(&key.as_str()) {
                        true => value.clone(),
                        false => self.filled(intake, kept, value),
                    };
                    (key.clone(), value)
                };
                Value::Object(fields.iter().map(&mut field).collect())
            }
            Value::Array(items) => items
                .iter()
                .map(|item| self.filled(intake, kept, item))
                .collect(),
            Value::String(text) => Value::String(self.filled_text(intake, text)),
            _ => message.clone(),
        }
    }

    fn filled_text(&mut self, intake: usize, text: &str) -> String {
        let [texts, names] = self.intakes[intake].next;
        if text.contains([' ', '\n']) || text.ends_with('.') {
            self.intakes[intake].next[0] += LINES;
            let lines: Vec<String> = (texts..texts + LINES)
                .map(|kind| self.line(intake, kind))
                .collect();
            let mark = self.intakes[intake].mark();
            return format!("{mark}. {text}\n{}\n", lines.join("\n"));
        }
        self.intakes[intake].next[1] += 1;
        let word = self.word(intake, names);
        match text.starts_with('/') {
            true => format!("{text}/{word}"),
            false => word,
        }
    }

    /// Whether every kind stood in a text of a message of this way, and in a name, if its messages have names that are
    /// filled.
    pub(crate) fn is_round(&self, way: &str) -> bool {
        let intake = self.intakes.iter().find(|intake| intake.name == way);
        intake.is_some_and(
            |Intake {
                 next: [texts, names],
                 ..
             }| {
                let all = self.kinds.len();
                *texts >= all && (*names == 0 || *names >= all)
            },
        )
    }

    /// Looks for all of it in some places.
    pub(crate) fn search(&mut self, places: &[(&str, Vec<u8>)]) {
        let signs = self.secrets.iter().map(|secret| secret.sign.clone());
        let marks = self.intakes.iter().map(Intake::mark);
        let lookalikes = self.lookalikes.iter().map(|(_, text)| text.clone());
        let all = AhoCorasick::new(signs.chain(marks).chain(lookalikes)).unwrap();
        let (secrets, intakes) = (self.secrets.len(), self.intakes.len());
        for (place, bytes) in places {
            for hit in all.find_iter(bytes) {
                let found = hit.pattern().as_usize();
                if found < secrets {
                    let before = &bytes[hit.start().saturating_sub(80)..hit.start()];
                    let before = String::from_utf8_lossy(before);
                    let places = self.left.entry(found).or_default();
                    places.insert(format!("{place}, behind {before:?}"));
                } else if found < secrets + intakes {
                    self.intakes[found - secrets].is_stored = true;
                } else {
                    // Kinds that begin alike have the same one.
                    let text = &self.lookalikes[found - secrets - intakes].1;
                    let same = self.lookalikes.iter().filter(|(_, other)| other == text);
                    self.spared.extend(same.map(|(kind, _)| *kind));
                }
            }
        }
    }

    /// Notes what a program said, which is looked at with all that is kept.
    pub(crate) fn hear(&mut self, ran: &Ran) {
        self.hear_text(&ran.stdout);
        self.hear_text(&ran.stderr);
    }

    /// The same of an answer.
    pub(crate) fn hear_text(&mut self, text: &str) {
        self.said.extend(text.bytes());
    }

    /// Looks at all that is kept but for versions of files, and at what was said.
    pub(crate) fn look_at_all(&mut self, repo: &Repo<'_>, said: &str) {
        self.look_at_rows(rows(&repo.world.store()), repo, said);
    }

    /// The same where the rows are in another store than that of the home.
    pub(crate) fn look_at_rows(&mut self, rows: Vec<u8>, repo: &Repo<'_>, said: &str) {
        let said = [&*std::mem::take(&mut self.said), said.as_bytes()].concat();
        self.search(&[
            ("the home", files(&repo.world.siglum_home())),
            ("a row", rows),
            ("the repository", files(&repo.dir.join(".git/siglum"))),
            ("an answer", said),
        ]);
    }

    /// What was caught, by intake and by kind of each scanner.
    pub(crate) fn report(&self) -> String {
        let mut report = String::new();
        for (number, intake) in self.intakes.iter().enumerate() {
            let (caught, planted) = self.counted(|secret| secret.intake == number);
            let _ = writeln!(report, "{}: caught {caught} of {planted}", intake.name);
        }
        let mut by_form: BTreeMap<&str, String> = BTreeMap::new();
        for (number, kind) in self.kinds.iter().enumerate() {
            let (caught, planted) = self.counted(|secret| secret.kind == number);
            let lookalikes = self.lookalikes.iter().filter(|(of, _)| *of == number);
            let spared = usize::from(self.spared.contains(&number));
            let counts = format!(
                "caught {caught} of {planted}, spared {spared} of {}",
                lookalikes.count()
            );
            by_form.insert(kind.form, counts);
        }
        // Kinds with the same counts stand in one line.
        let mut lines: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for kind in kinds::kinds() {
            let line = format!("{}: {}", kind.scanner, by_form[kind.form]);
            lines.entry(line).or_default().push(kind.name);
        }
        for (line, names) in &lines {
            let _ = writeln!(
                report,
                "{line}, each of {}: {}",
                names.len(),
                names.join(" ")
            );
        }
        let (caught, planted) = self.counted(|_| true);
        let _ = write!(
            report,
            "{} kinds by {} ways: caught {caught} of {planted}",
            self.kinds.len(),
            self.intakes.len(),
        );
        report
    }

    /// Checks that all was caught, that no look-alike was taken for a secret, and that messages of these ways came in.
    #[track_caller]
    pub(crate) fn check(&self, stored: &[&str]) {
        let left: Vec<String> = self
            .left
            .iter()
            .map(|left| self.finding_text(left))
            .collect();
        assert!(left.is_empty(), "{left:#?}");
        let hurt: Vec<&str> = self
            .lookalikes
            .iter()
            .filter(|(kind, _)| !self.spared.contains(kind))
            .map(|(_, text)| text.as_str())
            .collect();
        assert!(hurt.is_empty(), "{hurt:#?}");
        for way in stored {
            let mut intakes = self.intakes.iter();
            let came_in = intakes.any(|intake| intake.name == *way && intake.is_stored);
            assert!(came_in, "nothing by {way} is stored");
        }
    }

    /// How many of some secrets were found nowhere, and how many there are.
    fn counted(&self, is_one: impl Fn(&Secret) -> bool) -> (usize, usize) {
        let numbered = self.secrets.iter().enumerate();
        let of: Vec<usize> = numbered
            .filter(|(_, secret)| is_one(secret))
            .map(|(number, _)| number)
            .collect();
        let caught = of.iter().filter(|n| !self.left.contains_key(*n)).count();
        (caught, of.len())
    }

    fn finding_text(&self, (number, places): (&usize, &BTreeSet<String>)) -> String {
        let Secret { sign, intake, kind } = &self.secrets[*number];
        let (way, name) = (&self.intakes[*intake].name, self.kinds[*kind].name);
        format!("{name} by {way}: {sign} in {places:?}")
    }
}

/// All files below a directory but versions of files, as they are and unpacked.
pub(crate) fn files(dir: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        // The programs that hooks call, and versions of files.
        if path.is_symlink() || entry.file_name() == "bin" || entry.file_name() == "objects" {
            continue;
        }
        match path.is_dir() {
            true => bytes.extend(files(&path)),
            false => {
                let content = fs::read(&path).unwrap_or_default();
                bytes.extend(path.to_string_lossy().bytes());
                bytes.extend(unpacked(&content));
                bytes.extend(content);
            }
        }
        bytes.push(b'\n');
    }
    bytes
}
