//! The tests of devices and drives, as one program: what they share is linked once.

mod built_in_profiles;
mod flash_drive;
mod flash_mappings;
mod flash_translation;
mod golden_drives;
mod journal;
mod ssd_mappings;
mod ssd_profiles;
mod ssd_times;
mod time_analytic;
mod user_profiles;
mod write_amplification;
