//! Reads Rust sources as far as it takes to know which file uses which.
//!
//! A path is followed through `mod` and `use` to the file that defines what it names. A `pub use` is
//! no use: it only makes a name known elsewhere. Test modules are left out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

pub struct SourceFile {
    path: PathBuf,
    /// Its module below the crate: `["api", "request", "body"]`.
    pub module: Vec<String>,
    pub text: String,
    /// Names that this file imports, and what they stand for.
    imports: HashMap<String, Vec<String>>,
    /// Names that this file makes known to others, and what they stand for.
    exports: HashMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    /// Every path in the code, as written.
    paths: BTreeSet<Vec<String>>,
    defined: BTreeSet<String>,
}

impl SourceFile {
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn read(root: &Path, path: PathBuf) -> Self {
        let inside = path.strip_prefix(root).unwrap().with_extension("");
        let mut module: Vec<_> = inside
            .iter()
            .map(|part| part.to_str().unwrap().to_owned())
            .collect();
        if ["mod", "lib", "main"].contains(&module.last().unwrap().as_str()) {
            module.pop();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let tokens = tokens(code);
        let mut file = Self {
            path,
            module,
            imports: HashMap::new(),
            exports: HashMap::new(),
            globs: Vec::new(),
            paths: BTreeSet::new(),
            defined: BTreeSet::new(),
            text,
        };
        file.take(&tokens);
        file
    }

    fn take(&mut self, tokens: &[String]) {
        let mut at = 0;
        while at < tokens.len() {
            let previous = at.checked_sub(1).map_or("", |before| &tokens[before]);
            match tokens[at].as_str() {
                "use" => at = self.take_use(tokens, at + 1, ["pub", ")"].contains(&previous)),
                word if is_word(word) => {
                    let path = path_at(tokens, at);
                    if DEFINES.contains(&previous) || path.len() == 1 && previous != "::" {
                        // A word alone may be a name that a macro defines.
                        self.defined.insert(word.to_owned());
                    }
                    at += 2 * path.len() - 1;
                    self.paths.insert(path);
                }
                _ => at += 1,
            }
        }
    }

    /// Takes a `use` whose tree begins here; returns where it ends.
    fn take_use(&mut self, tokens: &[String], start: usize, public: bool) -> usize {
        let mut leaves = Vec::new();
        let end = leaves_of(tokens, start, &[], &mut leaves);
        for (path, name) in leaves {
            let path = self.absolute(&path);
            match name {
                None => self.globs.push(path),
                Some(name) if public => {
                    self.exports.insert(name, path);
                }
                Some(name) => {
                    self.imports.insert(name, path);
                }
            }
        }
        end
    }

    /// The path below the crate, as far as it is one.
    fn absolute(&self, path: &[String]) -> Vec<String> {
        let mut module = self.module.clone();
        match path.first().map(String::as_str) {
            Some("crate") => path[1..].to_vec(),
            Some("self") => [module, path[1..].to_vec()].concat(),
            Some("super") => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                module.truncate(module.len().saturating_sub(ups));
                [module, path[ups..].to_vec()].concat()
            }
            // A name may be that of a module below this one.
            _ => [module, path.to_vec()].concat(),
        }
    }
}

/// The words before a name that is defined.
const DEFINES: [&str; 8] = [
    "fn",
    "struct",
    "enum",
    "trait",
    "type",
    "const",
    "static",
    "macro_rules",
];

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Words, `::` and single signs, without comments and texts.
fn tokens(code: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let length = if let Some(comment) = rest.strip_prefix("//") {
            2 + comment.find('\n').unwrap_or(comment.len())
        } else if let Some(text) = rest.strip_prefix("r#\"") {
            3 + text.find("\"#").map_or(text.len(), |end| end + 2)
        } else if first == '"' {
            text_length(rest)
        } else if first == '\'' && !rest[1..].starts_with("\\'") && is_character(rest) {
            rest[1..].find('\'').map_or(1, |end| end + 2)
        } else if first.is_alphanumeric() || first == '_' {
            let word = |c: char| !c.is_alphanumeric() && c != '_';
            let end = rest.find(word).unwrap_or(rest.len());
            tokens.push(rest[..end].to_owned());
            end
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

/// Whether a quote begins a character rather than a lifetime.
fn is_character(rest: &str) -> bool {
    rest[1..].starts_with('\\') || rest.chars().nth(2) == Some('\'')
}

fn text_length(rest: &str) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The path that begins here: `a::b::c`.
fn path_at(tokens: &[String], start: usize) -> Vec<String> {
    let mut path = vec![tokens[start].clone()];
    let mut at = start + 1;
    while tokens.get(at).is_some_and(|token| token == "::")
        && let Some(word) = tokens.get(at + 1).filter(|token| is_word(token))
    {
        path.push(word.clone());
        at += 2;
    }
    path
}

type Leaf = (Vec<String>, Option<String>);

/// Reads a tree of imports; returns where it ends.
fn leaves_of(tokens: &[String], start: usize, prefix: &[String], leaves: &mut Vec<Leaf>) -> usize {
    let mut path = prefix.to_vec();
    let mut at = start;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.as_str() {
            "::" => {}
            "{" => {
                while tokens.get(at).is_some_and(|token| token != "}") {
                    at = leaves_of(tokens, at, &path, leaves);
                    at += usize::from(tokens[at] == ",");
                }
                return at + 1;
            }
            "*" => {
                leaves.push((path, None));
                return at;
            }
            "as" => {
                let name = tokens[at].clone();
                leaves.push((path, Some(name)));
                return at + 1;
            }
            word if is_word(word) => path.push(word.to_owned()),
            _ => {
                at -= 1;
                break;
            }
        }
    }
    if path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let name = path.last().cloned();
    leaves.push((path, name));
    at
}

pub struct SourceTree {
    files: Vec<SourceFile>,
    by_module: BTreeMap<Vec<String>, usize>,
}

fn read_crate(root: &Path) -> Vec<SourceFile> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && path.file_name().is_some_and(|name| name != "tests.rs")
            {
                files.push(SourceFile::read(root, path));
            }
        }
    }
    files
}

