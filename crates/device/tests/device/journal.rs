//! Writes down what a translation layer does, in the words of its twins.

use clockhand_device::flash::{
    Block, Cause, FlashOperations, LogicalPage, PhysicalPage, TranslationPage,
};
use clockhand_twins::{FlashCause, FlashEvent};

/// What it was told.
#[derive(Default)]
pub struct Journal(pub Vec<FlashEvent>);

fn cause(cause: Cause) -> FlashCause {
    match cause {
        Cause::Collect => FlashCause::Collect,
        Cause::Merge => FlashCause::Merge,
        Cause::Fold => FlashCause::Fold,
        Cause::Reset => FlashCause::Reset,
    }
}

impl FlashOperations for Journal {
    fn program(&mut self, to: PhysicalPage, holds: LogicalPage) {
        self.0.push(FlashEvent::Program { to: to.0, page: holds.0 });
    }

    fn read(&mut self, from: PhysicalPage, holds: LogicalPage) {
        self.0.push(FlashEvent::Read { from: from.0, page: holds.0 });
    }

    fn relocate(&mut self, why: Cause, from: PhysicalPage, to: PhysicalPage, holds: LogicalPage) {
        let (from, to, page) = (from.0, to.0, holds.0);
        self.0.push(FlashEvent::Relocate { cause: cause(why), from, to, page });
    }

    fn erase(&mut self, why: Cause, block: Block) {
        self.0.push(FlashEvent::Erase { cause: cause(why), block: block.0 });
    }

    fn load_translation(
        &mut self,
        from: PhysicalPage,
        holds: TranslationPage,
        wanted: LogicalPage,
    ) {
        self.0.push(FlashEvent::Load { from: from.0, page: holds.0, wanted: wanted.0 });
    }

    fn read_translation(&mut self, from: PhysicalPage, holds: TranslationPage) {
        self.0.push(FlashEvent::ReadTranslation { from: from.0, page: holds.0 });
    }

    fn program_translation(&mut self, to: PhysicalPage, holds: TranslationPage) {
        self.0.push(FlashEvent::ProgramTranslation { to: to.0, page: holds.0 });
    }

    fn relocate_translation(
        &mut self,
        from: PhysicalPage,
        to: PhysicalPage,
        holds: TranslationPage,
    ) {
        let (from, to, page) = (from.0, to.0, holds.0);
        self.0.push(FlashEvent::RelocateTranslation { from, to, page });
    }
}
