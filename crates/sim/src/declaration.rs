//! What is said of a study once, for everything that serves all of them: datasets, the command, Python, the documentation.

use crate::columns::Column;
use crate::options::StudyOption;

/// A study, as others know it.
#[derive(Clone, Copy, Debug)]
pub struct StudyDeclaration {
    /// Its name, which is also that of its table in an experiment.
    pub name: &'static str,
    /// The command that asks it.
    pub command: &'static str,
    /// Its options, in the order of the command's help.
    pub options: &'static [StudyOption],
    /// The columns of its rows; none if its result is several tables.
    pub columns: &'static [Column],
    /// The dimensions of its cells, in the order of rows. Of options with `|` between them one is given, and those with `*`
    /// are combined.
    pub dimensions: &'static [&'static str],
    /// Flags that older datasets lack: one that is not set is left out of a key.
    pub newer: &'static [&'static str],
    /// The column that analyses look at if they name none.
    pub value: &'static str,
    /// The columns by which rows of a dataset are sorted.
    pub order: &'static [&'static str],
}
