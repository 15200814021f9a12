//! What the measured machine is, as far as the figures depend on it. No name and no address of it.

use serde::Serialize;

/// Kernel and processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// Name and release of the kernel.
    pub kernel: String,
    /// The processor's model.
    pub processor: String,
    /// Processors that are online.
    pub processors: usize,
}

impl Machine {
    /// This machine.
    pub fn here() -> Self {
        let fact = |name: &str| {
            let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}"));
            text.unwrap_or_default().trim().to_owned()
        };
        let facts = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Machine {
            kernel: format!("{} {}", fact("ostype"), fact("osrelease")),
            processor: model(&facts).unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            processors: std::thread::available_parallelism().map_or(1, Into::into),
        }
    }
}

/// The model in `/proc/cpuinfo`, where the architecture tells it.
fn model(facts: &str) -> Option<String> {
    let line = facts.lines().find(|line| line.starts_with("model name"))?;
    let (_, model) = line.split_once(':')?;
    Some(model.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_read_where_there_is_one() {
        let facts = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n";
        assert_eq!(model(facts).as_deref(), Some("Some CPU @ 2 GHz"));
        assert_eq!(model("processor : 0\n"), None);
        assert!(Machine::here().kernel.starts_with("Linux "));
    }
}
