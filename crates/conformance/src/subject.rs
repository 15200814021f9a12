//! The subject of the rules: anything that gives a new policy for each memory.

use std::marker::PhantomData;

use clockhand_policy::catalog::{Cataloged, Size, Visitor, built};
use clockhand_policy::page;
use clockhand_policy::parameters::SettingsError;

use crate::{Conformance, RATIO, check};

/// Gives policies to be tried.
pub trait Subject {
    /// Why it gives none.
    type Error;

    /// Passes a new policy for a memory of this size to `visitor`. It must not be one that learns of the future.
    ///
    /// # Errors
    ///
    /// The policy cannot be built.
    fn build<V: Visitor>(&self, size: Size, visitor: V) -> Result<V::Output, Self::Error>;
}

macro_rules! subject {
    ($(#[$comment:meta])* $name:ident, $method:ident) => {
        $(#[$comment])*
        #[derive(Debug)]
        pub struct $name<'a, P> {
            parameters: &'a str,
            policy: PhantomData<fn() -> P>,
        }

        impl<'a, P: Cataloged + page::$name + 'static> $name<'a, P> {
            /// Tries all rules; `parameters` are those behind the colon of `--policy`.
            ///
            /// # Errors
            ///
            /// A sentence that names the parameter and its range.
            pub fn check(parameters: &'a str) -> Result<Conformance, SettingsError> {
                let subject = $name { parameters, policy: PhantomData::<fn() -> P> };
                Ok(check(&subject, || false)?.expect("nothing cancels it"))
            }
        }

        impl<P: Cataloged + page::$name + 'static> Subject for $name<'_, P> {
            type Error = SettingsError;

            fn build<V: Visitor>(&self, size: Size, visitor: V) -> Result<V::Output, SettingsError> {
                Ok(visitor.$method(built::<P>(self.parameters, size, RATIO)?))
            }
        }
    };
}

subject! {
    /// A bit-driven policy in its own type.
    BitDriven, bit_driven
}
subject! {
    /// An access-driven policy in its own type.
    AccessDriven, access_driven
}
