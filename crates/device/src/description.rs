//! The page that `clockhand devices NAME` shows.

use num_traits::{ToPrimitive, Zero};

use crate::device::Device;
use crate::exact::{Exact, readable};
use crate::profile::{Charging, Operation, Profile, Speed};

impl Device {
    /// All facts about the device as plain text, one per line: source, limits, what each operation
    /// costs, the options as settled, and the cost and write/read ratio of a 4 KiB page.
    pub fn description(&self) -> String {
        let profile = &self.profile;
        let mut lines = vec![
            format!("{}: {}", self.name(), self.summary()),
            String::new(),
            fact("source", self.source()),
        ];
        lines.extend(profile.limits.as_ref().map(|limits| fact("limits", limits)));
        lines.push(fact("charged", &charging(profile)));
        lines.push(fact("read", &operation(profile, &profile.read, true)));
        lines.push(fact("write", &operation(profile, &profile.write, true)));
        if let Some(erase) = &profile.erase {
            let charged =
                if self.erase_charged { "charged with each write" } else { "not charged" };
            lines.push(fact("erase", &format!("{}; {charged}", operation(profile, erase, false))));
        }
        lines.push(fact("options", &self.options()));
        lines.extend(self.costs());
        if let Some(measured) = &profile.measured {
            lines.push(fact("measured", &measured.line()));
            lines.push(String::new());
            // Four spaces make it a block that Markdown leaves alone.
            lines.extend(measured.drawing().iter().map(|line| format!("    {line}")));
        }
        lines.push(String::new());
        lines.join("\n")
    }

    fn options(&self) -> String {
        let mut options = Vec::new();
        if self.profile.erase.is_some() {
            options.push(format!("erase={} (true or false)", self.erase_charged));
        }
        if let Some(option) = &self.profile.ratio {
            let choices: Vec<String> = option.choices.iter().map(readable).collect();
            let accepted = match (&option.least, choices.is_empty()) {
                (_, false) => format!("one of {}", choices.join(", ")),
                (Some(least), true) => format!("any number from {}", readable(least)),
                (None, true) => "any positive number".to_owned(),
            };
            options.push(format!(
                "ratio={} ({accepted}), multiplies every time",
                readable(&self.ratio)
            ));
        }
        if options.is_empty() { "none".to_owned() } else { options.join("; ") }
    }

    fn costs(&self) -> Vec<String> {
        let cost = &self.cost_of_4_kib;
        let ratio = cost.write_read_ratio();
        let decimal = ratio.to_f64().unwrap_or(f64::NAN);
        let time = |time_us: &Exact| format!("{} µs", readable(time_us));
        let energy = |energy_uj: &Option<Exact>| match energy_uj {
            Some(energy_uj) => format!("{} µJ", readable(energy_uj)),
            None => "energy unknown".to_owned(),
        };
        vec![
            fact(
                "4 KiB read",
                &format!("{}, {}", time(&cost.read_time_us), energy(&cost.read_energy_uj)),
            ),
            fact(
                "4 KiB write",
                &format!("{}, {}", time(&cost.write_time_us), energy(&cost.write_energy_uj)),
            ),
            fact(
                "write/read",
                &format!("{}/{} = {decimal:.4} at 4 KiB", ratio.numer(), ratio.denom()),
            ),
        ]
    }
}

fn fact(name: &str, text: &str) -> String {
    format!("  {name:<13}{text}")
}

fn charging(profile: &Profile) -> String {
    let unit_bytes = profile.unit_bytes;
    match profile.charged {
        Charging::Unit => {
            format!("per unit of {unit_bytes} bytes, ceil(page / {unit_bytes}) units a page")
        }
        Charging::Byte if unit_bytes == 1 => "linear in bytes".to_owned(),
        Charging::Byte => format!("linear in bytes, costs are for {unit_bytes} bytes"),
        Charging::Page => "per page, whatever its size".to_owned(),
    }
}

fn operation(profile: &Profile, operation: &Operation, rotation_counts: bool) -> String {
    let mut terms = Vec::new();
    if !operation.setup_time_us.is_zero() {
        terms.push(format!("{} µs", readable(&operation.setup_time_us)));
    }
    if let (Some(rotations), true) = (&profile.rotations_per_minute, rotation_counts) {
        terms.push(format!("half a rotation at {} per minute", readable(rotations)));
    }
    terms.push(match &operation.speed {
        Speed::TimeUs(time_us) => format!("{} µs", readable(time_us)),
        Speed::Iops(iops) => format!("1 s / {} operations", readable(iops)),
        Speed::MegabytesPerSecond(rate) => format!("bytes / ({} MB/s)", readable(rate)),
    });
    let energy = operation.energy_uj.as_ref().map(|energy| format!(", {} µJ", readable(energy)));
    terms.join(" + ") + &energy.unwrap_or_default()
}
