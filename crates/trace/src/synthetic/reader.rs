//! Reading a synthetic trace that is made while it is read.

use super::recipe::Recipe;
use super::running::Generator;
use crate::decode::output::BATCH_REQUESTS;
use crate::error::TraceError;
use crate::reader::Reader;
use crate::report::ReadReport;
use crate::request::Request;
use crate::request_digest::RequestDigest;

/// A [`Reader`] of the requests of a recipe.
///
/// Its report carries the recipe's labels; the digest is that of the same requests in a
/// [`ColumnReader`](crate::ColumnReader).
pub struct SyntheticReader {
    generator: Generator,
    digest: RequestDigest,
    report: ReadReport,
}

impl SyntheticReader {
    /// What the report calls the format.
    const FORMAT: &'static str = "synthetic";

    /// A reader from the first request on.
    pub fn new(recipe: &Recipe) -> Self {
        let report =
            ReadReport { format: Self::FORMAT, labels: recipe.labels(), ..ReadReport::default() };
        Self {
            generator: Generator::new(recipe),
            digest: RequestDigest::new(recipe.arrivals.is_some()),
            report,
        }
    }
}

impl Reader for SyntheticReader {
    fn next_batch(&mut self, batch: &mut Vec<Request>) -> Result<bool, TraceError> {
        batch.clear();
        self.generator.fill(batch, BATCH_REQUESTS);
        batch.iter().for_each(|request| self.digest.push(request));
        self.report.records += batch.len() as u64;
        self.report.requests += batch.len() as u64;
        if batch.is_empty() && self.report.sha256.is_none() {
            self.report.sha256 = Some(self.digest.clone().finish());
        }
        Ok(!batch.is_empty())
    }

    fn report(&self) -> &ReadReport {
        &self.report
    }
}
