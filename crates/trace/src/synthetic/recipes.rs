//! The recipes that come with the package.

use super::recipe::{Overrides, Recipe};
use super::recipe_file::RecipeFile;
use crate::error::TraceError;

/// Name and text of each; a recipe is added by its file and its line.
const RECIPES: [(&str, &str); 4] = [
    ("zipf-20m", include_str!("recipes/zipf-20m.toml")),
    ("financial-stand-in", include_str!("recipes/financial-stand-in.toml")),
    ("camwebdev-stand-in", include_str!("recipes/camwebdev-stand-in.toml")),
    ("filebench-random-rw-stand-in", include_str!("recipes/filebench-random-rw-stand-in.toml")),
];

/// All recipes of the package, complete.
pub fn named_recipes() -> Vec<Recipe> {
    let complete = |(name, text): &(&str, &str)| {
        parse(name, text).and_then(|file| Recipe::from_file(file, &Overrides::default()))
    };
    let recipes: Result<_, _> = RECIPES.iter().map(complete).collect();
    recipes.expect("a test reads every recipe of the package")
}

/// The names of all recipes of the package.
pub(super) fn recipe_names() -> [&'static str; RECIPES.len()] {
    RECIPES.map(|(name, _)| name)
}

/// The recipe of the package with this name, if there is one.
pub(super) fn named_recipe(name: &str) -> Option<Result<RecipeFile, TraceError>> {
    let (name, text) = RECIPES.iter().find(|(known, _)| *known == name)?;
    Some(parse(name, text))
}

fn parse(name: &str, text: &str) -> Result<RecipeFile, TraceError> {
    RecipeFile::parse(text, &format!("{name}.toml"), name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_recipe_is_complete_and_stand_ins_are_named_so() {
        for recipe in named_recipes() {
            let name = recipe.name.as_deref().unwrap();
            assert!(recipe.summary.is_some(), "{name}");
            assert_eq!(name.ends_with("-stand-in"), recipe.stands_for.is_some(), "{name}");
        }
    }

    #[test]
    fn every_file_of_a_recipe_has_its_line() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/synthetic/recipes");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files.map(|path| path.file_stem().unwrap().to_owned()).collect();
        files.sort();
        let mut names = recipe_names();
        names.sort();
        assert_eq!(files, names);
    }
}