impl SourceTree {
    /// Reads crates whose modules have different names.
    pub fn read(roots: &[PathBuf]) -> Self {
        let mut files: Vec<_> = roots.iter().flat_map(|root| read_crate(root)).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        // `lib.rs` and `main.rs` have the same module: the library is the one that others name.
        let modules = files.iter().enumerate().rev();
        let by_module = modules.map(|(i, file)| (file.module.clone(), i)).collect();
        Self { files, by_module }
    }

    pub fn files(&self) -> impl Iterator<Item = &SourceFile> {
        self.files.iter()
    }

    pub fn file(&self, index: usize) -> &SourceFile {
        &self.files[index]
    }

    /// The files that define what a file uses. What the modules above it define is part of itself.
    pub fn used_by(&self, file: &SourceFile) -> BTreeSet<usize> {
        let imported = file.imports.values().map(|path| self.resolve(path, 0));
        let named = file.paths.iter().map(|path| {
            let first = &path[0];
            match file.imports.get(first) {
                Some(target) if path.len() > 1 => {
                    let path = [target.clone(), path[1..].to_vec()].concat();
                    self.resolve(&path, 0)
                }
                _ if ["crate", "super", "self"].contains(&first.as_str()) && path.len() > 1 => {
                    self.resolve(&file.absolute(path), 0)
                }
                _ if path.len() > 1 => {
                    let below = [file.module.clone(), path.clone()].concat();
                    let module = &below[..=file.module.len()];
                    let known = self.by_module.contains_key(module);
                    known.then(|| self.resolve(&below, 0)).flatten()
                }
                _ => None,
            }
        });
        imported
            .chain(named)
            .flatten()
            .filter(|used| !file.module.starts_with(&self.files[*used].module))
            .collect()
    }

    /// The file that defines what a path names; none for a module as such, and for what is not ours.
    fn resolve(&self, path: &[String], depth: usize) -> Option<usize> {
        let length = (0..=path.len())
            .rev()
            .find(|length| self.by_module.contains_key(&path[..*length]))?;
        let index = self.by_module[&path[..length]];
        let name = path.get(length)?;
        let file = &self.files[index];
        if file.defined.contains(name) || depth > 8 {
            return Some(index);
        }
        if let Some(target) = file.exports.get(name).or_else(|| file.imports.get(name)) {
            let path = [target.clone(), path[length + 1..].to_vec()].concat();
            return self.resolve(&path, depth + 1);
        }
        let through_globs = file.globs.iter().find_map(|glob| {
            let path = [glob.clone(), vec![name.clone()]].concat();
            self.resolve(&path, depth + 1)
        });
        // An associated item, or what a derive has made: it is here.
        through_globs.or_else(|| (length > 0 && depth == 0).then_some(index))
    }

    /// Files that use each other, directly or by others.
    pub fn circles(&self) -> Vec<Vec<usize>> {
        let uses: Vec<_> = self.files.iter().map(|file| self.used_by(file)).collect();
        let reach = |from: usize| {
            let mut seen = BTreeSet::new();
            let mut open = vec![from];
            while let Some(file) = open.pop() {
                for used in &uses[file] {
                    if seen.insert(*used) {
                        open.push(*used);
                    }
                }
            }
            seen
        };
        let reached: Vec<_> = (0..self.files.len()).map(reach).collect();
        let mut circles: Vec<Vec<usize>> = Vec::new();
        for file in 0..self.files.len() {
            let known = circles.iter().any(|circle| circle.contains(&file));
            if reached[file].contains(&file) && !known {
                let tied = |other: &usize| {
                    reached[file].contains(other) && reached[*other].contains(&file)
                };
                circles.push((0..self.files.len()).filter(tied).collect());
            }
        }
        circles
    }
}
